// The ops of a trace as ops of workload/ops/op.h, by PyTorch's names and shapes.
#pragma once

#include <optional>

#include "orrery/replay/kineto.h"
#include "orrery/workload/ops/op.h"

namespace orrery {

// The op of a cpu_op with "Input Dims": aten::mm, addmm, bmm, baddbmm, linear and _scaled_mm, and
// the fused attentions of PyTorch and FlashAttention, forward and backward, which count as causal.
// Nothing for another op, and for shapes that do not fit the op.
std::optional<Op> traced_op(std::string_view name, const KinetoDetail& detail);

// The collective of a kernel; its group is kData. `world`: number of ranks if the trace does not
// state it (0: unknown). Nothing if neither the fields nor the kernel's name state the kind and the
// number of ranks. `bytes` is 0 if the trace has no sizes.
std::optional<Collective> traced_collective(std::string_view kernel, const KinetoDetail& detail,
                                            std::int64_t world);

}  // namespace orrery
