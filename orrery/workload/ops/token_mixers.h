// Ops of recurrent token mixers: Gated DeltaNet, Mamba-2 and Kimi Delta Attention.
//
// Every op struct of this folder has the members that op.h lists (name, error family, FLOPs, bytes,
// arithmetic, description).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "orrery/base/dtype.h"
#include "orrery/base/estimate.h"
#include "orrery/base/units.h"

namespace orrery {

// The kernels of a recurrent mixer between its projections: the convolution (if conv > 1), gates
// and the recurrence. The state is kept in fp32. A decode step reads and writes the state; a
// prefill writes it once.
//
// FLOPs per token and value head: 2 * k_dim * v_dim for each pass over the state, and 2 * conv per
// channel. The delta rule, gated or Kimi's, takes three passes (read by key, update, read by
// query); Mamba-2 takes two. Chunked prefill kernels do more arithmetic in larger products, which
// is not counted. Moves the input channels and the output of every token, and with Kimi's rule a
// decay for each channel of the keys. In programs the convolution of Mamba-2 and of Kimi's rule is
// an op of its own (CausalConvolution).
struct LinearAttentionCore {
  static constexpr std::string_view kName = "linear_attention";
  static constexpr Family kFamily = Family::kAttention;
  enum class Kernel { kDeltaRule, kStateSpace };
  static constexpr std::size_t kKernels = 2;

  enum class Kind { kGatedDeltaNet, kMamba2, kKimiDelta } kind = Kind::kGatedDeltaNet;
  bool decode = false;
  std::int64_t batch = 1, new_tokens = 1;
  int k_heads = 1, k_dim = 128;  // Mamba-2: groups, state
  int v_heads = 1, v_dim = 128;  // Mamba-2: heads, head_dim
  int conv = 4;                  // width of the convolution; 1: none
  int chunk = 128;               // tokens that a prefill computes at once; Mamba-2 only
  Dtype dtype = Dtype::kBf16;

  Kernel kernel() const { return kind == Kind::kMamba2 ? Kernel::kStateSpace : Kernel::kDeltaRule; }
  bool operator==(const LinearAttentionCore&) const = default;
  Flops flop_count() const;
  Bytes byte_count() const;
  Dtype arithmetic() const { return dtype; }
  std::string description() const;
};

// The causal convolution in front of a recurrent mixer: each of `channels` over a window of
// `window` tokens. Moves the channels in and out; a decode step also reads and writes the windows
// of its sequences. No FLOPs are counted. The kernel depends on the mixer: Kimi's convolves
// queries, keys and values one after the other.
struct CausalConvolution {
  static constexpr std::string_view kName = "causal_convolution";
  static constexpr Family kFamily = Family::kAttention;

  bool decode = false;
  std::int64_t batch = 1, new_tokens = 1, channels = 1;
  int window = 4;
  LinearAttentionCore::Kind mixer = LinearAttentionCore::Kind::kGatedDeltaNet;
  Dtype dtype = Dtype::kBf16;

  bool operator==(const CausalConvolution&) const = default;
  Flops flop_count() const { return {}; }
  Bytes byte_count() const;
  Dtype arithmetic() const { return Dtype::kFp32; }
  std::string description() const;
};

}  // namespace orrery
