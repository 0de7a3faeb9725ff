#include "orrery/accelerator/systolic/systolic_array.h"

#include <fmt/format.h>

#include <utility>

#include "orrery/accelerator/systolic/folds.h"
#include "orrery/accelerator/systolic/operand_memory.h"
#include "orrery/accelerator/systolic/result_memory.h"
#include "orrery/base/error.h"
#include "orrery/base/units.h"

namespace orrery {
namespace {

using Dataflow = SystolicDataflow;

// Counts are exact in doubles up to 2^53.
constexpr double kMostMultiplyAdds = 9007199254740992.0;

void check(const SystolicArray& a, const MatrixProduct& p) {
  const std::pair<const char*, std::int64_t> positive[] = {{"rows of the array", a.rows},
                                                           {"columns of the array", a.columns},
                                                           {"M", p.m},
                                                           {"N", p.n},
                                                           {"K", p.k},
                                                           {"read bandwidth", a.read_bandwidth},
                                                           {"write bandwidth", a.write_bandwidth}};
  for (const auto& [name, value] : positive) {
    if (value < 1) {
      throw InputError(fmt::format("systolic array: {} is {}, expected at least 1", name, value));
    }
  }
  if (real(p.m) * real(p.n) * real(p.k) > kMostMultiplyAdds) {
    throw InputError(
        fmt::format("systolic array: a product of {} x {} x {}, expected at most 2^53 "
                    "multiply-adds",
                    p.m, p.n, p.k));
  }
  const std::pair<const char*, std::int64_t> memories[] = {{"input memory", a.input_words},
                                                           {"filter memory", a.filter_words},
                                                           {"output memory", a.output_words}};
  for (const auto& [name, value] : memories) {
    if (value < 100) {
      throw InputError(
          fmt::format("systolic array: {} of {} words, expected at least 100", name, value));
    }
  }
}

// Words written by the array, with the tool's surplus for stationary outputs.
std::int64_t result_writes(const Folds& f, const MatrixProduct& p) {
  if (f.dataflow == Dataflow::kOutputStationary) {
    return p.m * p.n + f.count() * (f.rows.part + f.columns.part);
  }
  return p.m * p.n * f.rows.parts();
}

void count_reads(const Folds& f, const MatrixProduct& p, SystolicRun& run) {
  const std::int64_t mk = p.m * p.k, kn = p.k * p.n;
  switch (f.dataflow) {
    case Dataflow::kOutputStationary:
      run.input_reads = mk * f.columns.parts();
      run.filter_reads = kn * f.rows.parts();
      break;
    case Dataflow::kWeightStationary:
      run.input_reads = mk * f.columns.parts();
      run.filter_reads = kn;
      break;
    case Dataflow::kInputStationary:
      run.input_reads = mk;
      run.filter_reads = kn * f.columns.parts();
      break;
  }
  run.output_writes = result_writes(f, p);
}

// Words fetched in the stall-free mode by a memory that starts to collect anew whenever half of it
// has been filled.
class Collector {
 public:
  explicit Collector(std::int64_t memory_words) : capacity_(memory_words / 100 * 50) {}

  // `passes` over the same `words`, none of which the memory holds.
  void pass(std::int64_t words, std::int64_t passes) {
    if (words >= capacity_) {  // a word is gone before it is read again
      add(words * passes);
      return;
    }
    const std::int64_t room = capacity_ - held_;
    add(words);
    // The words before the memory started anew are fetched again.
    if (passes > 1 && words >= room) add(room);
  }
  std::int64_t fetched() const { return fetched_; }

 private:
  void add(std::int64_t words) {
    fetched_ += words;
    held_ = (held_ + words) % capacity_;
  }
  std::int64_t capacity_;
  std::int64_t held_ = 0, fetched_ = 0;
};

// `turns` over all words of an operand, one turn after the other.
std::int64_t collected(std::int64_t memory_words, std::int64_t words, std::int64_t turns) {
  Collector memory(memory_words);
  memory.pass(words, turns);
  return memory.fetched();
}

void count_collected(const SystolicArray& a, const MatrixProduct& p, const Folds& f,
                     SystolicRun& run) {
  const std::int64_t mk = p.m * p.k, kn = p.k * p.n, turns = f.columns.parts();
  switch (f.dataflow) {
    case Dataflow::kOutputStationary: {
      run.input_fetches = collected(a.input_words, mk, turns);
      // The columns of a fold are read again for each fold along the rows.
      Collector filter(a.filter_words);
      for (std::int64_t c = 0; c < turns; ++c) {
        filter.pass(p.k * f.columns.width(c), f.rows.parts());
      }
      run.filter_fetches = filter.fetched();
      break;
    }
    case Dataflow::kWeightStationary:
      run.input_fetches = collected(a.input_words, mk, turns);
      run.filter_fetches = kn;
      break;
    case Dataflow::kInputStationary:
      run.input_fetches = mk;
      run.filter_fetches = collected(a.filter_words, kn, turns);
      break;
  }
}

// The simulation goes from event to event: a read that misses, a word that starts a drain or finds
// the memory full. Between events the array runs, and memories only count.
class Simulation {
 public:
  Simulation(const SystolicArray& a, const MatrixProduct& p, const Folds& folds)
      : folds_(folds),
        input_(a.input_words, a.read_bandwidth, p.m * p.k, padded_input(), a.late_words),
        filter_(a.filter_words, a.read_bandwidth, p.k * p.n, padded_filter(), a.late_words),
        results_(a.output_words, a.stall_free ? a.columns : a.write_bandwidth),
        reads_(!a.stall_free) {}

  void run(SystolicRun& out) {
    std::int64_t start = 0;
    for (std::int64_t c = 0; c < folds_.columns.parts(); ++c) {
      for (std::int64_t r = 0; r < folds_.rows.parts(); ++r) {
        run_fold(r, c, start);
        start += folds_.cycles;
      }
    }
    results_.finish();
    out.stalls = stalls_;
    // The last cycle ends when its results are written, whatever its reads wait for.
    out.cycles = start - 1 + stalls_ - last_cycle_stalls_ + last_cycle_write_stalls_;
    out.output_drains = results_.drained();
    if (reads_) {
      out.input_fetches = input_.fetched();
      out.filter_fetches = filter_.fetched();
    }
  }

 private:
  bool output_stationary() const { return folds_.dataflow == Dataflow::kOutputStationary; }
  std::int64_t load() const { return output_stationary() ? 0 : folds_.rows.part; }
  StreamedOperand from_the_left() const { return {folds_.rows, folds_.time, load()}; }
  StreamedOperand from_the_top() const { return {folds_.columns, folds_.time, 0}; }
  StationaryOperand loaded() const { return {folds_.rows, folds_.columns}; }

  std::int64_t padded_input() const {
    return folds_.dataflow == Dataflow::kInputStationary ? loaded().padded_words()
                                                         : from_the_left().padded_words();
  }
  std::int64_t padded_filter() const {
    switch (folds_.dataflow) {
      case Dataflow::kOutputStationary:
        return from_the_top().padded_words();
      case Dataflow::kWeightStationary:
        return loaded().padded_words();
      case Dataflow::kInputStationary:
        break;
    }
    return from_the_left().padded_words();
  }

  OperandMemory& left_memory() {
    return folds_.dataflow == Dataflow::kInputStationary ? filter_ : input_;
  }
  OperandMemory& top_memory() {
    return folds_.dataflow == Dataflow::kInputStationary ? input_ : filter_;
  }

  // The next cycle, from `cycle` on, whose request from the top edge misses.
  std::int64_t next_miss_at_top(std::int64_t row, std::int64_t column, std::int64_t cycle) {
    const OperandMemory& memory = top_memory();
    if (output_stationary()) {
      return memory.next_miss(from_the_top(), column, cycle, folds_.cycles);
    }
    const StationaryOperand operand = loaded();
    if (memory.holds_all()) return folds_.cycles;
    for (cycle = std::max(cycle, operand.begin(row)); cycle < operand.end(); ++cycle) {
      if (!memory.holds(operand.at(row, column, cycle))) return cycle;
    }
    return folds_.cycles;
  }

  WordRange request_at_top(std::int64_t row, std::int64_t column, std::int64_t cycle) const {
    if (output_stationary()) {
      return cycle < from_the_top().end(column) ? from_the_top().at(column, cycle) : WordRange{};
    }
    const StationaryOperand operand = loaded();
    return cycle >= operand.begin(row) && cycle < operand.end() ? operand.at(row, column, cycle)
                                                                : WordRange{};
  }

  // The next cycle, from `cycle` on, in which a write has an effect on time. `before` words of the
  // fold have left before `cycle`; cycle 0 of the fold is at time `now`.
  std::int64_t next_drain(const LeavingResults& results, std::int64_t cycle, std::int64_t now) {
    const std::int64_t before = results.before(cycle), left = results.words() - before;
    if (left == 0) return folds_.cycles;
    const std::int64_t quiet = results_.quiet_words();
    if (quiet >= left) return folds_.cycles;
    std::int64_t drain = results.cycle_of(before + quiet);
    const std::int64_t free_again = results_.draining_until() - now;  // in cycles of the fold
    if (drain >= free_again) return drain;
    // A drain is still going on. Writes go on until the memory is full or the drain has ended.
    std::int64_t full = folds_.cycles;
    if (results_.words_until_full() <= left) {
      full = results.cycle_of(before + std::max<std::int64_t>(0, results_.words_until_full() - 1));
    }
    const std::int64_t last = results.start + results.height + results.width - 2;
    drain = free_again <= last ? std::max(free_again, cycle) : folds_.cycles;
    return std::min(full, drain);
  }

  void run_fold(std::int64_t row, std::int64_t column, std::int64_t start) {
    const LeavingResults results(folds_, row, column);
    const StreamedOperand left = from_the_left();
    std::int64_t cycle = 0;
    while (true) {
      std::int64_t event = next_drain(results, cycle, start + stalls_);
      if (reads_) {
        event = std::min(event, left_memory().next_miss(left, row, cycle, folds_.cycles));
        event = std::min(event, next_miss_at_top(row, column, cycle));
      }
      results_.write_quietly(results.before(event) - results.before(cycle));
      if (event >= folds_.cycles) return;
      handle(results, row, column, event, start);
      cycle = event + 1;
    }
  }

  // Cycle `cycle` of a fold: every request and write of it.
  void handle(const LeavingResults& results, std::int64_t row, std::int64_t column,
              std::int64_t cycle, std::int64_t start) {
    const std::int64_t now = start + cycle + stalls_;
    const std::int64_t write =
        results_.write(results.before(cycle + 1) - results.before(cycle), now);
    std::int64_t wait = write;
    if (reads_) {
      const StreamedOperand left = from_the_left();
      if (cycle >= left.begin() && cycle < left.end(row)) {
        wait = std::max(wait, left_memory().read(left.at(row, cycle), now));
      }
      const WordRange top = request_at_top(row, column, cycle);
      if (!top.empty()) wait = std::max(wait, top_memory().read(top, now));
    }
    stalls_ += wait;
    if (start + cycle + 1 == folds_.count() * folds_.cycles) {
      last_cycle_stalls_ = wait;
      last_cycle_write_stalls_ = write;
    }
  }

  const Folds& folds_;
  OperandMemory input_, filter_;
  ResultMemory results_;
  bool reads_;
  std::int64_t stalls_ = 0, last_cycle_stalls_ = 0, last_cycle_write_stalls_ = 0;
};

}  // namespace

SystolicRun run_systolic(const SystolicArray& array, const MatrixProduct& p) {
  check(array, p);
  const Folds folds(array, p);
  SystolicRun run;
  count_reads(folds, p, run);
  Simulation(array, p, folds).run(run);
  if (array.stall_free) count_collected(array, p, folds, run);

  const double units = real(array.rows * array.columns);
  const double macs = real(p.m) * real(p.n) * real(p.k);
  run.utilization = macs / (real(run.cycles) * units);
  run.mapping_efficiency =
      real(folds.rows.size) * real(folds.columns.size) / (units * real(folds.count()));
  const bool loads = folds.dataflow != Dataflow::kOutputStationary;
  const double counted = real(folds.cycles + (loads ? array.columns - 1 : 0));
  run.compute_utilization = run.mapping_efficiency * real(folds.time) / counted;
  return run;
}

}  // namespace orrery
