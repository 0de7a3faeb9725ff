#include "orrery/scenario/kinds/training/training_breakdown.h"

#include <algorithm>
#include <string>
#include <utility>

#include "orrery/training/schedules/job_schedule.h"

namespace orrery {
namespace {

// Suffix of the name of an op; both gradients are one row.
std::string_view suffix(TrainingPass pass) {
  return pass == TrainingPass::kForward     ? ""
         : pass == TrainingPass::kRecompute ? " again"
                                            : " grad";
}

// A row of the breakdown for a time that belongs to no op.
KernelRow overhead(const char* name, const char* part, const char* bound, Seconds time,
                   const Estimate<Seconds>& whole) {
  KernelRow row;
  row.phase = "iteration";
  row.name = name, row.part = part, row.bound = bound;
  row.time = {time, whole.shared, whole.own, whole.origin};
  row.share = time / whole.value;
  return row;
}

// The rows of the ops of a stage: each kind of op of each pass is one.
class OpRows {
 public:
  // `total`: the time of the iteration, of which rows have shares.
  OpRows(std::vector<KernelRow>& rows, Seconds total) : rows_(rows), total_(total) {}

  // Adds an op that runs `repeats` times, each time `factor` of the time in the term.
  void add(const TrainingTerm& term, double repeats, double factor);

  // Adds the shares of the data sheet's peaks that the rows reach. A value exceeds 1 if the stack
  // fuses an op that is counted separately, because not all of its bytes are moved; such a row has
  // no share. REQUIRES that no add() follows.
  void compare_with_peaks();

 private:
  // The lower bound of the time of a row that is not bound by arithmetic.
  static constexpr Seconds kNoPeak{-1};

  std::vector<KernelRow>& rows_;
  const Seconds total_;
  std::vector<Seconds> least_;  // of each row, by the data sheet's peaks; negative: not comparable
};

void OpRows::add(const TrainingTerm& term, double repeats, double factor) {
  const TrainingOp& op = term.op;
  const std::string name = std::string(op.name) + std::string(suffix(op.pass));
  const Estimate<Seconds> time = term.time.scaled(repeats * factor);
  const Seconds least = term.least < term.time.value ? term.least * repeats : kNoPeak;
  const double calls = op.count * repeats;
  const auto row = std::find_if(rows_.begin(), rows_.end(), [&](const KernelRow& r) {
    return r.name == name && r.part == to_text(op.cost);
  });
  if (row == rows_.end()) {
    KernelRow fresh;
    fresh.phase = "iteration";
    fresh.name = name;
    fresh.part = std::string(to_text(op.cost));
    fresh.sizes = describe(op.op);
    fresh.calls = calls;
    fresh.flops = flops(op.op) * calls, fresh.bytes = bytes(op.op) * calls;
    fresh.time = time;
    fresh.share = time.value / total_;
    fresh.bound = std::string(to_text(term.bound));
    rows_.push_back(std::move(fresh));
    least_.push_back(least);
    return;
  }
  row->calls += calls;
  row->time.value += time.value;
  row->flops += flops(op.op) * calls, row->bytes += bytes(op.op) * calls;
  row->share += time.value / total_;
  if (const std::string more = describe(op.op); row->sizes.find(more) == std::string::npos)
    row->sizes += "; " + more;
  Seconds& sum = least_[static_cast<std::size_t>(row - rows_.begin())];
  sum = sum < Seconds(0) || least < Seconds(0) ? kNoPeak : sum + least;
}

void OpRows::compare_with_peaks() {
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const double of_peak = least_[i] / rows_[i].time.value;
    if (least_[i] > Seconds(0) && of_peak <= 1) rows_[i].of_peak = of_peak;
  }
}

// The products of an op have its bare name; what else it does is named by its part.
void label_by_part(std::vector<KernelRow>& rows) {
  label_repeated(rows, 0, [&rows](std::size_t row) {
    for (const TrainingCost main :
         {TrainingCost::kProducts, TrainingCost::kExperts, TrainingCost::kHead})
      if (rows[row].part == to_text(main)) return std::string();
    return rows[row].part;
  });
}

// Shortens the rows of the exchange of experts to its exposed time: pairs of micro-batches hide a
// part of it.
void hide_exchange(std::vector<KernelRow>& rows, Seconds exposed) {
  const auto is_exchange = [](const KernelRow& r) {
    return r.part == to_text(TrainingCost::kExpertExchange);
  };
  Seconds exchanged;
  for (const KernelRow& r : rows)
    if (is_exchange(r)) exchanged += r.time.value;
  for (KernelRow& r : rows)
    if (is_exchange(r) && exposed < exchanged)
      r.time.value *= exposed / exchanged, r.share *= exposed / exchanged;
}

// The idle time of a stage with these rows that the question names: all that is no work.
Seconds idle_time(const std::vector<KernelRow>& rows, const IterationTime& t) {
  Seconds idle = t.total - t.sends - t.sharding - t.reduce - t.gather - t.optimizer - t.launches -
                 t.host - t.stragglers;
  for (const KernelRow& r : rows) idle -= r.time.value;
  constexpr double kRounding = 1e-9;  // of the sums
  return idle < kRounding * t.total ? Seconds(0) : idle;
}

}  // namespace

void add_rows(const TimedIteration& timed, std::optional<int> wanted, Point& p) {
  const auto& [job, stack, iterations, parts, t, k, whole] = timed;
  std::vector<KernelRow>& rows = p.kernels;
  const double copies = job.plan.pp > 1 ? schedule_of(job.plan).copies() : 1;
  const double repeats = static_cast<double>(job.micro_batches()) / copies;
  OpRows ops(rows, t.total);
  for (const int c : wanted ? chunks_of_stage(job, *wanted) : slowest_chunks(parts, k, job)) {
    for (const TrainingTerm& term : iterations.terms(job, stack, c))
      ops.add(term, repeats,
              cost_factor({parts, k, job}, parts.of_chunk(c), term.op.cost, term.op.pass));
  }
  ops.compare_with_peaks();
  label_by_part(rows);
  hide_exchange(rows, t.work[at(TrainingCost::kExpertExchange)]);
  const Seconds idle = wanted ? idle_time(rows, t) : t.bubble;
  const auto add = [&](const char* name, const char* part, const char* bound, Seconds time) {
    if (time > Seconds(0)) rows.push_back(overhead(name, part, bound, time, timed.whole));
  };
  add("bubble", "pipeline", "pipeline", idle);
  add("pipeline_sends", "pipeline", "network", t.sends);
  add("weight_sharding", "data", "network", t.sharding);
  add("gradient_reduce", "data", "network", t.reduce);
  add("weight_gather", "data", "network", t.gather);
  add("optimizer", "optimizer", "memory", t.optimizer);
  add("launches", "host", "host", t.launches);
  add("host", "host", "host", t.host);
  add("slowest_rank", "stragglers", "network", t.stragglers);
}

}  // namespace orrery
