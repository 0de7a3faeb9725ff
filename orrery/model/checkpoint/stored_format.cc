#include "orrery/model/checkpoint/stored_format.h"

#include <array>

#include "orrery/base/index.h"

namespace orrery {
namespace {

std::int64_t divided_up(std::int64_t n, std::int64_t by) { return (n + by - 1) / by; }

}  // namespace

Bytes stored_bytes(const StoredFormat& f, std::int64_t rows, std::int64_t columns) {
  constexpr std::array<double, 6> kBits = {0, 8, 8, 4, 4, 4};  // by WeightFormat
  const double bits = kBits[index(f.format)];
  const auto scales = static_cast<double>(
      f.group > 0        ? rows * divided_up(columns, f.group)
      : f.block_rows > 0 ? divided_up(rows, f.block_rows) * divided_up(columns, f.block_columns)
      : f.scale_per_row  ? rows
                         : 1);
  const auto weights = static_cast<double>(rows) * static_cast<double>(columns);
  return Bytes(weights * bits / 8 + scales * (f.scale_bytes + (f.zero_points ? bits / 8 : 0)) +
               static_cast<double>(columns) * f.column_bytes + f.matrix_bytes);
}

StoredFormat format_of(const CheckpointQuantization& quantization, WeightPart part) {
  for (const StoredPart& p : quantization.parts) {
    if (p.part == part) return p.format;
  }
  return {};
}

}  // namespace orrery
