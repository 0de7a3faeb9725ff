#include "orrery/scenario/service/service_points.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "orrery/memory/memory_model.h"
#include "orrery/scenario/bounds/physical_bounds.h"
#include "orrery/scenario/service/cluster_metrics.h"
#include "orrery/scenario/service/neighbour.h"
#include "orrery/scenario/service/served_pool.h"
#include "orrery/scenario/service/service_answer.h"
#include "orrery/scenario/service/service_config.h"
#include "orrery/scenario/service/service_rate.h"
#include "orrery/scenario/service/service_repeat.h"
#include "orrery/scenario/service/service_techniques.h"
#include "orrery/serving/requests/arrivals.h"
#include "orrery/serving/schedulers/scheduler_kinds.h"
#include "orrery/serving/steps/step_clock.h"

namespace orrery {

namespace {

// Of a rate that was sought: four significant digits, as its metric is printed.
double shown(double rate) { return std::stod(fmt::format("{:.4g}", rate)); }

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
  if (scheduler.order == "lpm" && !scheduler_kind(scheduler.policy).traits.sorts_by_prefix)
    throw InputError(fmt::format(
        "engine.scheduler.order lpm: the scheduler {} does not sort by the longest cached prefix; "
        "{} does",
        scheduler.policy, fmt::join(schedulers_with(&SchedulerTraits::sorts_by_prefix), ", ")));
}

}  // namespace

Answer answer_services(Facts& facts, const Scenario& s, const Architecture& model,
                       const Deployment& d, const RunOptions& options) {
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
          if (s.service.trace.empty() && arrival_kind(s.service.arrivals).reads.rate)
            p.at["rate"] = r;
        };
        if (!p.feasibility.fits) {
          at_rate(rate);
          answer.points.push_back(std::move(p));
          continue;
        }
        const MemoryModel memory(model, plan, d.precision, d.engine, d.gpu);
        const ServiceTechniques techniques(s, model, d, plan, memory,
                                           make_drafter(facts, s, model, d, plan, options));
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
          pools.push_back(served_pool(facts, s, model, d, plan, PoolChoice::parse(text), options));
          p.at["gpus"] = p.at["gpus"].get<std::int64_t>() +
                         pools.back()->config.replicas * pools.back()->plan.devices();
        }
        add_pools(s, facts.bundle(), facts.catalog(), model, d, plan, memory, pools, config, p);
        const StepModel steps(
            model, plan, d.precision, d.engine, facts.kernels(d.gpu, d.classes, options.tier),
            facts.network(d.gpu, s.hardware.node, plan, d.engine.kernels.collectives),
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
        ServiceScenario service = s.service;
        if (s.service.find_max_rate) {
          FoundRate found = add_max_rates(s.service, config, clocks, origin, options.intervals, p);
          rate = found.rate;
          service = std::move(found.service);
        }
        bool rated = true;
        const RequestLoad load =
            options.load ? *options.load : load_of(service, rate, p.notes, &rated);
        if (rated || s.service.find_max_rate)
          p.at["rate"] = s.service.find_max_rate ? shown(rate) : rate;
        if (const auto beside = make_neighbour(facts, s, d, plan, options)) {
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
        SeedRuns seeds(service, rate, config, clocks, work);
        answer_service(service, config, load, origin, clocks, plain ? &*plain : nullptr, options, p,
                       work, options.load ? std::vector<Job>() : seeds.jobs());
        if (!options.load) seeds.merge(p);
        if (options.bounds) bound_service({model, plan, d, memory}, service, p);
        answer.points.push_back(std::move(p));
        if (s.service.find_max_rate) break;
      }
    }
  }
  return answer;
}

}  // namespace orrery
