// Builds a graph node by node, with the shapes of images: for networks that a description gives,
// not a file. Values are indices of tensors.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "orrery/edge/graph/graph.h"

namespace orrery {

class GraphBuilder {
 public:
  explicit GraphBuilder(std::string name);

  int input(std::int64_t channels, std::int64_t height, std::int64_t width);

  // A square convolution without bias whose result has the size of its input over the stride.
  struct Convolution {
    std::int64_t channels = 1, kernel = 1, stride = 1, groups = 1;
  };
  int convolution(int x, const Convolution& convolution);
  int batch_norm(int x);
  int relu(int x);
  // Windows of averages; the size of the result is that of the input over the stride.
  int average_pool(int x, std::int64_t kernel, std::int64_t stride);
  int global_pool(int x);  // a vector of channels
  int add(int a, int b);
  int shuffle(int x, std::int64_t groups);
  int zero(int x, std::int64_t stride = 1);  // a product with zero
  int inner_product(int x, std::int64_t outputs);

  std::int64_t channels(int x) const;
  // The graph that computes `output`, without nodes that do not lead to it.
  EdgeGraph finish(int output) &&;

 private:
  int tensor(std::vector<std::int64_t> shape);
  // Adds a node that writes one tensor of that shape; returns the tensor.
  int node(EdgeNode node, std::vector<int> inputs, std::vector<std::int64_t> shape);
  const std::vector<std::int64_t>& shape(int x) const;

  EdgeGraph graph_;
};

}  // namespace orrery
