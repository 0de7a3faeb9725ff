// What the ops of a trace are in the words of workload/op.h, by PyTorch's names and shapes.
#pragma once

#include <optional>

#include "orrery/replay/kineto.h"
#include "orrery/workload/ops/op.h"

namespace orrery {

// Of a cpu_op with "Input Dims": aten::mm, addmm, bmm, baddbmm, linear and _scaled_mm; the fused
// attentions of PyTorch and FlashAttention, forward and backward (taken as causal). Nothing:
// another op, or shapes that are not those of one.
std::optional<Op> traced_op(std::string_view name, const KinetoDetail& detail);

// Of a collective's kernel; `world`: ranks where the trace does not say (0: not known). The group
// is kData. Nothing: neither the fields nor the kernel's name say what it is, or how many ranks.
// `bytes` is 0 where the trace has no sizes.
std::optional<Collective> traced_collective(std::string_view kernel, const KinetoDetail& detail,
                                            std::int64_t world);

}  // namespace orrery
