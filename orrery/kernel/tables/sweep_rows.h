// Tables that only the sweep of a user's GPU writes (tools/sweep), and how their rows become ops.
//
// The tables elementwise and elementwise_backward have the columns op, dtype, rows and width; the
// table optimizer has op, state and parameters. The bytes of an op are those that the work must
// move. Bytes that a framework moves in addition (several kernels in place of one) are part of the
// surface.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/csv.h"
#include "orrery/workload/ops/op.h"

namespace orrery {

// The op of a row; a gradient for rows of elementwise_backward. Nothing for RMSNorm, which eager
// PyTorch computes in several kernels: ops do not tell it from LayerNorm, which is one kernel.
// InputError: an operation or a number format that the sweep does not write.
std::optional<Op> sweep_op(const CsvReader& row, std::string_view table);

// Hash of the sizes of the row, for KernelSample::shape.
std::uint64_t sweep_shape(const CsvReader& row, std::string_view table);

// True if a sweep wrote `dir`: it has a device.json. Problems that this file reports about the
// state of the GPU are added to `refused`. InputError: a rehearsal, whose times mean nothing, or a
// malformed file.
bool check_sweep(const std::filesystem::path& dir, std::vector<std::string>& refused);

}  // namespace orrery
