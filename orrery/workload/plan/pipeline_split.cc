#include "orrery/workload/plan/pipeline_split.h"

#include <fmt/format.h>

#include "orrery/base/error.h"
#include "orrery/base/index.h"

namespace orrery {
namespace {

// The share of each of `parts` parts, of which each is again divided into `vp` chunks.
std::int64_t chunk_share(int layers, int parts, int vp, const char* what) {
  if (layers < 0 || layers % (parts * vp) != 0)
    throw Infeasible(fmt::format("{}: {} layers do not divide into {} stages of {} chunks", what,
                                 layers, parts, vp));
  return layers / (parts * vp);
}

std::vector<std::int64_t> balanced_split(int layers, double head, int pp, int vp) {
  if (vp > 1) throw Infeasible("stages balanced by parameters have one chunk each");
  std::vector<std::int64_t> split(static_cast<std::size_t>(pp));
  const double share = (layers + head) / pp;
  int stage = 0;
  for (int layer = 1; layer <= layers; ++layer) {
    ++split[index(stage)];
    if (layer > share * (stage + 1)) ++stage;
  }
  if (stage != pp - 1)
    throw Infeasible(fmt::format(
        "balanced by parameters, {} layers and an LM head of {:.2f} layers leave {} of {} stages "
        "without a block",
        layers, head, pp - 1 - stage, pp));
  return split;
}

}  // namespace

std::vector<std::int64_t> split_by_rule(const SplitRule& rule, int layers, double head, int pp,
                                        int vp) {
  if (rule.balanced) return balanced_split(layers, head, pp, vp);
  if (rule.counts() && (rule.first > 0 || rule.last > 0))
    throw Infeasible(
        "account_for_embedding and account_for_loss divide the layers of all stages: they exclude "
        "numbers of layers for the first and the last stage");
  std::vector<std::int64_t> split(static_cast<std::size_t>(pp * vp));
  if (rule.counts()) {
    const int counted = layers + (rule.embedding ? 1 : 0) + (rule.loss ? 1 : 0);
    const std::int64_t each = chunk_share(counted, pp, vp, "with embedding and loss");
    split.assign(split.size(), each);
    if (rule.embedding) --split.front();
    if (rule.loss) --split.back();
    if (split.front() < 0 || split.back() < 0)
      throw Infeasible(
          fmt::format("{} layers are too few for {} virtual stages with embedding and "
                      "loss",
                      layers, pp * vp));
    return split;
  }
  const int ends = (rule.first > 0 ? 1 : 0) + (rule.last > 0 ? 1 : 0), between = pp - ends;
  const int left = layers - rule.first - rule.last;
  if (between < 0 || left < 0 || (between == 0 && left > 0))
    throw Infeasible(
        fmt::format("first stage {} and last stage {} layers do not fit {} layers on {} stages",
                    rule.first, rule.last, layers, pp));
  const std::int64_t middle = between > 0 ? chunk_share(left, between, vp, "between the ends") : 0;
  const std::int64_t first =
      rule.first > 0 ? chunk_share(rule.first, 1, vp, "first stage") : middle;
  const std::int64_t last = rule.last > 0 ? chunk_share(rule.last, 1, vp, "last stage") : middle;
  for (int i = 0; i < pp * vp; ++i) {
    const int stage = i % pp;
    split[index(i)] = stage == 0 ? first : stage == pp - 1 ? last : middle;
  }
  return split;
}

std::vector<std::int64_t> uneven_split(int layers, int chunks) {
  const int units = layers + 2, each = units / chunks, left = units % chunks;
  std::vector<std::int64_t> split(static_cast<std::size_t>(chunks), each);
  const int first = (chunks - left) / 2;
  for (int i = first; i < first + left; ++i) ++split[index(i)];
  // A stage without a layer to give keeps its embedding or head alone.
  const auto take = [](std::int64_t& n, std::int64_t& other) { n > 0 ? --n : --other; };
  take(split.front(), split[split.size() / 2]);
  take(split.back(), split[split.size() / 2]);
  return split;
}

}  // namespace orrery
