// The libraries that compute attention in training: FlashAttention-2, FlashAttention-3, cuDNN.
//
// The kernel room predicts attention by the kernels that serving engines run. A library is
// described by the ratio of its times to those predictions, for each GPU architecture and, where a
// sweep tells, for each head size:
//
//   catalog/training/attention.yaml          the libraries, and ratios that others published
//   catalog/training/attention-fitted.yaml   ratios of measured tables (`orrery fit attention`)
//
// The file of a stack says which library it calls (StackAttention, training_stack.h).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/hardware/gpu.h"

namespace orrery {

// The kernels of one library on one GPU architecture.
struct AttentionKernels {
  struct Ratio {
    int head_dim = 0;  // 0: of all head sizes
    double forward = 1, backward = 1;
  };
  std::string backend;        // empty: the kernels that the kernel room predicts
  std::vector<Ratio> ratios;  // empty: 1
  double error = 0;           // relative standard deviation of the ratios

  // The ratio of the head size that is next to `head_dim`, by the logarithm.
  Ratio at(int head_dim) const;
};

struct AttentionBackend {
  std::string name, doc;
  std::vector<std::string> sources;
  std::string measured_as;  // its framework in measured tables; empty: in none
  std::string against;      // the library whose times `orrery fit attention` divides by
  std::map<std::string, AttentionKernels, std::less<>> kernels;  // by GpuArchitecture::kernels
};

// All libraries of the bundle, in the order of their names. InputError: the files are not sound.
std::vector<AttentionBackend> load_attention_backends(const Bundle& bundle);
// The libraries of the catalog that the program contains, read once.
const std::vector<AttentionBackend>& attention_backends();

// The library's kernels on the GPU; of an empty name the kernel room's own. InputError with the
// nearest name if there is no such library; NoData if nothing says how fast it is on the GPU.
AttentionKernels attention_kernels(std::string_view backend, const Gpu& gpu);

}  // namespace orrery
