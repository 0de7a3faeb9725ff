// Where the non-zero elements of a tensor stand, as far as a tile of it is concerned.
//
//   hypergeometric    r = ceil(density * N) non-zeros spread evenly over the N elements of the
//                     tensor: a tile of n has k of them with C(r,k) C(N-r,n-k) / C(N,n)
//   fixed structured  every tile has its share, density * n, as in 2:4 sparsity; a tile whose share
//                     is below 1 is empty with 1 - density * n
//   banded            an element (i, j) of a square matrix is non-zero if |i - j| is at most the
//                     half width
//   measured          the shares of empty tiles and of non-zeros are given for tiles of stated
//                     sizes; between two sizes the share of the smaller one holds
//
// Source: the density models named by Wu et al., Sparseloop, MICRO 2022. The banded and measured
// forms are our own and were not compared with a record.
#pragma once

#include <cstdint>
#include <map>

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

// Mean share of non-zeros of the whole tensor and of every tile size.
double mean_density(const Density& d);

// Probability that a tile of `words` elements has no non-zero. A banded tile is a square of that
// many elements whose position is any of the matrix.
double empty_probability(const Density& d, double words);

}  // namespace orrery
