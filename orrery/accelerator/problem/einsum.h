// A tensor operation as an einsum with affine projections: every point of the iteration space reads
// one element of each input and adds to one element of the output.
//
// A rank of a tensor is indexed by a sum of dimensions with coefficients. A matrix product has
// ranks such as [M] and [K]; the input of a convolution has [stride*P + dilation*R]. With these,
// matrix products, batched products, convolutions (strided, dilated, grouped, depth-wise), the two
// products of attention, softmax and elementwise work are all einsums.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "orrery/base/index.h"
#include "orrery/base/units.h"

namespace orrery {

// One summand of a rank's index.
struct IndexTerm {
  int dim = 0;                   // index into Einsum::dims
  std::int64_t coefficient = 1;  // at least 1
};

struct EinsumTensor {
  std::string name;
  std::vector<std::vector<IndexTerm>> ranks;
  bool output = false;  // read and written; the others are only read
  int bits = 16;        // of an element, where a memory does not fix its own width
  // The part that rules of a chip name besides the tensor itself: input, weight or output. Empty:
  // output of an output, else input.
  std::string role = {};
};

// Whether a rule of a chip about `name` is about the tensor: its name or its role.
inline bool is_about(const std::string& name, const EinsumTensor& tensor) {
  if (name == tensor.name) return true;
  if (tensor.role.empty()) return name == (tensor.output ? "output" : "input");
  return name == tensor.role;
}

struct Einsum {
  std::string name;
  std::vector<std::string> dims;
  std::vector<std::int64_t> sizes;  // of each dimension, at least 1
  std::vector<EinsumTensor> tensors;

  // Points of the iteration space: the multiply-adds of a product.
  double points() const {
    double n = 1;
    for (const std::int64_t size : sizes) n *= real(size);
    return n;
  }
};

// Limits of the counting code.
inline constexpr int kMostRanks = 6;  // of a tensor
inline constexpr int kMostEinsumDims = 16;

// Elements of a rank when every dimension d covers extents[d] of its values.
inline std::int64_t rank_extent(const std::vector<IndexTerm>& rank,
                                std::span<const std::int64_t> extents) {
  std::int64_t n = 1;
  for (const IndexTerm& term : rank) {
    n += term.coefficient * (extents[index(term.dim)] - 1);
  }
  return n;
}

// Words of a tensor's tile when every dimension d covers extents[d] of its values.
inline double tile_words(const EinsumTensor& tensor, std::span<const std::int64_t> extents) {
  double n = 1;
  for (const std::vector<IndexTerm>& rank : tensor.ranks) n *= real(rank_extent(rank, extents));
  return n;
}

}  // namespace orrery
