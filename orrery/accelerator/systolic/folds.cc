#include "orrery/accelerator/systolic/folds.h"

namespace orrery {
namespace {

std::int64_t triangle(std::int64_t side) { return side > 0 ? side * (side + 1) / 2 : 0; }

// Integers in [first, last).
std::int64_t count(std::int64_t first, std::int64_t last) {
  return std::max<std::int64_t>(0, last - first);
}

}  // namespace

Folds::Folds(const SystolicArray& array, const MatrixProduct& p)
    : dataflow(array.dataflow), rows{1, array.rows}, columns{1, array.columns}, time(1), cycles(1) {
  switch (dataflow) {
    case SystolicDataflow::kOutputStationary:
      rows.size = p.m, columns.size = p.n, time = p.k;
      break;
    case SystolicDataflow::kWeightStationary:
      rows.size = p.k, columns.size = p.n, time = p.m;
      break;
    case SystolicDataflow::kInputStationary:
      rows.size = p.k, columns.size = p.m, time = p.n;
      break;
  }
  // A stationary operand takes a cycle for each row to load.
  const std::int64_t load = dataflow == SystolicDataflow::kOutputStationary ? 0 : array.rows;
  cycles = load + time + array.rows + array.columns - 2;
}

std::int64_t points_below_diagonal(std::int64_t height, std::int64_t width, std::int64_t diagonal) {
  return triangle(diagonal) - triangle(diagonal - height) - triangle(diagonal - width) +
         triangle(diagonal - height - width);
}

WordRange StreamedOperand::at(std::int64_t part, std::int64_t cycle) const {
  const std::int64_t step = cycle - start_;  // row + column of the part
  const std::int64_t first_column = std::max<std::int64_t>(0, step - time_ + 1);
  const std::int64_t last_column = std::min(edge_.width(part), step + 1);
  if (first_column >= last_column) return {};
  // Words of earlier diagonals. All parts but the last are full.
  const std::int64_t full = (edge_.parts() - 1) * time_;
  const std::int64_t last_width = edge_.width(edge_.parts() - 1);
  const std::int64_t diagonal = part * time_ + step;
  std::int64_t first = points_below_diagonal(full, edge_.part, diagonal) +
                       points_below_diagonal(time_, last_width, diagonal - full);
  // Words of the same diagonal in earlier columns, which are those of later rows.
  first += count(std::max<std::int64_t>(0, diagonal - full - time_ + 1),
                 std::min({first_column, last_width, diagonal - full + 1}));
  first +=
      count(std::max<std::int64_t>(0, diagonal - full + 1), std::min(first_column, edge_.part));
  return {first, first + last_column - first_column};
}

WordRange StationaryOperand::at(std::int64_t row_part, std::int64_t column_part,
                                std::int64_t cycle) const {
  const std::int64_t row = row_part * rows_.part + rows_.part - 1 - cycle;
  const std::int64_t width = columns_.width(column_part);
  const std::int64_t first = column_part * rows_.size * columns_.part + row * width;
  return {first, first + width};
}

LeavingResults::LeavingResults(const Folds& folds, std::int64_t row_part, std::int64_t column_part)
    : start(0), height(folds.time), width(folds.columns.width(column_part)) {
  if (folds.dataflow == SystolicDataflow::kOutputStationary) {
    // The bottom row leaves first. Unused rows are at the bottom.
    height = folds.rows.width(row_part);
    start = folds.time - 1 + folds.rows.part - height;
  } else {
    start = 2 * folds.rows.part - 1;
  }
}

std::int64_t LeavingResults::cycle_of(std::int64_t count) const {
  std::int64_t low = start, high = start + height + width - 2;
  while (low < high) {
    const std::int64_t middle = (low + high) / 2;
    if (before(middle + 1) > count) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

}  // namespace orrery
