// Runner's part for simulated services: each layout and rate of a sweep is a point.
#include <fmt/format.h>

#include <cmath>

#include "orrery/memory/memory_model.h"
#include "orrery/scenario/runner.h"
#include "orrery/scenario/service_answer.h"
#include "orrery/serving/step_clock.h"

namespace orrery {
namespace {

SimulationConfig config_of(const Scenario& s, const Deployment& d, const Architecture& model,
                           const MemoryModel& memory) {
  SimulationConfig c;
  const auto& scheduler = d.engine.scheduler;
  c.scheduler = scheduler.policy;
  c.replicas = s.service.replicas;
  c.router = s.service.router;
  c.seed = static_cast<std::uint64_t>(s.service.seed);
  c.max_concurrency = s.service.max_concurrency;
  c.frontend_per_request = sim_time(d.engine.execution.frontend_per_request);
  c.request_overhead = sim_time(d.engine.execution.request_overhead);
  c.replica.async = scheduler.async_scheduling;
  c.replica.prefix_caching = scheduler.prefix_caching;
  c.replica.kv_blocks = memory.kv_blocks();
  auto& l = c.replica.limits;
  l.max_num_batched_tokens = scheduler.max_num_batched_tokens;
  l.max_num_seqs = scheduler.max_num_seqs;
  l.chunked_prefill = scheduler.chunked_prefill;
  l.long_prefill_token_threshold = scheduler.long_prefill_token_threshold;
  l.mixed_chunk = scheduler.mixed_chunk;
  l.order = queue_order(scheduler.order);
  l.block_size = static_cast<std::int32_t>(d.engine.memory.block_size);
  l.max_model_len = s.workload.max_model_len > 0 ? s.workload.max_model_len : model.max_context;
  return c;
}

// What fills the memory of a GPU of the service.
void add_memory(Point& p, const MemoryBreakdown& m, const SimulationConfig& c) {
  for (const MemoryItem& item : m.items()) p.memory.push_back({std::string(item.name), item.size});
  p.memory.push_back({"reserve", m.reserve});
  p.memory_capacity = m.capacity;
  p.metrics.push_back(
      exact_metric("kv_tokens", "tokens",
                   static_cast<double>(c.replica.kv_blocks) * c.replica.limits.block_size));
}

// The highest rate that meets the SLO, within 1 %: doubled or halved until it lies between two
// rates, then bisected. The same seed throughout, so that rates differ by nothing but their rate.
double max_rate(const Scenario& s, const SimulationConfig& config, const StepModel& steps) {
  if (!s.service.slo.any())
    throw InputError("the highest rate that meets an SLO needs one: slo.ttft, slo.tpot or slo.e2e");
  if (!s.service.trace.empty() || s.service.max_concurrency > 0)
    throw InputError("the highest rate is sought with generated arrivals, without max_concurrency");
  StepClock clock(steps);
  std::vector<std::string> notes;
  const auto good = [&](double rate) {
    return meets_slo(s.service, simulate(config, load_of(s.service, rate, notes), clock));
  };
  constexpr double kLeast = 1e-3, kMost = 1e6, kClose = 1.01;
  double low = 1, high = 1;
  if (good(low)) {
    while (good(high *= 2)) {
      low = high;
      if (high > kMost) return high;
    }
  } else {
    while (!good(low /= 2)) {
      high = low;
      if (low < kLeast) throw Infeasible("no rate meets the SLO: one request alone misses it");
    }
  }
  while (high / low > kClose) {
    const double middle = std::sqrt(low * high);
    (good(middle) ? low : high) = middle;
  }
  return low;
}

}  // namespace

Answer Runner::simulate_service(const Scenario& s, const Architecture& model, const Deployment& d,
                                const RunOptions& options) {
  if (model.kind == Kind::kEncoder)
    throw NoData(fmt::format("{} is an encoder: only decoders are simulated", model.id));
  if (s.parallel.dp > 1) throw NoData("parallel.dp: attention data parallel is not simulated");
  Answer answer;
  answer.scenario = s.name;
  answer.resolved = d.resolved(s);
  const std::size_t layouts = s.parallel.tp.size() * s.parallel.pp.size();
  for (std::int64_t tp : s.parallel.tp) {
    for (std::int64_t pp : s.parallel.pp) {
      if (pp > 1) throw NoData("parallel.pp: pipeline stages are not simulated");
      const ParallelPlan plan{static_cast<int>(tp), static_cast<int>(pp), 1, s.parallel.ep};
      Point base;
      base.notes = d.notes;
      try {
        check_plan(model, plan, d.precision);
      } catch (const Infeasible& e) {
        if (layouts == 1) throw;
        base.feasibility = {false, e.what()};
      }
      std::vector<double> rates = s.service.rate;
      for (double rate : rates) {
        Point p = base;
        p.at = {{"model", model.id},
                {"gpu", d.gpu.id},
                {"gpus", plan.devices() * s.service.replicas},
                {"tp", tp},
                {"pp", pp}};
        if (!p.feasibility.fits) {
          p.at["rate"] = rate;
          answer.points.push_back(std::move(p));
          continue;
        }
        const MemoryModel memory(model, plan, d.precision, d.engine, d.gpu);
        const SimulationConfig config = config_of(s, d, model, memory);
        add_memory(p, memory.full(), config);
        if (config.replica.kv_blocks < 1) {
          p.feasibility = {false, memory.load(1, 1).summary()};
          p.at["rate"] = rate;
          answer.points.push_back(std::move(p));
          continue;
        }
        const StepModel steps(model, plan, d.precision, d.engine,
                              kernels(d.gpu, d.classes, options.tier),
                              network(d.gpu, s.hardware.node, plan, d.engine.kernels.collectives),
                              s.workload.expert_skew);
        if (options.find_max_rate) rate = max_rate(s, config, steps);
        p.at["rate"] = rate;
        if (options.find_max_rate)
          p.metrics.push_back(exact_metric("max_rate", "requests/s", rate));
        const RequestLoad load = options.load ? *options.load : load_of(s.service, rate, p.notes);
        answer_service(s.service, config, load, steps, options.intervals, options.requests, p);
        answer.points.push_back(std::move(p));
        if (options.find_max_rate) break;
      }
    }
  }
  return answer;
}

}  // namespace orrery
