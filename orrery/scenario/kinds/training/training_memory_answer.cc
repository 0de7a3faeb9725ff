#include "orrery/scenario/kinds/training/training_memory_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace orrery {
namespace {

// The memory of a node's host that is needed. Says where it has too little.
std::optional<Estimate<Bytes>> host_memory(const TrainingSystem& system, const TrainingMemory& m,
                                           const TrainingJob& job, Point& p) {
  if (m.host <= Bytes(0)) return std::nullopt;
  const auto on = system.machine(job.plan.devices());
  const NodeType& node = on->cluster.node_type();
  const double ranks =
      static_cast<double>(std::min<std::int64_t>(node.gpu_count, job.plan.devices()));
  const Bytes needed = ranks * m.host;
  if (!node.host_memory) {
    p.notes.push_back(fmt::format("the host memory of {} is not known: {} of it are needed",
                                  node.id, to_text(needed)));
  } else if (needed > *node.host_memory && p.feasibility.fits) {
    p.feasibility = {false, fmt::format("does not fit: the {} ranks of a node need {} of its {} of "
                                        "host memory",
                                        ranks, to_text(needed), to_text(*node.host_memory))};
  }
  return Estimate<Bytes>{needed, system.memory_constants().fitted.error.share(needed), 0,
                         Origin::kFitted};
}

}  // namespace

JobMemory add_memory(const TrainingSystem& system, TrainingJob& job, Point& p) {
  const Architecture& model = system.setting().model;
  const Gpu& gpu = system.setting().gpu;
  const TrainingQuestion& question = system.question();
  const TrainingMemoryConstants& constants = system.memory_constants();
  JobMemory out;
  if (question.find_max_batch) {
    out.max_micro_batch = largest_micro_batch(model, job, constants, gpu);
    if (const std::int64_t most = *out.max_micro_batch; most > 0) {
      job.global_batch = job.micro_batches() * most * job.plan.dp;
      job.micro_batch = most;
      p.at["micro_batch"] = most, p.at["global_batch"] = job.global_batch;
    }
  }
  const TrainingMemory& m = out.of_rank =
      question.rank ? training_memory(model, job, constants, gpu,
                                      classic_load(job, position_of(job.plan, *question.rank).pp))
                    : system.memory(job);
  for (const MemoryItem& item : m.items()) p.memory.push_back({std::string(item.name), item.size});
  p.memory_capacity = m.capacity;
  out.error = memory_error(m, constants.fitted.error);
  out.fits = system.fits(m);
  p.notes.push_back(fmt::format("memory is at its peak in the {}", m.moment));
  if (!m.fits())
    p.feasibility = {false,
                     fmt::format("{}; chance that it fits {:.0f} %", m.summary(), 100 * out.fits)};
  if (m.paged > Bytes(0))
    p.notes.push_back(
        fmt::format("{} of the optimizer's states page to the host", to_text(m.paged)));
  out.host = host_memory(system, m, job, p);
  return out;
}

}  // namespace orrery
