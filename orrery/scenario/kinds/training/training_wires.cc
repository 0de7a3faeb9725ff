#include "orrery/scenario/kinds/training/training_wires.h"

#include "orrery/network/collectives/expert_exchange.h"
#include "orrery/training/schedules/job_schedule.h"

namespace orrery {
namespace {

// The collectives of one job on a machine.
class Wires {
 public:
  Wires(const TimedIteration& timed, const Cluster& cluster, const NetworkModel& network)
      : timed_(timed), cluster_(cluster), network_(network), place_(placement(timed.job.plan)) {}

  // The traffic of one rank of the group.
  GroupTraffic of(const Collective& c, const RankPlacement& place) const {
    const GroupLink link = cluster_.link(c.ranks, stride_of(c, place));
    const CollectiveTime time = network_.predict(c, place);
    WireBytes wires = wire_bytes(c, link, {time.algorithm, "", ""}, time);
    wires.inside *= 1.0 / c.ranks, wires.between *= 1.0 / c.ranks;
    return traffic_of(cluster_, link, wires);
  }
  GroupTraffic of(const Collective& c) const { return of(c, place_); }

  // The traffic of one micro-batch in virtual stage `chunk`.
  IterationTraffic passes(int chunk) const {
    IterationTraffic sum;
    for (const TrainingTerm& t : timed_.iterations.terms(timed_.job, timed_.stack, chunk)) {
      const auto* const c = std::get_if<Collective>(&t.op.op);
      if (c == nullptr || c->ranks < 2 || c->bytes <= Bytes(0)) continue;
      RankPlacement place = place_;
      place.context *= t.op.apart;
      sum.add(t.op.move ? moved(*t.op.move, *c, place) : of(*c, place), t.op.count);
    }
    return sum;
  }

  IterationTraffic transfers(const std::vector<DataTransfer>& all) const {
    IterationTraffic sum;
    for (const DataTransfer& t : all) sum.add(of(t.what), t.count);
    return sum;
  }

 private:
  GroupTraffic moved(const ExpertMove& move, const Collective& c,
                     const RankPlacement& place) const {
    const GroupLink link = cluster_.link(c.ranks, stride_of(c, place));
    const ExpertBytes bytes = expert_bytes(exchange_of(move, 0), link);
    return traffic_of(cluster_, link, {bytes.inside, bytes.between});
  }

  const TimedIteration& timed_;
  const Cluster& cluster_;
  const NetworkModel& network_;
  const RankPlacement place_;
};

}  // namespace

void IterationTraffic::add(const GroupTraffic& more, double times) {
  node += more.node.bits * times;
  bridge += more.bridge.bits * times;
  network += more.network.bits * times;
}

void IterationTraffic::add(const IterationTraffic& more, double times) {
  node += more.node * times, bridge += more.bridge * times, network += more.network * times;
}

IterationTraffic iteration_traffic(const TimedIteration& timed, const Cluster& cluster,
                                   const NetworkModel& network) {
  const TrainingJob& job = timed.job;
  const TrainingPlan& plan = job.plan;
  const IterationParts& parts = timed.parts;
  const Wires wires(timed, cluster, network);
  const double batches = static_cast<double>(job.micro_batches());
  const double scattered = plan.zero == 2 ? batches - 1 : batches;
  std::vector<IterationTraffic> kinds(parts.kinds.size());
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    const auto first = std::find(parts.kind.begin(), parts.kind.end(), static_cast<int>(k));
    kinds[k].add(wires.passes(static_cast<int>(first - parts.kind.begin())), batches);
    const ChunkParts& chunk = parts.kinds[k];
    kinds[k].add(wires.transfers(chunk.gathers), batches);
    kinds[k].add(wires.transfers(chunk.gathers_again), batches);
    kinds[k].add(wires.transfers(chunk.scatters), scattered);
  }
  // Schedules with two copies of the model give each copy half of the micro-batches.
  const double copies = plan.pp > 1 ? schedule_of(plan).copies() : 1;
  IterationTraffic sum;
  for (int stage = 0; stage < plan.pp; ++stage) {
    for (const int c : chunks_of_stage(job, stage))
      sum.add(kinds[static_cast<std::size_t>(parts.kind[static_cast<std::size_t>(c)])], 1 / copies);
    const StageParts& own = parts.stages[static_cast<std::size_t>(stage)];
    for (const auto* once :
         {&own.reductions, &own.updates, &own.late_reductions, &own.late_updates})
      sum.add(wires.transfers(*once), 1);
  }
  if (plan.pp > 1) {
    // Activations and their gradients cross every boundary of virtual stages.
    const double sends = 2 * batches * (plan.pp * plan.vp - 1);
    sum.add(wires.of(
                {Collective::Kind::kSend, Collective::Group::kPipeline, plan.pp, parts.send_bytes}),
            sends);
  }
  IterationTraffic mean;
  mean.add(sum, 1.0 / plan.pp);
  return mean;
}

}  // namespace orrery
