#include "orrery/scenario/kinds/service/service_points.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "orrery/base/error.h"
#include "orrery/memory/memory_model.h"
#include "orrery/scenario/kinds/service/cluster_choice.h"
#include "orrery/scenario/kinds/service/colocated_model.h"
#include "orrery/scenario/kinds/service/rack_limit.h"
#include "orrery/scenario/kinds/service/served_pool.h"
#include "orrery/scenario/kinds/service/service_answer.h"
#include "orrery/scenario/kinds/service/service_bounds.h"
#include "orrery/scenario/kinds/service/service_config.h"
#include "orrery/scenario/kinds/service/service_question.h"
#include "orrery/scenario/kinds/service/service_rate.h"
#include "orrery/scenario/kinds/service/service_repeat.h"
#include "orrery/scenario/kinds/service/service_techniques.h"
#include "orrery/scenario/kinds/service/spot_losses.h"
#include "orrery/scenario/setup/gpu_price.h"
#include "orrery/scenario/setup/kernel_origins.h"
#include "orrery/serving/requests/arrivals.h"
#include "orrery/serving/schedulers/scheduler_kinds.h"
#include "orrery/serving/steps/step_clock.h"

namespace orrery {

namespace {

// A rate that was searched for, with four significant digits, as its metric is printed.
double shown(double rate) { return std::stod(fmt::format("{:.4g}", rate)); }

// The pools of a service. The first one is described by the scenario itself.
struct ServicePools {
  const ServedModel& first;
  const ServiceTechniques& techniques;  // of the first pool
  const std::vector<ServedPool>& further;
};

// Adds the further pools, with their techniques or `plain`, and the transfers between disaggregated
// prefill and decode.
void add_pools(const Facts& facts, const Scenario& s, const ServicePools& pools, bool plain,
               SimulationConfig& c, std::vector<std::string>& notes) {
  for (const ServedPool& pool : pools.further) {
    const ParallelPlan& plan = pool.served->plan;
    c.others.push_back(plain ? pool.plain : pool.config);
    notes.push_back(fmt::format("further pool: {} engines of {} {} (tp {}, pp {}, dp {})",
                                pool.config.replicas, plan.devices(),
                                pool.served->deployment.gpu.id, plan.tp, plan.pp, plan.dp));
  }
  const auto& disaggregation = s.as<ServiceQuestion>().cluster.disaggregation;
  if (!disaggregation.on()) return;
  c.replica.role = Role::kPrefill;
  c.others.front().replica.role = Role::kDecode;
  c.decode_router = disaggregation.router;
  const ServedPool& decode = pools.further.front();
  const auto drafts = [plain](const ServiceTechniques& t) { return plain ? nullptr : &t; };
  c.transfer =
      kv_transfer(facts, s.hardware.node, {pools.first, c.replicas, drafts(pools.techniques)},
                  {*decode.served, decode.config.replicas, drafts(*decode.techniques)},
                  disaggregation.transfer == "layerwise", notes);
}

// The memory of a GPU of the service by class. `beside`: memory that is taken from the room for the
// KV cache.
void add_memory(Point& p, MemoryBreakdown m, std::vector<MemoryRow> beside,
                const SimulationConfig& c) {
  for (const MemoryRow& b : beside) m.kv_cache = std::max(Bytes(0), m.kv_cache - b.size);
  for (const MemoryItem& item : m.items()) p.memory.push_back({std::string(item.name), item.size});
  for (MemoryRow& b : beside) p.memory.push_back(std::move(b));
  p.memory.push_back({"reserve", m.reserve});
  p.memory_capacity = m.capacity;
  p.metrics.push_back(
      exact_metric("kv_tokens", static_cast<double>(c.replica.kv_tokens() * c.replica.plan.dp)));
}

// Refuses orders of the queue that would have no effect.
void check_order(const ServiceQuestion& service, const EngineProfile::Scheduler& scheduler) {
  using Order = EngineProfile::Scheduler::Order;
  if (!service.priorities.empty() && scheduler.order != Order::kPriority)
    throw InputError(
        fmt::format("load.priorities: the order is {}; needs engine.scheduler.order priority "
                    "(--scheduling-policy priority)",
                    to_text(scheduler.order)));
  if (scheduler.order == Order::kLpm && !scheduler_kind(scheduler.policy).traits.sorts_by_prefix)
    throw InputError(fmt::format(
        "engine.scheduler.order lpm: the scheduler {} does not sort by the longest cached prefix; "
        "{} does",
        scheduler.policy, fmt::join(schedulers_with(&SchedulerTraits::sorts_by_prefix), ", ")));
}

// The further pools of the question.
std::vector<PoolChoice> further_pools(const ServiceQuestion& service) {
  const ClusterChoice& cluster = service.cluster;
  if (!cluster.disaggregation.on()) return cluster.pools;
  if (!cluster.pools.empty())
    throw InputError("cluster.pools: not supported with disaggregation.decode");
  return {*cluster.disaggregation.decode};
}

// The clock of a service without techniques.
MakeClock plain_clock(const StepModel& steps) {
  return [&steps](StepScale scale) { return std::make_unique<StepClock>(steps, scale); };
}

// The clocks of all pools, the first pool's made by `first`.
MakeClocks clocks_of(const std::vector<ServedPool>& pools, bool plain, const MakeClock& first) {
  std::vector<MakeClock> makes = {first};
  for (const ServedPool& pool : pools) {
    const StepModel& steps = *pool.served->steps;
    makes.push_back(plain ? plain_clock(steps) : pool.techniques->clock(steps));
  }
  return [makes](StepScale scale) {
    Clocks all;
    for (const MakeClock& make : makes) all.add(make(scale));
    return all;
  };
}

// The power and the price of the engines of all pools, each by its own GPU. NoData: the plant or
// the electricity is asked for, and nobody states the power of a GPU.
UseOfGpus use_of_gpus(Facts& facts, const Scenario& s, const ServicePools& pools,
                      const SimulationConfig& config, std::vector<std::string>& notes) {
  std::vector<const ServedModel*> served = {&pools.first};
  std::vector<std::int64_t> engines = {config.replicas};
  for (const ServedPool& pool : pools.further)
    served.push_back(pool.served.get()), engines.push_back(pool.config.replicas);
  UseOfGpus use;
  if (pools.further.empty()) use.work = GpuWork(pools.first);
  const auto known = [&](const ServedModel* m) {
    return m->deployment.gpu.power && facts.chip(m->deployment.gpu.id) == nullptr;
  };
  const bool all_known = std::all_of(served.begin(), served.end(), known);
  if (all_known) use.power = ServicePower(facts.step_power());
  std::vector<Estimate<Usd>> hours;
  std::vector<std::optional<FleetPrice::Electricity>> electricity;
  for (const ServedModel* m : served) {
    const Gpu& gpu = m->deployment.gpu;
    const auto price = gpu_price(facts, s.cost, gpu, notes);
    const bool pays = price && price->electricity;
    std::optional<PlantAccount> account;
    if (s.plant.asked() || pays) {
      if (!all_known)
        throw NoData(fmt::format("energy: no power of the boards of {} is known", gpu.id));
      // Another type of GPU is in its usual node.
      account.emplace(facts, s.plant, gpu,
                      gpu.id == pools.first.deployment.gpu.id ? s.hardware.node : std::string(),
                      notes);
    }
    if (all_known)
      use.power.add_pool({m, s.plant.asked() ? account : std::optional<PlantAccount>()});
    if (!price) continue;
    hours.push_back(price->hour.scaled(m->plan.devices()));
    electricity.emplace_back();
    if (!pays) continue;
    GpuPrice alone = *price;
    alone.hour = {};
    electricity.back() = {*account, alone};
  }
  if (!hours.empty()) use.price = fleet_price(hours, engines);
  use.price.electricity = std::move(electricity);
  return use;
}

// A service, ready to be simulated.
struct ServiceCase {
  const Scenario& scenario;
  const ServiceQuestion& service;
  const ServedModel& served;
  const std::vector<ServedPool>& pools;
  const ServiceTechniques& techniques;
  const SimulationConfig& config;
};

// Returns the question that was simulated: one whose rate was sought has the load that gave it.
ServiceQuestion simulate_case(Facts& facts, const ServiceCase& c, const RunOptions& options,
                              Point& p) {
  ServiceQuestion service = c.service;
  const StepModel& steps = *c.served.steps;
  const MakeClock clock = c.techniques.clock(steps);
  MakeClocks clocks = clocks_of(c.pools, false, clock);
  std::optional<PlainService> plain;
  if (c.techniques.compared()) {
    plain = {service_config(c.scenario, c.served, c.served.memory->kv_blocks()),
             clocks_of(c.pools, true, plain_clock(steps))};
    std::vector<std::string> known;  // the notes of the service itself
    add_pools(facts, c.scenario, {c.served, c.techniques, c.pools}, true, plain->config, known);
    plain->config.failures = c.config.failures;
  }
  const Origin origin = step_origin(steps, c.config);
  double rate = service.rate;
  if (service.find_max_rate) {
    FoundRate found = add_max_rates(c.service, c.config, clocks, origin, options.intervals, p);
    rate = found.rate;
    service = std::move(found.service);
  }
  bool rated = true;
  const RequestLoad load = options.load ? *options.load : load_of(service, rate, p.notes, &rated);
  if (rated || c.service.find_max_rate) p.at["rate"] = c.service.find_max_rate ? shown(rate) : rate;
  if (const auto other = colocated_model(facts, c.scenario, c.served)) {
    if (c.service.find_max_rate) throw NoData("neighbour: not supported with load.find_max_rate");
    if (!c.pools.empty()) throw NoData("neighbour: not supported with several pools");
    const double stretch =
        share_with({c.served, c.config, load, clock}, *other, service.neighbour, p);
    plain = {c.config, clocks};
    clocks = clocks_of(c.pools, false, [clock, stretch](StepScale scale) {
      return clock({scale.stretch * stretch, scale.deviations});
    });
  }
  const UseOfGpus use =
      use_of_gpus(facts, c.scenario, {c.served, c.techniques, c.pools}, c.config, p.notes);
  SimulationConfig config = c.config;
  if (use.power.known()) config.window = kPowerWindow;
  SeedRuns seeds(service, rate, config, clocks, use);
  // Only closed loops start with all of their users at once and then bunch.
  const double ttft_error =
      service.max_concurrency > 0 ? c.served.deployment.engine.ttft_error : 0.0;
  answer_service({.question = service,
                  .config = config,
                  .load = load,
                  .clocks = clocks,
                  .use = use,
                  .origin = origin,
                  .ttft_error = ttft_error,
                  .plain = plain ? &*plain : nullptr},
                 options, options.load ? std::vector<Job>() : seeds.jobs(), p);
  if (!options.load) seeds.merge(p);
  return service;
}

// The note that `estimate` has, about a decode step of the service.
void note_origins(Facts& facts, const ServedModel& served, const SimulationConfig& config,
                  Point& p) {
  const Deployment& d = served.deployment;
  if (facts.chip(d.gpu.id) != nullptr) return;
  const StepTime step = served.steps->time(usual_decode(config), true);
  if (auto note = note_of_origins("decode", step, facts.kernels(d.gpu, d.classes)))
    p.notes.push_back(*std::move(note));
}

}  // namespace

void answer_services(Facts& facts, const Scenario& asked, const RunOptions& options, Point& p) {
  const ServiceQuestion& service = asked.as<ServiceQuestion>();
  const auto deployment = deployment_of(facts, asked, engine_use(service));
  const std::vector<PoolChoice> further = further_pools(service);
  const RackLimit rack(facts, asked, further);
  const Scenario s = rack.of(asked, deployment->gpu);
  const Architecture& model = facts.architecture(s.model);
  const ParallelPlan plan = s.parallel;
  if (model.kind == Kind::kEncoder)
    throw NoData(fmt::format("{} is an encoder: only decoders are simulated", model.id));
  check_order(service, deployment->engine.scheduler);
  std::int64_t gpus = plan.devices() * service.cluster.replicas;
  p.at = {{"model", model.id},
          {"gpu", deployment->gpu.id},
          {"gpus", gpus},
          {"tp", s.parallel.tp},
          {"pp", s.parallel.pp}};
  if (s.parallel.cp > 1) {
    p.at["cp"] = s.parallel.cp;
    if (service.cluster.disaggregation.on())
      throw NoData("parallel.cp: not simulated with disaggregated prefill and decode");
  }
  // Whether a trace has arrivals is not known before it is read.
  const bool rated = service.trace.empty() && arrival_kind(service.arrivals).reads.rate;
  const auto at_rate = [&p, &service, rated] {
    if (rated) p.at["rate"] = service.rate;
  };
  p.notes = deployment->notes;
  if (!rack.note().empty()) p.notes.push_back(rack.note());
  std::shared_ptr<const ServedModel> served;
  try {
    served = served_model_of(facts, s, engine_use(service));
  } catch (const Infeasible&) {
    at_rate();
    throw;
  }
  const ServiceTechniques techniques(service, *served, make_drafter(facts, s, *served));
  SimulationConfig config = service_config(s, *served, techniques.kv_blocks());
  config.meter = options.meter;
  if (config.replica.kv_blocks > 0) techniques.apply(config.replica, config.seed);
  techniques.describe(p);
  if (config.replica.kv.state_blocks > 0) {
    p.notes.push_back(fmt::format(
        "recurrent layers or windows of compressed attention: the state of a sequence takes {} KV "
        "blocks{}",
        config.replica.kv.state_blocks,
        config.replica.engine.scheduler.prefix_caching
            ? "; a cached prefix is taken to have its state at every block, without memory for it"
            : ""));
  }
  add_memory(p, served->memory->full(), techniques.beside(), config);
  if (config.replica.kv_blocks < 1) {
    p.feasibility = {false, served->memory->load(1, 1).summary()};
    at_rate();
    return;
  }
  std::vector<ServedPool> pools;
  for (const PoolChoice& choice : further) {
    const Gpu& gpu = choice.gpu.empty() ? deployment->gpu : facts.gpu(choice.gpu);
    pools.push_back(served_pool(facts, rack.of(asked, gpu), service, *served, choice));
    gpus += pools.back().config.replicas * pools.back().served->plan.devices();
    p.at["gpus"] = gpus;
  }
  add_pools(facts, s, {*served, techniques, pools}, false, config, p.notes);
  std::vector<SpotEngines> engines = {{served.get(), config.replicas}};
  for (const ServedPool& pool : pools) engines.push_back({pool.served.get(), pool.config.replicas});
  count_spot_losses(facts, s, engines, config.failures, p.notes);
  const ServiceQuestion simulated = simulate_case(facts,
                                                  {.scenario = s,
                                                   .service = service,
                                                   .served = *served,
                                                   .pools = pools,
                                                   .techniques = techniques,
                                                   .config = config},
                                                  options, p);
  note_origins(facts, *served, config, p);
  if (options.bounds) bound_service(*served, simulated, p);
}

}  // namespace orrery
