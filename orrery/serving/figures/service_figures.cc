#include "orrery/serving/figures/service_figures.h"

#include <algorithm>
#include <numeric>

#include "orrery/base/quantile.h"

namespace orrery {
namespace {

// quantile() of a sample that is sorted and not empty.
double quantile_of_sorted(const std::vector<double>& sample, double p) {
  const double position = p * static_cast<double>(sample.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const double fraction = position - static_cast<double>(below);
  if (fraction == 0) return sample[below];
  return sample[below] + fraction * (sample[below + 1] - sample[below]);
}

template <class Q>
std::optional<Distribution<Q>> distribution(std::vector<double> sample,
                                            std::vector<double> places) {
  if (sample.empty()) return std::nullopt;
  sort_sample(sample);
  const double sum = std::accumulate(sample.begin(), sample.end(), 0.0);
  Distribution<Q> out{Q(sum / real(sample.size())), {}};
  for (const double p : places)
    out.percentiles.emplace_back(p, quantile_of_sorted(sample, p / 100));
  return out;
}

// Percentiles of times in s, and the one at `place` if a limit holds there. Clears `met` if they
// miss the limit.
TimeDistribution times(std::vector<double> seconds, Seconds limit, double place, bool& met) {
  std::vector<double> places = {50, 90, 99};
  if (limit > Seconds(0) && std::find(places.begin(), places.end(), place) == places.end())
    places.push_back(place);
  auto out = distribution<Seconds>(std::move(seconds), std::move(places));
  if (out)
    for (const auto& [at, time] : out->percentiles)
      met = met && (at != place || TimeLimits::kept(limit, time));
  return out;
}
TimeDistribution times(std::vector<double> seconds) {
  bool met = true;
  return times(std::move(seconds), Seconds(0), 0, met);
}

// Times of requests in s.
struct Sample {
  std::vector<double> ttft, tpot, e2e;

  void add(const RequestRecord& q) {
    ttft.push_back(q.ttft().value());
    if (q.output > 1) tpot.push_back(q.tpot().value());
    e2e.push_back(q.e2e().value());
  }
};

ServiceFigures::Class class_times(const SloClass& c, Sample sample, bool& met) {
  ServiceFigures::Class t;
  t.name = c.name;
  if (c.ttft > Seconds(0)) t.ttft = times(std::move(sample.ttft), c.ttft, c.percentile, met);
  if (c.tpot > Seconds(0)) t.tpot = times(std::move(sample.tpot), c.tpot, c.percentile, met);
  if (c.e2e > Seconds(0)) t.e2e = times(std::move(sample.e2e), c.e2e, c.percentile, met);
  return t;
}

// Requests in the schedulers' queues on average, in each quarter of the time.
std::array<double, 4> queue_depth(std::span<const RequestRecord> counted, SimTime first,
                                  SimTime last) {
  std::array<double, 4> depth{};
  const double from = first.seconds(), width = (last - first).seconds() / 4;
  for (const RequestRecord& q : counted) {
    if (q.outcome != Outcome::kDone) continue;
    for (std::size_t i = 0; i < depth.size(); ++i) {
      const double start = from + static_cast<double>(i) * width;
      const double overlap =
          std::min(q.scheduled.seconds(), start + width) - std::max(q.queued.seconds(), start);
      depth[i] += std::max(0.0, overlap) / width;
    }
  }
  return depth;
}

// The figures of the counted requests.
void add_requests(const ServiceLevels& levels, std::span<const RequestRecord> counted,
                  ServiceFigures& f) {
  Sample all;
  std::vector<Sample> of_class(levels.classes.size());
  std::map<std::int32_t, std::vector<double>> ttft_of;  // by priority
  std::vector<double> queue;
  Seconds front_end;
  std::int64_t good = 0;
  SimTime first = kNever, last;
  for (std::vector<double>* sample : {&all.ttft, &all.tpot, &all.e2e, &queue})
    sample->reserve(counted.size());
  const bool several = std::any_of(counted.begin(), counted.end(), [&](const RequestRecord& q) {
    return q.priority != counted.front().priority;
  });
  f.counted = std::ssize(counted);
  for (const RequestRecord& q : counted) {
    if (q.outcome != Outcome::kDone) continue;
    ++f.done;
    all.add(q);
    if (several) ttft_of[q.priority].push_back(q.ttft().value());
    queue.push_back((q.scheduled - q.queued).seconds());
    front_end += (q.queued - q.arrival).time();
    bool meets = levels.kept_by(q);
    const auto own = std::find_if(levels.classes.begin(), levels.classes.end(),
                                  [&q](const SloClass& c) { return c.has(q); });
    if (own != levels.classes.end()) {
      of_class[static_cast<std::size_t>(own - levels.classes.begin())].add(q);
      meets = meets && own->kept_by(q);
    }
    good += meets;
    f.input_tokens += q.input;
    f.output_tokens += q.output;
    f.cached_tokens += q.cached;
    first = std::min(first, q.arrival);
    last = std::max(last, q.finished);
  }
  f.meet_slo = f.counted > 0 && f.done == f.counted;
  const auto limited = [&](std::vector<double>& sample, Seconds limit,
                           const std::optional<double>& place) {
    return times(std::move(sample), limit, place.value_or(levels.percentile), f.meet_slo);
  };
  f.times = {limited(all.ttft, levels.ttft, levels.ttft_percentile),
             limited(all.tpot, levels.tpot, levels.tpot_percentile),
             limited(all.e2e, levels.e2e, levels.e2e_percentile)};
  if (ttft_of.size() > 1)
    for (auto& [priority, ttft] : ttft_of) f.ttft_of_priority[priority] = *times(std::move(ttft));
  for (std::size_t i = 0; i < of_class.size(); ++i)
    f.classes.push_back(class_times(levels.classes[i], std::move(of_class[i]), f.meet_slo));
  f.queue = times(std::move(queue));
  if (f.done > 0) f.front_end = front_end / real(f.done);
  if (f.done > 0 && last > first) {
    const double s = (last - first).seconds();
    f.rates = {Seconds(s), real(f.done) / s, f.output_tokens / s,
               (f.input_tokens + f.output_tokens) / s, queue_depth(counted, first, last)};
  }
  if (!levels.any() || counted.empty()) return;
  f.attainment = real(good) / real(f.counted);
  if (f.rates) f.goodput = real(good) / f.rates->duration.value();
}

// The use of the engines and of their KV memory, and what techniques do.
void add_engines(const SimulationConfig& config, const SimulationResult& r, ServiceFigures& f) {
  const ReplicaConfig& first = config.replica;
  const std::int64_t block = first.engine.memory.block_size;
  const ReplicaCounts& sum = f.counts;
  double block_seconds = 0;
  Seconds copying, loading;
  for (std::size_t p = 0; p < config.pools(); ++p) {
    const ReplicaConfig& e = config.pool(p).replica;
    const ReplicaCounts c = r.of_pool(p);
    block_seconds += c.busy.value() * real(e.kv_blocks);
    copying += e.host_block_copy.time() * real(c.host_fetches);
    loading += e.adapter_load.time() * real(c.adapter_loads);
  }
  if (f.engine_time > Seconds(0)) {
    f.busy = sum.busy / f.engine_time;
    f.running = real(sum.sequence_steps) / real(std::max<std::int64_t>(sum.steps, 1));
    f.kv_use = block_seconds > 0 ? sum.used_block_seconds / block_seconds : 0;
  }
  const double asked = real(sum.prompt_tokens + sum.cached_tokens);
  if (first.engine.scheduler.prefix_caching && f.input_tokens > 0) {
    // A beam search asks for its prompts again and again.
    f.prefix_hits =
        config.beams.on() ? real(sum.cached_tokens) / asked : f.cached_tokens / f.input_tokens;
  }
  if (first.speculation.on() && sum.verifications > 0) {
    f.accepted_length = 1 + real(sum.accepted) / real(sum.verifications);
    f.acceptance_rate = real(sum.accepted) / real(sum.drafts);
  }
  if (first.adapters() && sum.steps > 0) f.adapter_loading = loading / sum.busy;
  if (sum.used_block_seconds > 0)
    f.kv_waste = sum.slack_token_seconds / (sum.used_block_seconds * real(block));
  if (sum.busy <= Seconds(0)) return;
  if (first.kv.reserve != KvOptions::Reserve::kNothing)
    f.kv_stranded = sum.stranded_block_seconds / block_seconds;
  if (first.kv.host_blocks > 0) {
    f.host_hits = real(sum.host_fetches * block) / asked;
    f.host_copy = copying / sum.busy;
  }
  if (first.kv.disk_blocks > 0) {
    f.disk_hits = real(sum.disk_fetches * block) / asked;
    f.disk_waits = sum.disk_waits / sum.busy;
  }
}

// Transfers between pools, and how a fleet changes.
void add_cluster(const SimulationConfig& config, const SimulationResult& r, ServiceFigures& f) {
  if (r.transfers > 0) {
    std::vector<double> moved;
    for (const RequestRecord& q : r.records) {
      if (q.outcome == Outcome::kDone && q.prefill_replica >= 0 && q.output > 1)
        moved.push_back(q.transfer.seconds());
    }
    f.transfer = times(std::move(moved));
    f.transfer_alone = r.link_time / real(r.transfers);
    for (std::size_t p = 0; p < config.pools(); ++p) {
      ServiceFigures::Pool& pool = f.pools.emplace_back();
      pool.prefills = config.pool(p).replica.role == Role::kPrefill;
      pool.busy = r.of_pool(p).busy / r.engine_times[p];
      if (config.autoscale.on()) pool.engines = r.engine_times[p] / r.end.time();
    }
  }
  if (config.autoscale.on() && r.end > SimTime{})
    f.scaling = {f.engine_time / r.end.time(), r.most_engines, r.starts, r.gpu_time};
  if (!config.failures.any()) return;
  f.losses = {r.failures, 0};
  for (const RequestRecord& q : r.records) f.losses->retries += q.retries;
}

}  // namespace

ServiceFigures service_figures(const ServiceLevels& levels, Margins margins,
                               const SimulationConfig& config, const SimulationResult& r) {
  ServiceFigures f;
  f.counts = r.total();
  f.engine_time = r.engine_time();
  add_requests(levels, margins.counted(r.records), f);
  if (r.gaps.count() > 0) {
    f.gaps = {r.gaps.mean(), {}};
    for (const double p : {50, 90, 99})
      f.gaps->percentiles.emplace_back(p, r.gaps.quantile(p / 100));
    f.longest_gap = r.gaps.largest();
  }
  add_engines(config, r, f);
  add_cluster(config, r, f);
  return f;
}

Speedup speedup(Margins margins, const SimulationResult& plain, const SimulationResult& result) {
  std::vector<double> tpot, e2e;
  Seconds plain_tpot, own_tpot;
  const auto before = margins.counted(plain.records), after = margins.counted(result.records);
  for (std::size_t i = 0; i < after.size(); ++i) {
    const RequestRecord &a = before[i], &b = after[i];
    if (a.outcome != Outcome::kDone || b.outcome != Outcome::kDone) continue;
    e2e.push_back(a.e2e() / b.e2e());
    if (b.output < 2 || b.tpot() == Seconds(0)) continue;
    tpot.push_back(a.tpot() / b.tpot());
    plain_tpot += a.tpot();
    own_tpot += b.tpot();
  }
  Speedup out;
  out.tpot = distribution<double>(std::move(tpot), {10, 50, 90});
  if (const auto d = distribution<double>(std::move(e2e), {})) out.e2e = d->mean;
  if (plain_tpot > Seconds(0)) out.tpot_overhead = own_tpot / plain_tpot - 1;
  return out;
}

}  // namespace orrery
