#include "orrery/edge/graph/llm_graph.h"

#include <algorithm>
#include <cmath>

#include "orrery/base/error.h"
#include "orrery/model/architecture/parameters.h"
#include "orrery/model/catalog/catalog.h"

namespace orrery {
namespace {

constexpr double kTolerance = 1e-3;
// The least language model of the catalog is larger; networks of images are not looked up.
constexpr std::int64_t kLeastParameters = 50'000'000;

bool has_as_many(std::int64_t parameters, std::int64_t of) {
  return std::abs(real(parameters) / real(of) - 1) <= kTolerance;
}

bool multiplies(const EdgeGraph& graph, std::int64_t weights) {
  return std::ranges::any_of(graph.nodes, [&](const EdgeNode& n) {
    return n.op == EdgeOp::kInnerProduct && n.weights == weights;
  });
}

}  // namespace

std::vector<std::string> language_models(const EdgeGraph& graph, const Bundle& bundle) {
  const std::int64_t parameters = graph.parameters();
  std::vector<std::string> found;
  if (parameters < kLeastParameters) return found;
  for (const std::string& id : model_ids(bundle)) {
    Architecture model;
    try {
      model = load_model(id, bundle);
    } catch (const InputError&) {
      continue;
    }
    if (model.kind != Kind::kDecoder) continue;
    const ParameterCounts counts = count_parameters(model);
    const std::int64_t own = counts.total() - counts.towers;
    const std::int64_t table = counts.tied ? counts.embedding : 0;
    if ((has_as_many(parameters, own) || has_as_many(parameters, own + table)) &&
        multiplies(graph, std::int64_t(model.hidden) * model.vocab))
      found.push_back(id);
  }
  return found;
}

}  // namespace orrery
