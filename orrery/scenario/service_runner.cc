// Runner's part for simulated services: each layout and rate of a sweep is a point.
#include <fmt/format.h>

#include <cmath>

#include "orrery/memory/memory_model.h"
#include "orrery/scenario/cluster_metrics.h"
#include "orrery/scenario/neighbour.h"
#include "orrery/scenario/physical_bounds.h"
#include "orrery/scenario/runner.h"
#include "orrery/scenario/served_pool.h"
#include "orrery/scenario/service_answer.h"
#include "orrery/scenario/service_config.h"
#include "orrery/scenario/service_rate.h"
#include "orrery/scenario/service_repeat.h"
#include "orrery/scenario/service_techniques.h"
#include "orrery/serving/steps/step_clock.h"

namespace orrery {

namespace {

// Times that would make a simulation of nothing but events.
void check_cluster_times(const ClusterChoice& c) {
  if (c.router_refresh > Seconds(0) && c.router_refresh < milliseconds(1))
    throw InputError("cluster.router_refresh: 1 ms or more, or 0 s");
  if (c.autoscale.policy != "none" && c.autoscale.interval < milliseconds(1))
    throw InputError("autoscale.interval: 1 ms or more");
  if (c.failures.mean_time > Seconds(0) && c.failures.mean_time < Seconds(1))
    throw InputError("failures.mean_time: 1 s or more, or 0 s");
}

// Of a rate that was sought: four significant digits, as its metric is printed.
double shown(double rate) { return std::stod(fmt::format("{:.4g}", rate)); }

}  // namespace

SimulationConfig service_config(const Scenario& s, const Deployment& d, const Architecture& model,
                                const ParallelPlan& plan, std::int64_t kv_blocks) {
  const ClusterChoice& cluster = s.service.cluster;
  check_cluster_times(cluster);
  SimulationConfig c;
  static_cast<PoolConfig&>(c) = pool_config(s, d, model, plan, cluster.replicas, kv_blocks);
  c.router = cluster.router;
  c.router_refresh = sim_time(cluster.router_refresh);
  c.seed = static_cast<std::uint64_t>(s.service.seed);
  c.max_concurrency = s.service.max_concurrency;
  c.frontend_per_request = sim_time(d.engine.execution.frontend_per_request);
  c.request_overhead = sim_time(d.engine.execution.request_overhead);
  c.overhead_per_prompt_token = sim_time(d.engine.execution.overhead_per_prompt_token);
  c.beams.width = static_cast<std::int32_t>(s.service.beam_width);
  c.beams.overhead = sim_time(d.engine.execution.beam_overhead);
  c.autoscale.policy = cluster.autoscale.policy;
  c.autoscale.target = cluster.autoscale.target;
  c.autoscale.least = cluster.autoscale.least;
  c.autoscale.most = cluster.autoscale.most;
  c.autoscale.interval = sim_time(cluster.autoscale.interval);
  c.autoscale.start_up = sim_time(cluster.autoscale.start_up);
  c.autoscale.cool_down = sim_time(cluster.autoscale.cool_down);
  c.failures.mean_time = cluster.failures.mean_time;
  c.failures.restart = sim_time(cluster.failures.restart);
  for (double at : cluster.failures.at) c.failures.at.push_back(sim_seconds(at));
  return c;
}

namespace {

// Further pools, and where prefill and decode are apart the transfers between them.
void add_pools(const Scenario& s, const Bundle& bundle, const Catalog& catalog,
               const Architecture& model, const Deployment& d, const ParallelPlan& plan,
               const MemoryModel& memory,
               const std::vector<std::shared_ptr<const ServedPool>>& pools, SimulationConfig& c,
               Point& p) {
  for (const auto& pool : pools) {
    c.others.push_back(pool->config);
    p.notes.push_back(fmt::format("further pool: {} engines of {} {} (tp {}, pp {}, dp {})",
                                  pool->config.replicas, pool->plan.devices(),
                                  pool->deployment.gpu.id, pool->plan.tp, pool->plan.pp,
                                  pool->plan.dp));
  }
  const auto& apart = s.service.cluster.disaggregation;
  if (!apart.on()) return;
  c.replica.role = Role::kPrefill;
  c.others.front().replica.role = Role::kDecode;
  c.decode_router = apart.router;
  const ServedPool& decode = *pools.front();
  c.transfer = kv_transfer(catalog, bundle, s.hardware.node, model, {d, plan, memory, c.replicas},
                           {decode.deployment, decode.plan, *decode.memory, decode.config.replicas},
                           apart.transfer == "layerwise", p.notes);
}

// What fills the memory of a GPU of the service; `beside`: taken from the room for the KV cache.
void add_memory(Point& p, MemoryBreakdown m, std::vector<MemoryRow> beside,
                const SimulationConfig& c) {
  for (const MemoryRow& b : beside) m.kv_cache = std::max(Bytes(0), m.kv_cache - b.size);
  for (const MemoryItem& item : m.items()) p.memory.push_back({std::string(item.name), item.size});
  for (MemoryRow& b : beside) p.memory.push_back(std::move(b));
  p.memory.push_back({"reserve", m.reserve});
  p.memory_capacity = m.capacity;
  p.metrics.push_back(exact_metric("kv_tokens", "tokens",
                                   static_cast<double>(c.replica.kv_tokens() * c.replica.ranks)));
}

// Orders of the queue that would change nothing.
void check_order(const ServiceScenario& service, const EngineProfile::Scheduler& scheduler) {
  if (!service.priorities.empty() && scheduler.order != "priority")
    throw InputError(
        fmt::format("load.priorities: the order is {}; needs engine.scheduler.order priority "
                    "(--scheduling-policy priority)",
                    scheduler.order));
  if (scheduler.order == "lpm" && scheduler.policy != "sglang")
    throw InputError(fmt::format(
        "engine.scheduler.order lpm: the longest cached prefix first is SGLang's, not {}'s",
        scheduler.policy));
}

}  // namespace

Answer Runner::simulate_service(const Scenario& s, const Architecture& model, const Deployment& d,
                                const RunOptions& options) {
  if (model.kind == Kind::kEncoder)
    throw NoData(fmt::format("{} is an encoder: only decoders are simulated", model.id));
  check_order(s.service, d.engine.scheduler);
  const ClusterChoice& cluster = s.service.cluster;
  if (cluster.disaggregation.on() && !cluster.pools.empty())
    throw InputError("cluster.pools: not beside disaggregation.decode");
  std::vector<std::string> further = cluster.pools;
  if (cluster.disaggregation.on()) further = {cluster.disaggregation.decode};
  Answer answer;
  answer.scenario = s.name;
  answer.resolved = d.resolved(s);
  const std::size_t layouts = s.parallel.tp.size() * s.parallel.pp.size();
  for (std::int64_t tp : s.parallel.tp) {
    for (std::int64_t pp : s.parallel.pp) {
      if (s.service.speculation.on() && pp > 1)
        throw NoData(
            "speculation: not with pipeline stages: neither vLLM (V1), TensorRT-LLM nor SGLang "
            "combines them");
      if (!further.empty() && (s.service.speculation.on() || s.service.lora.on() ||
                               s.service.kv.contiguous() || s.service.kv.tiers()))
        throw NoData("speculation, lora and kv: not simulated with several pools");
      const ParallelPlan plan{static_cast<int>(tp), static_cast<int>(pp), s.parallel.dp,
                              s.parallel.ep};
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
                {"gpus", plan.devices() * cluster.replicas},
                {"tp", tp},
                {"pp", pp}};
        // Before a trace is read, whether it has arrivals is not known.
        const auto at_rate = [&p, &s](double r) {
          if (s.service.trace.empty() && s.service.arrivals != "at-once") p.at["rate"] = r;
        };
        if (!p.feasibility.fits) {
          at_rate(rate);
          answer.points.push_back(std::move(p));
          continue;
        }
        const MemoryModel memory(model, plan, d.precision, d.engine, d.gpu);
        const ServiceTechniques techniques(s, model, d, plan, memory,
                                           drafter(s, model, d, plan, options));
        SimulationConfig config = service_config(s, d, model, plan, techniques.kv_blocks());
        if (config.replica.kv_blocks > 0) techniques.apply(config);
        techniques.describe(p);
        add_memory(p, memory.full(), techniques.beside(), config);
        if (config.replica.kv_blocks < 1) {
          p.feasibility = {false, memory.load(1, 1).summary()};
          at_rate(rate);
          answer.points.push_back(std::move(p));
          continue;
        }
        std::vector<std::shared_ptr<const ServedPool>> pools;
        for (const std::string& text : further) {
          pools.push_back(served_pool(s, model, d, plan, PoolChoice::parse(text), options));
          p.at["gpus"] = p.at["gpus"].get<std::int64_t>() +
                         pools.back()->config.replicas * pools.back()->plan.devices();
        }
        add_pools(s, bundle_, catalog_, model, d, plan, memory, pools, config, p);
        const StepModel steps(model, plan, d.precision, d.engine,
                              kernels(d.gpu, d.classes, options.tier),
                              network(d.gpu, s.hardware.node, plan, d.engine.kernels.collectives),
                              s.workload.expert_skew);
        const auto with_pools = [&](const MakeClock& first) -> MakeClocks {
          return [&pools, first](StepScale scale) {
            Clocks all;
            all.add(first(scale));
            for (const auto& pool : pools)
              all.add(std::make_unique<StepClock>(*pool->steps, scale));
            return all;
          };
        };
        const MakeClock clock = techniques.clock(steps);
        MakeClocks clocks = with_pools(clock);
        std::optional<PlainService> plain;
        if (techniques.compared()) {
          plain = {service_config(s, d, model, plan, memory.kv_blocks()),
                   with_pools(
                       [&](StepScale scale) { return std::make_unique<StepClock>(steps, scale); })};
        }
        const Origin origin = step_origin(steps, config);
        if (s.service.find_max_rate) {
          rate = add_max_rates(s.service, config, clocks, origin, options.intervals, p);
        }
        bool rated = true;
        const RequestLoad load =
            options.load ? *options.load : load_of(s.service, rate, p.notes, &rated);
        if (rated) p.at["rate"] = s.service.find_max_rate ? shown(rate) : rate;
        if (const auto beside = neighbour(s, d, plan, options)) {
          if (s.service.find_max_rate) throw NoData("neighbour: not with the search for a rate");
          if (!further.empty()) throw NoData("neighbour: not with several pools");
          const Sharer own{model, plan, d, memory, config, load, clock};
          const double stretch = share_with(own, *beside, s.service.neighbour, p);
          plain = {config, clocks};
          clocks = with_pools([clock, stretch](StepScale scale) {
            return clock({scale.stretch * stretch, scale.deviations});
          });
        }
        const GpuWork work = further.empty() ? GpuWork(model, plan, d.precision, memory, d.gpu,
                                                       d.engine.memory.block_size)
                                             : GpuWork();
        SeedRuns seeds(s.service, rate, config, clocks, work);
        answer_service(s.service, config, load, origin, clocks, plain ? &*plain : nullptr, options,
                       p, work, options.load ? std::vector<Job>() : seeds.jobs());
        if (!options.load) seeds.merge(p);
        if (options.bounds) bound_service({model, plan, d, memory}, s.service, p);
        answer.points.push_back(std::move(p));
        if (s.service.find_max_rate) break;
      }
    }
  }
  return answer;
}

}  // namespace orrery
