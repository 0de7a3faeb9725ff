#include "orrery/scenario/kinds/service/colocated_model.h"

#include <fmt/format.h>

#include <algorithm>

#include "orrery/base/error.h"
#include "orrery/scenario/kinds/service/service_config.h"
#include "orrery/scenario/kinds/service/service_question.h"
#include "orrery/serving/steps/step_clock.h"

namespace orrery {
namespace {

double mean_tpot(const SimulationResult& r) {
  double sum = 0, n = 0;
  for (const RequestRecord& q : r.records) {
    if (q.outcome != Outcome::kDone || q.output < 2) continue;
    sum += q.tpot().value();
    ++n;
  }
  return n > 0 ? sum / n : 0;
}

}  // namespace

GpuDemand gpu_demand(const GpuWork& work, const SimulationResult& alone) {
  const ReplicaCounts sum = alone.total();
  const Seconds busy = sum.busy;
  if (busy == Seconds(0)) return {};
  return {std::min(1.0, work.arithmetic(sum) / busy), std::min(1.0, work.traffic(sum) / busy)};
}

std::optional<ColocatedModel> colocated_model(Facts& facts, const Scenario& s,
                                              const ServedModel& own) {
  const ServiceQuestion& asked = s.as<ServiceQuestion>();
  const ColocatedModelChoice& choice = asked.neighbour;
  if (!choice.on()) return std::nullopt;
  if (asked.cluster.replicas > 1)
    throw NoData("neighbour: supported for a service of one replica only");
  const Deployment& of = own.deployment;
  const double together = of.engine.memory.utilization + choice.utilization;
  if (together > 1) {
    throw Infeasible(fmt::format(
        "neighbour: the engines may fill {:.2f} and {:.2f} of the memory, more than there is; "
        "lower engine.overrides.memory.utilization or neighbour.utilization",
        of.engine.memory.utilization, choice.utilization));
  }
  Scenario other;
  other.hardware = s.hardware;
  other.engine = s.engine;
  other.model = choice.model;
  ServiceQuestion& service = other.ask<ServiceQuestion>();
  service.requests = choice.requests;
  service.rate = choice.rate;
  service.isl = choice.isl;
  service.osl = choice.osl;
  service.seed = asked.seed + 1;  // arrivals of its own
  Architecture model = facts.architecture(choice.model);
  if (model.kind != Kind::kDecoder)
    throw NoData(fmt::format("neighbour.model: {} is no decoder", model.id));
  Deployment d = make_deployment(other, model, of.gpu, facts.engine(other.engine.profile, of.gpu));
  d.engine.memory.utilization = choice.utilization;
  ColocatedModel n;
  n.served = make_served_model(facts, std::move(model), std::move(d), own.plan,
                               {s.hardware.node, 0, s.hardware.knobs()});
  n.config = service_config(other, *n.served, n.served->memory->kv_blocks());
  if (n.config.replica.kv_blocks < 1)
    throw Infeasible(fmt::format("neighbour: {}", n.served->memory->load(1, 1).summary()));
  std::vector<std::string> notes;
  n.load = load_of(service, choice.rate, notes);
  return n;
}

double share_with(const Tenancy& own, const ColocatedModel& other,
                  const ColocatedModelChoice& choice, Point& p) {
  const auto run_own = [&](double s) { return simulate(own.config, own.load, *own.clock(s)); };
  const auto run_other = [&](double s) {
    StepClock clock(*other.served->steps, s);
    return simulate(other.config, other.load, clock);
  };
  const SimulationResult own_alone = run_own(1), other_alone = run_other(1);
  const auto demand = [](const ServedModel& served, const SimulationResult& alone) {
    return gpu_demand(GpuWork(served), alone);
  };
  const std::vector<Tenant> tenants = {{run_own, demand(own.served, own_alone)},
                                       {run_other, demand(*other.served, other_alone)}};
  const Sharing sharing = choice.sharing == "mps" ? Sharing::kMps : Sharing::kTimeSlicing;
  const SharedGpu shared = share_gpu(sharing, tenants);
  const auto put = [&](FigureRef figure, double v) {
    p.metrics.push_back(exact_metric(figure, v));
  };
  Metric stretch = exact_metric("stretch", shared.stretch[0]);
  stretch.origin = Origin::kAnalytical;
  stretch.high50 = stretch.high90 = share_gpu(Sharing::kTimeSlicing, tenants).stretch[0];
  p.metrics.push_back(stretch);
  put("neighbour_stretch", shared.stretch[1]);
  put("neighbour_kv_tokens", static_cast<double>(other.config.replica.kv_tokens()));
  const double before = mean_tpot(other_alone), after = mean_tpot(shared.results[1]);
  put("neighbour_tpot", after * 1e3);
  if (before > 0) put("neighbour_tpot_overhead", 100 * (after / before - 1));
  p.notes.push_back(
      fmt::format("neighbour {} ({}): the interference is an assumption, and time slicing its "
                  "upper bound; this "
                  "model uses {:.2f} of the arithmetic and {:.2f} of the memory bandwidth, the "
                  "other {:.2f} and "
                  "{:.2f}",
                  other.served->model.id, choice.sharing, tenants[0].demand.compute,
                  tenants[0].demand.memory, tenants[1].demand.compute, tenants[1].demand.memory));
  return shared.stretch[0];
}

}  // namespace orrery
