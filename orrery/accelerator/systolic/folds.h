// The folds of a matrix product on a systolic array, and the words that each cycle of a fold asks
// of an operand's memory or gives to the results' memory, in closed form.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "orrery/accelerator/systolic/systolic_array.h"

namespace orrery {

// One dimension cut into parts of `part`, the last of which may be smaller.
struct Cut {
  std::int64_t size = 1, part = 1;
  std::int64_t parts() const { return (size + part - 1) / part; }
  std::int64_t width(std::int64_t index) const { return std::min(part, size - index * part); }
};

struct Folds {
  Folds(const SystolicArray& array, const MatrixProduct& product);

  SystolicDataflow dataflow;
  Cut rows, columns;    // the dimensions on the array's rows and columns
  std::int64_t time;    // the size of the streamed dimension
  std::int64_t cycles;  // of a fold
  std::int64_t count() const { return rows.parts() * columns.parts(); }
};

// Points (r, c) of a grid of `height` x `width` with r + c < `diagonal`.
std::int64_t points_below_diagonal(std::int64_t height, std::int64_t width, std::int64_t diagonal);

// The words of an operand, numbered in the order in which its memory fetches them. The words that a
// cycle asks for have consecutive numbers: [first, last).
struct WordRange {
  std::int64_t first = 0, last = 0;
  bool empty() const { return first >= last; }
};

// An operand that enters along one edge of the array, a word for each row (or column) and a cycle
// later for each next one. Its parts, of `time` words for each row, are fetched one after the
// other, in the diagonal order in which the array asks for them; where parts meet, the diagonals
// mix words of both.
class StreamedOperand {
 public:
  // The first word enters in cycle `start` of a fold.
  StreamedOperand(const Cut& edge, std::int64_t time, std::int64_t start)
      : edge_(edge), time_(time), start_(start) {}

  std::int64_t words() const { return edge_.size * time_; }
  std::int64_t padded_words() const { return edge_.parts() * edge_.part * time_; }
  // The cycles of a fold that ask for words of a part: [begin, end).
  std::int64_t begin() const { return start_; }
  std::int64_t end(std::int64_t part) const { return start_ + time_ + edge_.width(part) - 1; }
  // The words asked for in cycle `cycle`. Later cycles of a fold ask for later words.
  WordRange at(std::int64_t part, std::int64_t cycle) const;

 private:
  Cut edge_;
  std::int64_t time_, start_;
};

// An operand that is loaded before a fold and then stays: the rows of a fold's tile, the last row
// first.
class StationaryOperand {
 public:
  StationaryOperand(const Cut& rows, const Cut& columns) : rows_(rows), columns_(columns) {}

  std::int64_t words() const { return rows_.size * columns_.size; }
  std::int64_t padded_words() const { return rows_.size * columns_.parts() * columns_.part; }
  std::int64_t begin(std::int64_t row_part) const { return rows_.part - rows_.width(row_part); }
  std::int64_t end() const { return rows_.part; }
  // The words asked for in cycle `cycle`. Later cycles of a fold ask for earlier words.
  WordRange at(std::int64_t row_part, std::int64_t column_part, std::int64_t cycle) const;

 private:
  Cut rows_, columns_;
};

// The results that leave a fold along its bottom edge, a column a cycle later than the one before.
struct LeavingResults {
  LeavingResults(const Folds& folds, std::int64_t row_part, std::int64_t column_part);

  std::int64_t words() const { return height * width; }
  // The words that leave before `cycle`.
  std::int64_t before(std::int64_t cycle) const {
    return points_below_diagonal(height, width, cycle - start);
  }
  // The cycle in which the word after the first `count` leaves; `count` is below words().
  std::int64_t cycle_of(std::int64_t count) const;

  std::int64_t start, height, width;
};

}  // namespace orrery
