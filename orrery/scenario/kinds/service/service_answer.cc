#include "orrery/scenario/kinds/service/service_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <span>
#include <utility>

#include "orrery/base/estimate.h"
#include "orrery/base/quantile.h"
#include "orrery/scenario/kinds/service/cluster_metrics.h"
#include "orrery/scenario/kinds/service/slo_classes.h"
#include "orrery/scenario/kinds/service/technique_metrics.h"

namespace orrery {
namespace {

constexpr Seconds kMs = milliseconds(1);

// The times of the counted requests, as samples in ms.
struct Times {
  explicit Times(const ServiceQuestion& s) : classes(s.slo.classes) {}

  std::vector<double> ttft, tpot, e2e, queue;  // queue: from the front end's end to the first step
  double front_end = 0;                        // sum, of those done
  std::int64_t counted = 0, good = 0;
  double input = 0, output = 0, cached = 0;
  SimTime first = kNever, last;
  std::vector<std::pair<SimTime, SimTime>> waits;       // queued, scheduled
  std::map<std::int32_t, std::vector<double>> ttft_of;  // by priority, where there are several
  ClassTimes classes;
};

bool within(Seconds time, Seconds limit) { return limit == Seconds(0) || time <= limit; }

Times times_of(const ServiceQuestion& s, const SimulationResult& r) {
  Times t(s);
  const auto all = static_cast<std::int64_t>(r.records.size());
  const std::int64_t first = std::min(s.warmup, all), last = std::max(first, all - s.cooldown);
  const std::span<const RequestRecord> counted(r.records.data() + first,
                                               static_cast<std::size_t>(last - first));
  const bool several = std::any_of(counted.begin(), counted.end(), [&](const RequestRecord& q) {
    return q.priority != counted.front().priority;
  });
  for (std::vector<double>* sample : {&t.ttft, &t.tpot, &t.e2e, &t.queue})
    sample->reserve(counted.size());
  t.waits.reserve(counted.size());
  for (const RequestRecord& q : counted) {
    ++t.counted;
    if (q.outcome != Outcome::kDone) continue;
    t.ttft.push_back(q.ttft() / kMs);
    if (several) t.ttft_of[q.priority].push_back(q.ttft() / kMs);
    t.e2e.push_back(q.e2e() / kMs);
    t.queue.push_back((q.scheduled - q.queued).time() / kMs);
    t.front_end += (q.queued - q.arrival).time() / kMs;
    t.waits.emplace_back(q.queued, q.scheduled);
    if (q.output > 1) t.tpot.push_back(q.tpot() / kMs);
    const bool of_class = t.classes.add(q);
    t.good += of_class && within(q.ttft(), s.slo.ttft) && within(q.e2e(), s.slo.e2e) &&
              (q.output < 2 || within(q.tpot(), s.slo.tpot));
    t.input += q.input;
    t.output += q.output;
    t.cached += q.cached;
    t.first = std::min(t.first, q.arrival);
    t.last = std::max(t.last, q.finished);
  }
  return t;
}

// quantile() of a sample that is sorted and not empty.
double quantile_of_sorted(const std::vector<double>& sample, double p) {
  const double position = p * static_cast<double>(sample.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const double fraction = position - static_cast<double>(below);
  if (fraction == 0) return sample[below];
  return sample[below] + fraction * (sample[below + 1] - sample[below]);
}

// `asked`: a percentile that is told beside the usual ones.
// `of`: some requests, by the end of the name of their figures: "chat" of "ttft_class_chat".
void add_distribution(std::vector<Metric>& m, FigureRef figure, std::vector<double> sample,
                      std::optional<double> asked = std::nullopt, const std::string& of = "") {
  if (sample.empty()) return;
  sort_sample(sample);
  double sum = 0;
  for (double v : sample) sum += v;
  m.push_back(exact_metric(figure, sum / static_cast<double>(sample.size())));
  m.back().name += of;
  const std::string name = m.back().name;
  std::vector<double> percentiles = {50, 90, 99};
  if (asked && std::find(percentiles.begin(), percentiles.end(), *asked) == percentiles.end())
    percentiles.push_back(*asked);
  for (const double p : percentiles) {
    m.push_back(percentile_metric(figure, p, quantile_of_sorted(sample, p / 100)));
    m.back().name = percentile_name(name, p);
  }
}

// First tokens of each priority, where there are several.
void add_priorities(std::vector<Metric>& m, const Times& t) {
  if (t.ttft_of.size() < 2) return;
  for (const auto& [priority, sample] : t.ttft_of)
    add_distribution(m, "ttft_priority_", sample, std::nullopt, fmt::to_string(priority));
}

// Requests in the schedulers' queues on average, in each quarter of the time.
std::array<double, 4> queue_depth(const Times& t) {
  std::array<double, 4> depth{};
  const double from = t.first.seconds(), width = (t.last - t.first).seconds() / 4;
  for (const auto& [queued, scheduled] : t.waits) {
    for (std::size_t i = 0; i < depth.size(); ++i) {
      const double start = from + static_cast<double>(i) * width;
      const double overlap =
          std::min(scheduled.seconds(), start + width) - std::max(queued.seconds(), start);
      depth[i] += std::max(0.0, overlap) / width;
    }
  }
  return depth;
}

// The interval's 50 % bounds from its 90 % ones: errors of steps are log-normal.
double half_way(double value, double bound) {
  constexpr double kRatio = 0.6744897501960817 / 1.6448536269514722;  // normal quantiles 0.75, 0.95
  return value > 0 && bound > 0 ? value * std::pow(bound / value, kRatio)
                                : value + (bound - value) * kRatio;
}

// Metrics of the same engines if each of them did both prefill and decode.
void add_collocated(const std::vector<Metric>& together, std::vector<Metric>& metrics) {
  const auto find = [](const std::vector<Metric>& in, std::string_view name) {
    return std::find_if(in.begin(), in.end(), [&](const Metric& m) { return m.name == name; });
  };
  for (const char* name : {"ttft", "ttft_p50", "ttft_p90", "ttft_p99", "tpot", "tpot_p50",
                           "tpot_p90", "tpot_p99", "goodput"}) {
    const auto at = find(together, name);
    if (at == together.end()) continue;
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

}  // namespace

bool meets_slo(const ServiceQuestion& s, const SimulationResult& r) {
  const Times t = times_of(s, r);
  if (t.counted == 0 || static_cast<std::int64_t>(t.e2e.size()) < t.counted) return false;
  const auto met = [&s](const std::vector<double>& sample, Seconds limit,
                        const std::optional<double>& percentile) {
    const double p = percentile.value_or(s.slo.percentile) / 100;
    return sample.empty() || within(quantile(sample, p) * kMs, limit);
  };
  return met(t.ttft, s.slo.ttft, s.slo.ttft_percentile) &&
         met(t.tpot, s.slo.tpot, s.slo.tpot_percentile) &&
         met(t.e2e, s.slo.e2e, s.slo.e2e_percentile) && t.classes.kept();
}

std::vector<Metric> service_metrics(const ServiceQuestion& s, const SimulationConfig& config,
                                    const SimulationResult& r, const UseOfGpus& use,
                                    std::optional<FleetEnergy>* keep, bool by_kernel) {
  Times t = times_of(s, r);
  const ReplicaCounts sum = r.total();
  const GpuWork& work = use.work;
  std::vector<Metric> m;
  const auto put = [&](FigureRef figure, double v) { m.push_back(exact_metric(figure, v)); };
  const auto done = static_cast<double>(t.e2e.size());
  const auto held = [&s](Seconds limit, const std::optional<double>& own) {
    return limit > Seconds(0) ? std::optional(own.value_or(s.slo.percentile)) : std::nullopt;
  };
  add_distribution(m, "ttft", std::move(t.ttft), held(s.slo.ttft, s.slo.ttft_percentile));
  add_priorities(m, t);
  add_distribution(m, "tpot", std::move(t.tpot), held(s.slo.tpot, s.slo.tpot_percentile));
  if (r.gaps.count() > 0) {
    put("itl", r.gaps.mean() / kMs);
    m.push_back(percentile_metric("itl", 50, r.gaps.quantile(0.5) / kMs));
    m.push_back(percentile_metric("itl", 90, r.gaps.quantile(0.9) / kMs));
    m.push_back(percentile_metric("itl", 99, r.gaps.quantile(0.99) / kMs));
    put("itl_max", r.gaps.largest() / kMs);
  }
  add_distribution(m, "e2e", std::move(t.e2e), held(s.slo.e2e, s.slo.e2e_percentile));
  t.classes.each([&m](FigureRef figure, const std::string& name, const std::vector<double>& sample,
                      double held_at) { add_distribution(m, figure, sample, held_at, name); });
  add_distribution(m, "queue", std::move(t.queue));
  if (done > 0) put("front_end", t.front_end / done);
  const double span = done > 0 ? (t.last - t.first).seconds() : 0;
  if (span > 0) {
    put("duration", span);
    put("request_throughput", done / span);
    put("output_throughput", t.output / span);
    put("total_throughput", (t.input + t.output) / span);
    const std::array<double, 4> depth = queue_depth(t);
    constexpr FigureRef kQuarters[] = {"waiting_q1", "waiting_q2", "waiting_q3", "waiting_q4"};
    for (std::size_t i = 0; i < depth.size(); ++i) put(kQuarters[i], depth[i]);
  }
  if (s.slo.any() && t.counted > 0) {
    put("slo_attainment", 100 * static_cast<double>(t.good) / static_cast<double>(t.counted));
    if (span > 0) put("goodput", static_cast<double>(t.good) / span);
  }
  if (const Seconds engine_time = r.engine_time(); engine_time > Seconds(0)) {
    const Seconds busy = sum.busy;
    put("busy", 100 * (busy / engine_time));
    if (work.known()) {
      put("mfu", 100 * (std::min(work.arithmetic(sum), busy) / engine_time));
      put("bandwidth_use", 100 * (std::min(work.traffic(sum), busy) / engine_time));
    }
    put("running", static_cast<double>(sum.sequence_steps) /
                       static_cast<double>(std::max<std::int64_t>(sum.steps, 1)));
    put("kv_use", 100 * kv_use(config, r));
  }
  put("steps", static_cast<double>(sum.steps));
  put("evictions", static_cast<double>(sum.evictions));
  put("stalls", static_cast<double>(sum.stalls));
  if (config.replica.engine.scheduler.prefix_caching && t.input > 0) {
    // A beam search asks for its prompts again and again.
    const auto found = static_cast<double>(sum.cached_tokens);
    put("prefix_hits",
        100 * (config.beams.on() ? found / (found + static_cast<double>(sum.prompt_tokens))
                                 : t.cached / t.input));
  }
  add_technique_metrics(config, r, m);
  add_cluster_metrics(config, r, m);
  std::optional<FleetEnergy> energy;
  if (use.power.known() && !r.windows.empty() && r.end > SimTime{}) {
    energy = use.power.energy(r, by_kernel);
    use.power.add_metrics(r, *energy, m);
  }
  add_cost_metrics(use.price, r, energy ? &*energy : nullptr,
                   {Seconds(span), t.input, t.output, done}, m);
  if (keep) *keep = std::move(energy);
  put("requests", static_cast<double>(t.counted));
  put("rejected", static_cast<double>(t.counted) - done);
  return m;
}

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

namespace {

StepRow step_row(const StepRecord& s) {
  StepRow row;
  row.start = Seconds(s.start.seconds()), row.end = Seconds(s.end.seconds());
  row.engine = s.engine, row.decodes = s.decodes, row.prompts = s.prompts;
  row.prompt_tokens = s.prompt_tokens;
  row.running = s.running, row.waiting = s.waiting, row.kv_use = s.kv_use;
  return row;
}

}  // namespace

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
    return service_metrics(service, c, run, use);
  };
  StepLog log;
  SimulationConfig logged = config;
  if (options.steps) logged.steps = &log;
  const bool apart = compared_with_collocated(config);
  SimulationResult result, alone;
  std::vector<Metric> metrics, together, fast, slow;
  std::optional<FleetEnergy> energy;
  std::vector<Job> jobs = {[&] {
    result = simulate(logged, load, clocks({1, options.deviations}).view());
    metrics = service_metrics(service, config, result, use, &energy, options.breakdown);
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
  if (service.slo.any()) point.meets_slo = meets_slo(service, result);
  auto detail = std::make_shared<ServiceDetail>();
  if (options.requests) detail->requests = request_rows(result);
  for (const StepRecord& s : log) detail->steps.push_back(step_row(s));
  if (plain) add_comparison(service, alone, result, metrics);
  if (apart) add_collocated(together, metrics);
  for (Metric& m : metrics) {
    if (m.name != "requests") m.origin = simulated.origin;
  }
  if (options.intervals) {
    const auto named = [](const std::vector<Metric>& in, const Metric& m) {
      const auto it =
          std::find_if(in.begin(), in.end(), [&](const Metric& o) { return o.name == m.name; });
      return it == in.end() ? m.value : it->value;
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
