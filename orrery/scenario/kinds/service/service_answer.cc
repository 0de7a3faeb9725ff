#include "orrery/scenario/kinds/service/service_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "orrery/base/estimate.h"
#include "orrery/scenario/kinds/service/service_metrics.h"

namespace orrery {
namespace {

// The interval's 50 % bounds from its 90 % ones: errors of steps are log-normal.
double half_way(double value, double bound) {
  constexpr double kRatio = 0.6744897501960817 / 1.6448536269514722;  // normal quantiles 0.75, 0.95
  return value > 0 && bound > 0 ? value * std::pow(bound / value, kRatio)
                                : value + (bound - value) * kRatio;
}

const Metric* find(const std::vector<Metric>& in, std::string_view name) {
  const auto at =
      std::find_if(in.begin(), in.end(), [name](const Metric& m) { return m.name == name; });
  return at == in.end() ? nullptr : &*at;
}

// Metrics of the same engines if each of them did both prefill and decode.
void add_collocated(const std::vector<Metric>& together, std::vector<Metric>& metrics) {
  for (const char* name : {"ttft", "ttft_p50", "ttft_p90", "ttft_p99", "tpot", "tpot_p50",
                           "tpot_p90", "tpot_p99", "goodput"}) {
    const Metric* at = find(together, name);
    if (at == nullptr) continue;
    metrics.push_back(exact(*at, at->value));
    metrics.back().name = "collocated_" + at->name;
    metrics.back().subject = Subject::kOther;
  }
}

void note_refused(const SimulationResult& r, const SimulationConfig& config, Point& p) {
  const auto with = [&r](Outcome outcome) {
    return std::count_if(r.records.begin(), r.records.end(),
                         [outcome](const RequestRecord& q) { return q.outcome == outcome; });
  };
  if (const auto n = with(Outcome::kTooLong); n > 0)
    p.notes.push_back(fmt::format(
        "{} of {} requests were rejected: prompt and output exceed {} tokens (max_model_len)", n,
        r.records.size(), config.replica.kv.max_model_len));
  if (const auto n = with(Outcome::kNeverFits); n > 0)
    p.notes.push_back(fmt::format("{} of {} requests were rejected: longer than the whole KV cache",
                                  n, r.records.size()));
}

// The requests of one simulation.
std::vector<RequestRow> request_rows(const SimulationResult& r) {
  constexpr const char* kOutcomes[] = {"done", "too long", "never fits", "unfinished"};
  std::vector<RequestRow> rows;
  rows.reserve(r.records.size());
  for (const RequestRecord& q : r.records) {
    RequestRow row;
    row.arrival = Seconds(q.arrival.seconds());
    row.input = q.input;
    row.output = q.output;
    row.outcome = kOutcomes[static_cast<std::size_t>(q.outcome)];
    row.replica = q.replica;
    if (q.outcome == Outcome::kDone) {
      row.front_end = (q.queued - q.arrival).time();
      row.queue = (q.scheduled - q.queued).time();
      row.ttft = q.ttft();
      row.tpot = q.output > 1 ? q.tpot() : Seconds(0);
      row.e2e = q.e2e();
      row.cached = q.cached;
      row.evictions = q.evictions;
      row.stalls = q.stalls;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

StepRow step_row(const StepRecord& s) {
  StepRow row;
  row.start = Seconds(s.start.seconds()), row.end = Seconds(s.end.seconds());
  row.engine = s.engine, row.decodes = s.decodes, row.prompts = s.prompts;
  row.prompt_tokens = s.prompt_tokens;
  row.running = s.running, row.waiting = s.waiting, row.kv_use = s.kv_use;
  return row;
}

}  // namespace

bool compared_with_collocated(const SimulationConfig& config) {
  return config.replica.role == Role::kPrefill && !config.autoscale.on();
}

SimulationConfig collocated(SimulationConfig config) {
  config.replica.role = Role::kServe;
  for (PoolConfig& p : config.others) p.replica.role = Role::kServe;
  config.router = config.decode_router;
  return config;
}

StepScale fast_steps() { return {1, normal_quantile(0.05)}; }
StepScale slow_steps() { return {1, normal_quantile(0.95)}; }

Batch usual_decode(const SimulationConfig& config) {
  return {{{std::min<std::int64_t>(32, config.replica.engine.scheduler.max_num_seqs), 1, 1024}}};
}

Origin step_origin(const StepModel& steps, const SimulationConfig& config) {
  return steps.time(usual_decode(config)).total.origin;
}

void set_interval(Metric& m, double a, double b) {
  m.low90 = std::min({a, b, m.value});
  m.high90 = std::max({a, b, m.value});
  m.low50 = half_way(m.value, m.low90);
  m.high50 = half_way(m.value, m.high90);
}

void answer_service(const SimulatedService& simulated, const RunOptions& options,
                    std::vector<Job> others, Point& point) {
  const ServiceQuestion& service = simulated.question;
  const SimulationConfig& config = simulated.config;
  const RequestLoad& load = simulated.load;
  const MakeClocks& clocks = simulated.clocks;
  const UseOfGpus& use = simulated.use;
  const PlainService* plain = simulated.plain;
  const auto metrics_of = [&](const SimulationConfig& c, StepScale scale) {
    // The clocks are gone before the metrics, which use their memory of steps.
    const SimulationResult run = simulate(c, load, clocks(scale).view());
    return service_metrics(service_figures(service.slo, service.margins, c, run), run, use);
  };
  StepLog log;
  SimulationConfig logged = config;
  if (options.steps) logged.steps = &log;
  const bool apart = compared_with_collocated(config);
  SimulationResult result, alone;
  ServiceFigures figures;
  std::vector<Metric> metrics, together, fast, slow;
  std::optional<FleetEnergy> energy;
  std::vector<Job> jobs = {[&] {
    result = simulate(logged, load, clocks({1, options.deviations}).view());
    figures = service_figures(service.slo, service.margins, config, result);
    metrics = service_metrics(figures, result, use, &energy, options.breakdown);
  }};
  if (plain)
    jobs.emplace_back([&] { alone = simulate(plain->config, load, plain->clocks(1).view()); });
  if (apart) jobs.emplace_back([&] { together = metrics_of(collocated(config), 1); });
  if (options.intervals) {
    jobs.emplace_back([&] { fast = metrics_of(config, fast_steps()); });
    jobs.emplace_back([&] { slow = metrics_of(config, slow_steps()); });
  }
  std::move(others.begin(), others.end(), std::back_inserter(jobs));
  side_by_side(jobs, static_cast<std::int64_t>(load.requests.size()));

  note_refused(result, config, point);
  if (service.slo.any()) point.meets_slo = figures.meet_slo;
  auto detail = std::make_shared<ServiceDetail>();
  if (options.requests) detail->requests = request_rows(result);
  for (const StepRecord& s : log) detail->steps.push_back(step_row(s));
  if (plain) add_speedup(speedup(service.margins, alone, result), metrics);
  if (apart) add_collocated(together, metrics);
  for (Metric& m : metrics) {
    if (m.name != "requests") m.origin = simulated.origin;
  }
  if (options.intervals) {
    const auto named = [](const std::vector<Metric>& in, const Metric& m) {
      const Metric* other = find(in, m.name);
      return other ? other->value : m.value;
    };
    for (Metric& m : metrics) {
      set_interval(m, named(fast, m), named(slow, m));
      if (m.subject == Subject::kFirstToken) widen(m, simulated.ttft_error);
      if (m.subject == Subject::kCost) widen(m, use.price.error);
    }
  }
  if (energy) {
    use.power.widen(*energy, metrics);
    use.power.note(*energy, point.notes);
    point.energy = energy->total().parts.rows();
    if (options.breakdown)
      point.energy_by_kernel = rows_by_kind(point.energy, energy->total().kinds);
    point.energy_of = "run";
    if (options.steps) detail->power = {energy->window, energy->end, energy->series};
  }
  point.metrics.insert(point.metrics.end(), metrics.begin(), metrics.end());
  if (options.requests || options.steps) point.detail = std::move(detail);
}

}  // namespace orrery
