// Where the non-zero elements of a tensor stand, as far as a tile of it is concerned.
//
//   hypergeometric    r = ceil(density * N) non-zeros spread evenly over the N elements of the
//                     tensor: a tile of n has k of them with C(r,k) C(N-r,n-k) / C(N,n)
//   fixed structured  every tile has its share x = density * n, as in 2:4 sparsity: ceil(x) with
//                     the probability x - floor(x), else floor(x)
//   banded            an element (i, j) of a square matrix is non-zero if |i - j| is at most the
//                     half width; the tiles are those of a grid over the matrix
//   measured          the shares of empty tiles and of non-zeros are given for tiles of stated
//                     sizes; between two sizes the share of the smaller one holds
//
// A tile within one whose non-zeros are counted (`Known`) follows, for the hypergeometric kind, the
// same law with the counted tile in the place of the tensor; the other kinds do not use it.
//
// Sources: Wu et al., Sparseloop, MICRO 2022, section 5.3; the density models of timeloop-model
// (src/workload/density-models). The measured kind is our own.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "orrery/accelerator/problem/einsum.h"

namespace orrery {

struct MeasuredTile {
  double empty = 0;    // share of the tiles without a non-zero
  double density = 1;  // mean share of non-zeros
};

struct Density {
  enum class Kind : std::uint8_t { kDense, kHypergeometric, kFixedStructured, kBanded, kMeasured };
  Kind kind = Kind::kDense;
  double density = 1;           // 0 to 1
  double tensor_words = 1;      // kHypergeometric, kBanded: elements of the whole tensor
  std::int64_t half_width = 0;  // kBanded
  std::map<double, MeasuredTile> measured;  // kMeasured: by the words of a tile
};

struct Tile {
  double words = 1;
  std::int64_t rows = 0, columns = 0;  // of a tile of a matrix; 0: taken as a square
};

// A tile of `tensor` when every dimension d covers extents[d] of its values.
Tile tile_of(const EinsumTensor& tensor, std::span<const std::int64_t> extents);

// A tile whose non-zeros are counted.
struct Known {
  double words = 0, nonzeros = 0;
};

struct Occupancy {
  double nonzeros = 0, probability = 0;
};

// Mean share of non-zeros of the whole tensor.
double mean_density(const Density& d);

// Probability that a tile has no non-zero; `known` may be null.
double empty_probability(const Density& d, const Tile& tile, const Known* known = nullptr);
inline double empty_probability(const Density& d, double words) {
  return empty_probability(d, Tile{words, 0, 0});
}

// The numbers of non-zeros that a tile may have, rising, with their probabilities. Numbers further
// than 12 standard deviations from the mean are left out.
std::vector<Occupancy> occupancies(const Density& d, const Tile& tile);

// The most non-zeros that a tile may have.
double most_nonzeros(const Density& d, const Tile& tile);

}  // namespace orrery
