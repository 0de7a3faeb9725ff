// The part of a training answer that is about memory: of the device, and of the host.
#include <fmt/format.h>

#include <algorithm>

#include "orrery/memory/training_memory.h"
#include "orrery/scenario/kinds/training/training_answer.h"

namespace orrery {

void TrainingAnswerer::check_host(const TrainingMemory& m, const TrainingJob& job, Point& p) const {
  if (m.host <= Bytes(0)) return;
  const NodeType& node = machine(job.plan.devices())->cluster.node_type();
  const double ranks =
      static_cast<double>(std::min<std::int64_t>(node.gpu_count, job.plan.devices()));
  const Bytes needed = ranks * m.host;
  p.metrics.push_back(
      metric("host_memory",
             Estimate<Bytes>{needed, memory_.fitted.error.share(needed), 0, Origin::kFitted}));
  if (!node.host_memory) {
    p.notes.push_back(fmt::format("the host memory of {} is not known: {} of it are needed",
                                  node.id, to_text(needed)));
  } else if (needed > *node.host_memory && p.feasibility.fits) {
    p.feasibility = {false, fmt::format("does not fit: the {} ranks of a node need {} of its {} of "
                                        "host memory",
                                        ranks, to_text(needed), to_text(*node.host_memory))};
  }
}

TrainingMemory TrainingAnswerer::add_memory(TrainingJob& job, Point& p) const {
  const Architecture& model = setting_.model;
  if (question_.find_max_batch) {
    const std::int64_t most = largest_micro_batch(model, job, memory_, setting_.gpu);
    p.metrics.push_back(exact_metric("max_micro_batch", static_cast<double>(most)));
    if (most > 0) {
      job.global_batch = job.micro_batches() * most * job.plan.dp;
      job.micro_batch = most;
      p.at["micro_batch"] = most, p.at["global_batch"] = job.global_batch;
    }
  }
  const TrainingMemory m =
      question_.rank ? training_memory(model, job, memory_, setting_.gpu,
                                       classic_load(job, position_of(job.plan, *question_.rank).pp))
                     : training_memory(model, job, memory_, setting_.gpu);
  for (const MemoryItem& item : m.items()) p.memory.push_back({std::string(item.name), item.size});
  p.memory_capacity = m.capacity;
  // The measured rows do not tell the parts apart, so that each has the error of the total.
  const double error = memory_error(m, memory_.fitted.error);
  const auto add = [&](FigureRef figure, Bytes size) {
    const Estimate<Bytes> estimate{size, error, 0, Origin::kFitted};
    p.metrics.push_back(metric(figure, estimate));
  };
  add("memory", m.total());
  add("memory_reserved", m.reserved());
  add("memory_allocated", m.allocated());
  add("activations", m.activations);
  const double chance = fit_probability(m, memory_.fitted.error);
  Metric fits = exact_metric("fits", 100 * chance);
  fits.origin = Origin::kFitted;
  p.metrics.push_back(std::move(fits));
  p.notes.push_back(fmt::format("memory is at its peak in the {}", m.moment));
  if (!m.fits())
    p.feasibility = {false,
                     fmt::format("{}; chance that it fits {:.0f} %", m.summary(), 100 * chance)};
  if (m.paged > Bytes(0))
    p.notes.push_back(
        fmt::format("{} of the optimizer's states page to the host", to_text(m.paged)));
  check_host(m, job, p);
  return m;
}

}  // namespace orrery
