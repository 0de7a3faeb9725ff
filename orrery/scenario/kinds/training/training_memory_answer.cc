#include "orrery/scenario/kinds/training/training_memory_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace orrery {
namespace {

// Adds host_memory, and says where a node's host has too little of it.
void check_host(const TrainingSystem& system, const TrainingMemory& m, const TrainingJob& job,
                Point& p) {
  if (m.host <= Bytes(0)) return;
  const auto on = system.machine(job.plan.devices());
  const NodeType& node = on->cluster.node_type();
  const double ranks =
      static_cast<double>(std::min<std::int64_t>(node.gpu_count, job.plan.devices()));
  const Bytes needed = ranks * m.host;
  p.metrics.push_back(metric(
      "host_memory", Estimate<Bytes>{needed, system.memory_constants().fitted.error.share(needed),
                                     0, Origin::kFitted}));
  if (!node.host_memory) {
    p.notes.push_back(fmt::format("the host memory of {} is not known: {} of it are needed",
                                  node.id, to_text(needed)));
  } else if (needed > *node.host_memory && p.feasibility.fits) {
    p.feasibility = {false, fmt::format("does not fit: the {} ranks of a node need {} of its {} of "
                                        "host memory",
                                        ranks, to_text(needed), to_text(*node.host_memory))};
  }
}

}  // namespace

TrainingMemory add_memory(const TrainingSystem& system, TrainingJob& job, Point& p) {
  const Architecture& model = system.setting().model;
  const Gpu& gpu = system.setting().gpu;
  const TrainingQuestion& question = system.question();
  const TrainingMemoryConstants& constants = system.memory_constants();
  if (question.find_max_batch) {
    const std::int64_t most = largest_micro_batch(model, job, constants, gpu);
    p.metrics.push_back(exact_metric("max_micro_batch", static_cast<double>(most)));
    if (most > 0) {
      job.global_batch = job.micro_batches() * most * job.plan.dp;
      job.micro_batch = most;
      p.at["micro_batch"] = most, p.at["global_batch"] = job.global_batch;
    }
  }
  const TrainingMemory m =
      question.rank ? training_memory(model, job, constants, gpu,
                                      classic_load(job, position_of(job.plan, *question.rank).pp))
                    : system.memory(job);
  for (const MemoryItem& item : m.items()) p.memory.push_back({std::string(item.name), item.size});
  p.memory_capacity = m.capacity;
  // The measured rows do not tell the parts apart, so that each has the error of the total.
  const double error = memory_error(m, constants.fitted.error);
  const auto add = [&](FigureRef figure, Bytes size) {
    const Estimate<Bytes> estimate{size, error, 0, Origin::kFitted};
    p.metrics.push_back(metric(figure, estimate));
  };
  add("memory", m.total());
  add("memory_reserved", m.reserved());
  add("memory_allocated", m.allocated());
  add("activations", m.activations);
  const double chance = system.fits(m);
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
  check_host(system, m, job, p);
  return m;
}

}  // namespace orrery
