// Reads programs in tests: ops by name, sums over all.
#pragma once

#include <string_view>
#include <vector>

#include "orrery/workload/inference/program.h"

namespace orrery::reading {

inline std::vector<ProgramOp> all(const Program& program, std::string_view name) {
  std::vector<ProgramOp> found;
  for (const ProgramOp& op : program.ops) {
    if (op.name == name) found.push_back(op);
  }
  return found;
}

inline double count(const Program& program, std::string_view name) {
  double n = 0;
  for (const ProgramOp& op : all(program, name)) n += op.count;
  return n;
}

// The first op called `name`; throws std::bad_variant_access or std::out_of_range when it is not
// there or of another kind.
template <class T>
T first(const Program& program, std::string_view name) {
  return std::get<T>(all(program, name).at(0).op);
}

inline double total_flops(const Program& program) {
  double n = 0;
  for (const ProgramOp& op : program.ops) n += op.count * flops(op.op).value();
  return n;
}

// Weights that the step's products read, in bytes; routed experts are not included.
inline double weight_bytes(const Program& program) {
  double n = 0;
  for (const ProgramOp& op : program.ops) {
    const auto* g = std::get_if<Gemm>(&op.op);
    if (g == nullptr || !g->weight) continue;
    n += op.count * static_cast<double>(g->batch) * static_cast<double>(g->n) *
         static_cast<double>(g->k) * properties(g->format).weight.value();
  }
  return n;
}

inline Batch decode(std::int64_t sequences, double past) {
  return Batch{{{sequences, 1, past, true}}};
}
inline Batch prefill(std::int64_t sequences, std::int64_t tokens, double past = 0) {
  return Batch{{{sequences, tokens, past, true}}};
}

}  // namespace orrery::reading
