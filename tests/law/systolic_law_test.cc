// A systolic array's closed forms and jumps between events, against a simulation that lists every
// word of every cycle; and laws of its cycles.
#include "orrery/accelerator/systolic/systolic_array.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

namespace orrery {
namespace systolic_law_test {

using Line = std::vector<long>;   // words of one cycle, in the order of rows or columns
using Table = std::vector<Line>;  // one line a cycle
constexpr long kNone = -1;

// A fold's tile as rows of words, skewed so that column c is c cycles later, after `before` empty
// cycles and padded to `cycles`.
Table skewed(const Table& tile, long before, long cycles) {
  Table out(static_cast<std::size_t>(cycles));
  for (std::size_t c = 0; !tile.empty() && c < tile[0].size(); ++c) {
    for (std::size_t r = 0; r < tile.size(); ++r) {
      if (tile[r][c] != kNone) out[static_cast<std::size_t>(before) + r + c].push_back(tile[r][c]);
    }
  }
  return out;
}

void append(Table& all, const Table& more) { all.insert(all.end(), more.begin(), more.end()); }

// Word numbers: A(m, k) = m K + k, B(k, n) = k N + n.
struct Lists {
  Table input, filter;             // asked for in each cycle
  std::vector<long> writes;        // words written in each cycle
  Line input_order, filter_order;  // as fetched; kNone for padding
};

Line diagonal_order(const Table& stack) {
  std::map<long, Line> by_diagonal;  // columns ascending
  for (std::size_t c = 0; !stack.empty() && c < stack[0].size(); ++c) {
    for (std::size_t r = 0; r < stack.size(); ++r) {
      by_diagonal[static_cast<long>(r + c)].push_back(stack[r][c]);
    }
  }
  Line out;
  for (const auto& [d, line] : by_diagonal) out.insert(out.end(), line.begin(), line.end());
  return out;
}

Lists list_words(const SystolicArray& a, const MatrixProduct& p) {
  const bool os = a.dataflow == SystolicDataflow::kOutputStationary;
  const bool is = a.dataflow == SystolicDataflow::kInputStationary;
  const auto A = [&](long m, long k) { return m < p.m && k < p.k ? m * p.k + k : kNone; };
  const auto B = [&](long k, long n) { return k < p.k && n < p.n ? k * p.n + n : kNone; };
  const long R = a.rows, C = a.columns, T = os ? p.k : is ? p.n : p.m;
  const long down = os ? p.m : p.k, across = is ? p.m : p.n;
  const long row_folds = (down + R - 1) / R, column_folds = (across + C - 1) / C;
  const long cycles = T + R + C - 2 + (os ? 0 : R);
  // Tiles as the array sees them: rows of a tile follow each other in time.
  const auto left = [&](long fr) {
    Table tile(static_cast<std::size_t>(T));
    for (long t = 0; t < T; ++t) {
      for (long r = 0; r < R; ++r) {
        const long i = fr * R + r;
        tile[static_cast<std::size_t>(t)].push_back(os ? A(i, t) : is ? B(i, t) : A(t, i));
      }
    }
    return tile;
  };
  const auto top = [&](long k, long fc) {
    Line line;
    for (long c = 0; c < C; ++c) line.push_back(is ? A(fc * C + c, k) : B(k, fc * C + c));
    return line;
  };
  Lists out;
  Table left_stack, top_stack, left_asked, top_asked;
  for (long fr = 0; fr < row_folds; ++fr) append(left_stack, left(fr));
  for (long fc = 0; fc < column_folds; ++fc) {
    for (long k = 0; k < p.k; ++k) top_stack.push_back(top(k, fc));
  }
  for (long fc = 0; fc < column_folds; ++fc) {
    for (long fr = 0; fr < row_folds; ++fr) {
      append(left_asked, skewed(left(fr), os ? 0 : R, cycles));
      Table tile;
      if (os) {
        for (long t = 0; t < T; ++t) tile.push_back(top(t, fc));
        append(top_asked, skewed(tile, 0, cycles));
      } else {
        tile.resize(static_cast<std::size_t>(cycles));
        for (long r = 0; r < R; ++r) {
          for (const long word : top(fr * R + R - 1 - r, fc)) {
            if (word != kNone) tile[static_cast<std::size_t>(r)].push_back(word);
          }
        }
        append(top_asked, tile);
      }
      // Results: one row of the tile a cycle; with stationary outputs the bottom row first.
      Table results;
      for (long t = 0; t < (os ? R : T); ++t) {
        Line line;
        for (long c = 0; c < C; ++c) {
          const bool used = fc * C + c < across && (!os || fr * R + R - 1 - t < down);
          line.push_back(used ? 1 : kNone);
        }
        results.push_back(line);
      }
      for (const Line& line : skewed(results, os ? T - 1 : 2 * R - 1, cycles)) {
        out.writes.push_back(static_cast<long>(line.size()));
      }
    }
  }
  Line row_order;
  for (const Line& line : top_stack) row_order.insert(row_order.end(), line.begin(), line.end());
  const Line left_order = diagonal_order(left_stack);
  const Line top_order = os ? diagonal_order(top_stack) : row_order;
  out.input = is ? top_asked : left_asked;
  out.filter = is ? left_asked : top_asked;
  out.input_order = is ? top_order : left_order;
  out.filter_order = is ? left_order : top_order;
  return out;
}

// A memory that looks every word up in the sets of its window.
class SlowMemory {
 public:
  SlowMemory(const Line& order, long words, long bandwidth, LateWords late)
      : bandwidth_(bandwidth), late_(late) {
    const long in_set = (words + 99) / 100, used = (words + 1) / 2;
    sets_.emplace_back();
    for (const long word : order) {
      if (word == kNone) continue;
      sets_.back().insert(word);
      if (static_cast<long>(sets_.back().size()) == in_set) sets_.emplace_back();
    }
    const long n = static_cast<long>(sets_.size());
    window_ = std::min((used + in_set - 1) / in_set, n);
    step_ = std::min((words - used + in_set - 1) / in_set, n - window_);
    lines_ = (words - used + bandwidth - 1) / bandwidth;
    const long all = (static_cast<long>(order.size()) + bandwidth - 1) / bandwidth;
    fetched = std::min((used + bandwidth - 1) / bandwidth, all) * bandwidth;
  }
  long read(const Line& asked, long cycle) {
    long arrival = cycle + 1;
    for (const long word : asked) {
      while (!holds(word)) {
        first_ = (first_ + step_) % static_cast<long>(sets_.size());
        ready_ += lines_ + 1;
        fetched += lines_ * bandwidth_;
        const long d = ready_ - arrival;
        arrival += late_ == LateWords::kOnce ? std::max(0L, d) : d > 0 ? 2 * d : d;
      }
    }
    return arrival - cycle - 1;
  }
  long fetched = 0;

 private:
  bool holds(long word) const {
    for (long i = 0; i < window_; ++i) {
      if (sets_[static_cast<std::size_t>((first_ + i) % static_cast<long>(sets_.size()))].contains(
              word)) {
        return true;
      }
    }
    return false;
  }
  std::vector<std::set<long>> sets_;
  long bandwidth_, window_ = 0, step_ = 0, lines_ = 0, first_ = 0, ready_ = -1;
  LateWords late_;
};

// A memory of results that holds every line.
class SlowResults {
 public:
  SlowResults(long words, long bandwidth)
      : size_(words), half_(words - (words + 1) / 2), width_(bandwidth), free_(words) {}
  long write(long words, long cycle) {
    long now = cycle;
    for (; words > 0; --words) {
      if (!open_ || lines_.back() == width_) lines_.push_back(0);
      open_ = true;
      ++lines_.back();
      --free_;
      if (now < end_) {
        if (free_ <= 0) now = end_;
      } else if (free_ < size_ - half_) {
        open_ = false;
        end_ = now + drain() - 1;
      }
    }
    return now - cycle;
  }
  void finish() {
    while (!lines_.empty()) drain();
  }
  long drained = 0;

 private:
  long drain() {
    const long n = std::min((half_ + width_ - 1) / width_, static_cast<long>(lines_.size()));
    const long words = (n - 1) * width_ + lines_[static_cast<std::size_t>(n - 1)];
    lines_.erase(lines_.begin(), lines_.begin() + n);
    free_ += words;
    drained += words;
    return n;
  }
  long size_, half_, width_, free_, end_ = 0;
  bool open_ = false;
  std::vector<long> lines_;
};

// Words collected until half of the memory has been filled.
long collected(const Table& asked, long words) {
  std::set<long> held;
  long fetched = 0;
  for (const Line& line : asked) {
    for (const long word : line) {
      if (!held.insert(word).second) continue;
      ++fetched;
      if (static_cast<long>(held.size()) == words / 100 * 50) held.clear();
    }
  }
  return fetched;
}

SystolicRun slow_run(const SystolicArray& a, const MatrixProduct& p) {
  const Lists lists = list_words(a, p);
  SlowMemory input(lists.input_order, a.input_words, a.read_bandwidth, a.late_words);
  SlowMemory filter(lists.filter_order, a.filter_words, a.read_bandwidth, a.late_words);
  SlowResults results(a.output_words, a.stall_free ? a.columns : a.write_bandwidth);
  SystolicRun run;
  for (std::size_t i = 0; i < lists.writes.size(); ++i) {
    const long now = static_cast<long>(i) + run.stalls;
    const long write = results.write(lists.writes[i], now);
    long wait = write;
    if (!a.stall_free) {
      wait = std::max({wait, input.read(lists.input[i], now), filter.read(lists.filter[i], now)});
    }
    run.cycles = now + write;
    run.stalls += wait;
  }
  results.finish();
  run.output_drains = results.drained;
  run.input_fetches = a.stall_free ? collected(lists.input, a.input_words) : input.fetched;
  run.filter_fetches = a.stall_free ? collected(lists.filter, a.filter_words) : filter.fetched;
  for (const Line& line : lists.input) run.input_reads += static_cast<long>(line.size());
  for (const Line& line : lists.filter) run.filter_reads += static_cast<long>(line.size());
  return run;
}

SystolicArray any_array() {
  SystolicArray a;
  a.rows = *rc::gen::inRange(1, 10);
  a.columns = *rc::gen::inRange(1, 10);
  a.dataflow =
      *rc::gen::element(SystolicDataflow::kOutputStationary, SystolicDataflow::kWeightStationary,
                        SystolicDataflow::kInputStationary);
  a.input_words = *rc::gen::inRange(100, 500);
  a.filter_words = *rc::gen::inRange(100, 500);
  a.output_words = *rc::gen::inRange(100, 300);
  a.read_bandwidth = *rc::gen::inRange(1, 12);
  a.write_bandwidth = *rc::gen::inRange(1, 12);
  a.stall_free = *rc::gen::inRange(0, 4) == 0;
  a.late_words = *rc::gen::element(LateWords::kScaleSim, LateWords::kOnce);
  return a;
}

MatrixProduct any_product() {
  return {*rc::gen::inRange(1, 40), *rc::gen::inRange(1, 40), *rc::gen::inRange(1, 40)};
}

RC_GTEST_PROP(SystolicLaw, JumpsAreAsEveryCycleListed, ()) {
  const SystolicArray a = any_array();
  const MatrixProduct p = any_product();
  const SystolicRun fast = run_systolic(a, p), slow = slow_run(a, p);
  RC_ASSERT(fast.cycles == slow.cycles);
  RC_ASSERT(fast.stalls == slow.stalls);
  RC_ASSERT(fast.input_reads == slow.input_reads);
  RC_ASSERT(fast.filter_reads == slow.filter_reads);
  RC_ASSERT(fast.input_fetches == slow.input_fetches);
  RC_ASSERT(fast.filter_fetches == slow.filter_fetches);
  RC_ASSERT(fast.output_drains == slow.output_drains);
}

RC_GTEST_PROP(SystolicLaw, CyclesAreNeverBelowTheMultiplyAddsOfAllUnits, ()) {
  const SystolicArray a = any_array();
  const MatrixProduct p = any_product();
  const SystolicRun run = run_systolic(a, p);
  // The clock starts at 0, so that the count of cycles is one below their number.
  RC_ASSERT((run.cycles + 1) * a.rows * a.columns >= p.m * p.n * p.k);
  RC_ASSERT(run.mapping_efficiency <= 1);
  RC_ASSERT(run.compute_utilization <= run.mapping_efficiency);
  // A memory's half is rounded up to whole sets, of which the words count as held.
  RC_ASSERT(run.input_fetches + a.input_words / 100 + 1 >= p.m * p.k);
  RC_ASSERT(run.filter_fetches + a.filter_words / 100 + 1 >= p.k * p.n);
  RC_ASSERT(run.output_drains >= p.m * p.n);
}

RC_GTEST_PROP(SystolicLaw, MoreReadBandwidthIsNeverSlower, ()) {
  SystolicArray a = any_array();
  a.late_words = LateWords::kOnce;
  a.output_words = 1 << 20;  // results never drain
  const MatrixProduct p = any_product();
  const std::int64_t before = run_systolic(a, p).cycles;
  a.read_bandwidth += *rc::gen::inRange(1, 20);
  RC_ASSERT(run_systolic(a, p).cycles <= before);
}

}  // namespace systolic_law_test
}  // namespace orrery
