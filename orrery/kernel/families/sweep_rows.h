// Tables that only the sweep of a user's GPU writes (tools/sweep): how a row becomes an op.
//
// elementwise, elementwise_backward: op, dtype, rows, width. optimizer: op, state, parameters. The
// bytes are those that the work must move; what a framework moves beyond them (several kernels in
// place of one) is part of the surface.
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

// The op of a row of one of these tables, gradients of `elementwise_backward` included. Nothing for
// RMSNorm, which eager PyTorch computes in several kernels: ops do not tell it from LayerNorm,
// which is one. InputError: an operation or a number format that the sweep does not write.
std::optional<Op> sweep_op(const CsvReader& row, std::string_view table);

// Of all sizes of the row, for KernelSample::shape.
std::uint64_t sweep_shape(const CsvReader& row, std::string_view table);

// Whether `dir` is what a sweep left: it has a device.json. What that says against the measurements
// is added to `refused`. InputError: a rehearsal, whose times mean nothing, or a malformed file.
bool check_sweep(const std::filesystem::path& dir, std::vector<std::string>& refused);

}  // namespace orrery
