#include "orrery/scenario/kinds/collective/node_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "orrery/base/error.h"

namespace orrery {
namespace {

constexpr int kMostNodes = 100'000;

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

NodeRun run_of(std::string_view text, const Catalog& catalog) {
  text = trimmed(text);
  NodeRun run;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, run.count);
  std::string_view type(stop, end);
  if (error == std::errc() && (type.starts_with('x') || type.starts_with('*')))
    type.remove_prefix(1);
  type = trimmed(type);
  if (error == std::errc::result_out_of_range || run.count < 1 || run.count > kMostNodes ||
      type.empty()) {
    throw InputError(fmt::format(
        "collective.nodes: '{}': expected a count from 1 to {} and a type of nodes, such as "
        "'8 hgx-h100'",
        text, kMostNodes));
  }
  run.type = catalog.node_type(type);
  if (run.type.gpus.empty())
    throw InputError(fmt::format("collective.nodes: node type '{}' names no GPU", run.type.id));
  return run;
}

}  // namespace

std::vector<NodeRun> node_runs(const std::vector<std::string>& texts, const Catalog& catalog) {
  std::vector<NodeRun> runs;
  for (const std::string& text : texts) {
    std::string_view rest = text;
    for (std::size_t comma = rest.find(','); comma != rest.npos; comma = rest.find(',')) {
      runs.push_back(run_of(rest.substr(0, comma), catalog));
      rest.remove_prefix(comma + 1);
    }
    runs.push_back(run_of(rest, catalog));
  }
  return runs;
}

int gpus_of(const std::vector<NodeRun>& runs) {
  std::int64_t gpus = 0;
  for (const NodeRun& r : runs) gpus += static_cast<std::int64_t>(r.count) * r.type.gpu_count;
  if (gpus > kMostGpus)
    throw InputError(fmt::format("collective.nodes: more than {} GPUs", kMostGpus));
  return static_cast<int>(gpus);
}

std::string to_text(const std::vector<NodeRun>& runs) {
  std::string text;
  for (const NodeRun& r : runs)
    text += fmt::format("{}{} {}", text.empty() ? "" : " + ", r.count, r.type.id);
  return text;
}

std::vector<NodeType> kinds_of(const std::vector<NodeRun>& runs) {
  std::vector<NodeType> kinds;
  for (const NodeRun& r : runs) {
    if (std::none_of(kinds.begin(), kinds.end(),
                     [&](const NodeType& k) { return k.id == r.type.id; }))
      kinds.push_back(r.type);
  }
  return kinds;
}

ClusterPlan plan_of(const std::vector<NodeRun>& runs, const Catalog& catalog) {
  ClusterPlan plan;
  plan.name = to_text(runs);
  int nodes = 0;
  plan.network.rails = true;
  for (const NodeRun& r : runs) {
    NodePlan n = plan_of(catalog, r.type);
    n.count = r.count;
    nodes += r.count;
    plan.network.rails &= n.gpus == runs.front().type.gpu_count && n.ports >= n.gpus;
    plan.nodes.push_back(std::move(n));
  }
  plan.network.rails &= nodes > 1;
  plan.network.kind = nodes == 1 ? NetworkPlan::Kind::kNone : NetworkPlan::Kind::kSwitch;
  return plan;
}

}  // namespace orrery
