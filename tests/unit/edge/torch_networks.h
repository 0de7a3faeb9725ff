// The networks of torchvision as PyTorch exports them to ONNX, written layer by layer from their
// papers, with the multiply-adds that they make counted on the way.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace orrery {

struct TorchNetwork {
  std::string name;
  std::string bytes;            // the model, with the batch symbolic and its weights elsewhere
  std::int64_t macs = 0;        // of one image, summed while the layers were written
  std::int64_t parameters = 0;  // as torchvision's documentation gives them
  double gflops = 0;            // likewise, of one image of 224 x 224, to two decimals
};

std::vector<TorchNetwork> torch_networks();

}  // namespace orrery
