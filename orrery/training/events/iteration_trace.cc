#include "orrery/training/events/iteration_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "orrery/base/error.h"
#include "orrery/base/index.h"
#include "orrery/training/events/stage_trace.h"
#include "orrery/training/schedules/job_schedule.h"

namespace orrery {
namespace {

// All files together are no larger.
constexpr double kMostBytes = 2e9;

// The numbers of the groups of ranks, and their members.
class GroupNumbers {
 public:
  explicit GroupNumbers(int world) : world_(world) {}

  const std::string& of(const RankGroup& group, int rank) {
    if (world_ % (group.ranks * group.distance) != 0) {
      throw InputError(
          fmt::format("a trace of this job: groups of {} ranks, each {} after the one before, do "
                      "not divide {} ranks",
                      group.ranks, group.distance, world_));
    }
    const int first = rank - rank / group.distance % group.ranks * group.distance;
    const auto [it, fresh] = numbers_.try_emplace({group, first}, "");
    if (!fresh) return it->second;
    it->second = std::to_string(numbers_.size() - 1);
    nlohmann::ordered_json& members = json_[it->second];
    for (int k = 0; k < group.ranks; ++k) members.push_back(first + k * group.distance);
    return it->second;
  }
  std::string json() const { return json_.empty() ? "{}" : json_.dump(); }

 private:
  int world_;
  std::map<std::pair<RankGroup, int>, std::string> numbers_;
  nlohmann::ordered_json json_;
};

std::string file_of(const StageTrace& stage, int rank, GroupNumbers& numbers) {
  ChakraTrace trace;
  trace.version = "0.0.4";
  trace.nodes.reserve(stage.nodes.size());
  for (const StageNode& s : stage.nodes) {
    ChakraNode n = s.node;
    if (s.group.ranks > 1) n.group = numbers.of(s.group, rank);
    if (n.type == ChakraNode::Type::kSend) n.from = rank, n.to = rank + s.peer;
    if (n.type == ChakraNode::Type::kRecv) n.from = rank + s.peer, n.to = rank;
    trace.nodes.push_back(std::move(n));
  }
  return write_chakra(trace);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> iteration_traces(const IterationSource& source) {
  const TrainingPlan& plan = source.job.plan;
  const std::vector<StageTrace> stages = stage_traces(source);
  const int world = static_cast<int>(plan.devices());
  GroupNumbers numbers(world);
  std::vector<std::pair<std::string, std::string>> files;
  double bytes = 0;
  for (int rank = 0; rank < world; ++rank) {
    const int stage = position_of(plan, rank).pp;
    files.emplace_back(fmt::format("{}.et", rank), file_of(stages[index(stage)], rank, numbers));
    bytes += static_cast<double>(files.back().second.size());
    if (const double all = bytes / (rank + 1) * world; all > kMostBytes) {
      throw InputError(
          fmt::format("the traces of {} ranks would take {:.1f} GB, more than {:.0f}: ask for a "
                      "smaller global batch or fewer data-parallel ranks",
                      world, all / 1e9, kMostBytes / 1e9));
    }
  }
  files.emplace_back("groups.json", numbers.json());
  return files;
}

}  // namespace orrery
