#include "orrery/scenario/kinds/training/training_energy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "orrery/energy/power/held_parts.h"
#include "orrery/scenario/kinds/training/training_wires.h"
#include "orrery/scenario/setup/work_of_kinds.h"

namespace orrery {
namespace {

// The energy of a GPU's links in an iteration.
struct LinkEnergyOfGpu {
  LinkBill all;
  Joules network;  // of the part between nodes
};

LinkEnergyOfGpu link_energy(Facts& facts, const IterationTraffic& traffic, const Cluster& cluster) {
  const auto energies = link_energies(facts);
  LinkEnergyOfGpu out;
  LinkBill between;
  out.all.add(*energies, {cluster.scale_up(), traffic.node});
  out.all.add(*energies, {cluster.bridge(), traffic.bridge});
  for (LinkBill* bill : {&out.all, &between})
    bill->add(*energies, {cluster.network(), traffic.network});
  out.network = Joules(between.joules);
  return out;
}

// The rows of the boards, whose `parts` are shares of `full`, their energy at the limit.
void add_boards(const PowerParts& parts, const IterationTime& t, Joules full, Point& p) {
  const auto put = [&](const char* name, double part) {
    if (part > 0) p.energy.push_back({name, full * part});
  };
  put("awake", parts.awake);
  put("kernels", parts.kernels);
  put("arithmetic", parts.compute);
  put("memory", parts.memory);
  const ExposedCommunication of = exposed_communication(t);
  for (const auto& [name, time] :
       {std::pair{"tensor_collectives", of.tensor}, std::pair{"context_collectives", of.context},
        std::pair{"expert_exchange", of.experts}, std::pair{"data_collectives", of.data},
        std::pair{"pipeline_sends", of.sends}})
    if (time > Seconds(0)) put(name, parts.links * (time / of.all()));
}

// The rows of what the scope counts besides the boards.
void add_plant(const std::optional<PlantAccount>& plant, Joules network,
               const IterationBoards& boards, Seconds time, Point& p) {
  if (!plant || plant->scope() == "gpu") return;
  const PlantAccount::Parts of = plant->parts({boards.power, boards.number, 0});
  const auto of_gpu = [&](Watts power) { return power * time * (1 / boards.number); };
  const Joules rest = of_gpu(of.rest), between = std::min(network, rest);
  for (const auto& [name, energy] :
       {std::pair{"node_links", between}, std::pair{"node_rest", rest - between},
        std::pair{"power_supplies", of_gpu(of.supplies)}, std::pair{"cooling", of_gpu(of.cooling)}})
    if (energy > Joules(0)) p.energy.push_back({name, energy});
}

// The kernels of an iteration by their cost, as work_of (training_power.h) counts them: their time,
// and the traffic of those that move data. The FLOPs are those of all virtual stages.
WorkOfKinds kernels_of(const TimedIteration& timed, FlopsPerSecond peak) {
  WorkOfKinds kinds;
  const IterationTime& t = timed.time;
  for (const TrainingCost cost :
       {TrainingCost::kProducts, TrainingCost::kAttention, TrainingCost::kAttentionBackward,
        TrainingCost::kExperts, TrainingCost::kHead, TrainingCost::kElementwise,
        TrainingCost::kCasts}) {
    const Seconds time = t.work[at(cost)];
    const bool moves = cost == TrainingCost::kElementwise || cost == TrainingCost::kCasts;
    if (time > Seconds(0)) kinds.add({to_text(cost), time, {}, moves ? time : Seconds(0)});
  }
  if (t.optimizer > Seconds(0)) kinds.add({"optimizer", t.optimizer, {}, t.optimizer});
  std::vector<bool> seen(timed.parts.kinds.size());
  for (std::size_t chunk = 0; chunk < timed.parts.kind.size(); ++chunk) {
    const auto kind = static_cast<std::size_t>(timed.parts.kind[chunk]);
    if (seen[kind]) continue;
    seen[kind] = true;
    const auto alike =
        real(std::count(timed.parts.kind.begin(), timed.parts.kind.end(), timed.parts.kind[chunk]));
    for (const TrainingTerm& term :
         timed.iterations.terms(timed.job, timed.stack, static_cast<int>(chunk))) {
      const Flops work = flops(term.op.op) * (term.op.count * alike);
      if (work > Flops(0)) kinds.add({to_text(term.op.cost), {}, work / peak, {}});
    }
  }
  return kinds;
}

}  // namespace

void add_iteration_energy(Facts& facts, const TimedIteration& timed, const IterationBoards& boards,
                          const std::optional<PlantAccount>& plant, const Cluster& cluster,
                          const NetworkModel& network, Point& p) {
  const LinkEnergyOfGpu links =
      link_energy(facts, iteration_traffic(timed, cluster, network), cluster);
  if (links.all.unknown.empty() && links.all.joules > 0)
    p.metrics.push_back(metric("link_energy@train", links.all.estimate(1 / boards.number)));
  if (const std::vector<std::string> says = left_out_of(links.all); !says.empty())
    p.notes.push_back(fmt::format("energy of links: {}", fmt::join(says, "; ")));
  const StepPowerConstants& law = facts.step_power();
  const Seconds time = timed.time.total;
  p.energy_of = "GPU and iteration";
  const Watts limit = *boards.gpu.power;
  const PowerParts parts =
      held_parts(power_parts(law, law.board(boards.gpu.id), law.engine(""), boards.steps.reference),
                 boards.power.value / limit);
  add_boards(parts, timed.time, limit * time, p);
  const WorkOfKinds kinds =
      kernels_of(timed, boards.gpu.peak(boards.gpu.compute_dtype(timed.job.precision.compute)));
  add_plant(plant, links.network, boards, time, p);
  p.energy_by_kernel = rows_by_kind(p.energy, kinds);
}

}  // namespace orrery
