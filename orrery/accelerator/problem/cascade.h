// A cascade: einsums in the order in which they run, where one reads what others wrote.
//
// Tensors meet by name: the output T1 of one einsum is the input T1 of a later one. A tensor that
// is written and read inside of the cascade is an intermediate, and may stay on the chip.
#pragma once

#include <string>
#include <vector>

#include "orrery/accelerator/problem/einsum.h"
#include "orrery/base/node.h"

namespace orrery {

struct CascadeStep {
  Einsum einsum;
  bool copy = false;  // moves its input to its output and computes nothing
};

struct Cascade {
  std::string name;
  std::vector<std::string> aliases;  // other names by which records call it
  std::string source;
  std::vector<CascadeStep> steps;
  // Tensors that live in their outermost memory during the whole cascade: weights, caches.
  std::vector<std::string> persistent;

  // Index of the step whose einsum has this name; -1 if there is none.
  int find(const std::string& einsum) const;
};

// Reads a cascade from a document:
//
//   name: matmuls_64
//   bits: 8                                # of an element; a map tensor -> bits under `widths`
//   sizes: {m: 64, n0: 64, n1: 64}         # of each dimension
//   einsums:
//     - T1[m, n1] = T0[m, n0] * W0[n0, n1]
//     - {name: Up, einsum: "Y[p, k] = X[2*p + r, c] * F[k, c, r]"}
//   persistent: [W0]
//
// An einsum without a name has that of its output. The first operand is its input and the second
// its weight. `copy: true` marks a copy; `sizes` of an entry replace those of the cascade.
//
// InputError with file, line and key: unknown dimensions, no output, more ranks or dimensions than
// the counting code takes.
Cascade read_cascade(const Node& root);

}  // namespace orrery
