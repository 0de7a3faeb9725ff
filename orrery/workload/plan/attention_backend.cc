#include "orrery/workload/plan/attention_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "orrery/base/error.h"
#include "orrery/base/fields.h"
#include "orrery/base/kinds.h"

namespace orrery {
namespace {

constexpr const char* kFacts = "training/attention.yaml";
constexpr const char* kFitted = "training/attention-fitted.yaml";
// Deviation of a ratio whose file states none: libraries change with their releases.
constexpr double kPublishedError = 0.1;

// One ratio of a library on an architecture.
void read_ratio(const Node& node, std::vector<AttentionBackend>& backends, std::string of) {
  std::string architecture, source;
  AttentionKernels::Ratio ratio;
  double error = kPublishedError;
  int rows = 0;
  Fields f;
  if (of.empty()) f.add("backend", of, "name of the library").required();
  f.add("architecture", architecture, "of the GPU").required();
  f.add("head_dim", ratio.head_dim, "head size; 0: all").range(0, 1024);
  f.add("forward", ratio.forward, "time over that of the kernel room, forward pass").range(0.1, 10);
  f.add("backward", ratio.backward, "the same of the gradient").range(0.1, 10);
  f.add("error", error, "relative standard deviation").range(0, 2);
  f.add("rows", rows, "measured calls behind it").range(0, 1e6);
  f.add("source", source, "where it can be looked up");
  f.read(node);
  const auto found = std::find_if(backends.begin(), backends.end(),
                                  [&](const AttentionBackend& b) { return b.name == of; });
  if (found == backends.end()) node.fail(fmt::format("no library is named '{}'", of));
  if (source.empty() && rows == 0) node.fail("expected a source");
  AttentionKernels& kernels = found->kernels[architecture];
  kernels.backend = of;
  kernels.error = std::max(kernels.error, error);
  kernels.ratios.push_back(ratio);
}

}  // namespace

AttentionKernels::Ratio AttentionKernels::at(int head_dim) const {
  const auto distance = [head_dim](const Ratio& r) {
    return r.head_dim == 0 ? 0 : std::abs(std::log2(1.0 * r.head_dim / std::max(1, head_dim)));
  };
  const auto next =
      std::min_element(ratios.begin(), ratios.end(),
                       [&](const Ratio& a, const Ratio& b) { return distance(a) < distance(b); });
  return next == ratios.end() ? Ratio{} : *next;
}

std::vector<AttentionBackend> load_attention_backends(const Bundle& bundle) {
  std::vector<AttentionBackend> backends;
  const auto facts = bundle.find(kFacts);
  if (!facts) return backends;
  std::vector<std::pair<std::string, Node>> published;
  Fields fields;
  fields.custom(
      "backends", Field::Type::kList,
      [&](const Node& list) {
        for (const Node& item : list.items()) {
          AttentionBackend b;
          std::vector<Node> ratios;
          Fields f;
          f.add("name", b.name, "name of the library").required();
          f.add("doc", b.doc, "one line about it").required();
          f.add("sources", b.sources, "where the facts come from").required();
          f.add("measured_as", b.measured_as, "its framework in measured tables");
          f.add("against", b.against, "library by whose measured times its own are divided");
          f.custom(
              "ratios", Field::Type::kList,
              [&](const Node& n) { ratios.assign(n.items().begin(), n.items().end()); },
              [] { return nlohmann::ordered_json::array(); }, "its times on GPU architectures");
          f.read(item);
          for (const Node& r : ratios) published.emplace_back(b.name, r);
          backends.push_back(std::move(b));
        }
      },
      [] { return nlohmann::ordered_json::array(); }, "libraries of attention");
  fields.read(parse_yaml(facts->content, facts->name));
  for (const auto& [name, ratio] : published) read_ratio(ratio, backends, name);
  if (const auto fitted = bundle.find(kFitted)) {
    std::string recipe;
    Fields f;
    f.add("recipe", recipe, "how the ratios were made");
    f.custom(
        "ratios", Field::Type::kList,
        [&](const Node& list) {
          for (const Node& item : list.items()) read_ratio(item, backends, "");
        },
        [] { return nlohmann::ordered_json::array(); }, "times of libraries on architectures");
    f.read(parse_yaml(fitted->content, fitted->name));
  }
  std::sort(backends.begin(), backends.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return backends;
}

const std::vector<AttentionBackend>& attention_backends() {
  static const std::vector<AttentionBackend> backends = load_attention_backends(Bundle());
  return backends;
}

AttentionKernels attention_kernels(std::string_view name, const Gpu& gpu) {
  if (name.empty()) return {};
  const AttentionBackend& backend = kind_named(attention_backends(), "attention library", name);
  const auto found = backend.kernels.find(gpu.architecture.kernels);
  if (found == backend.kernels.end()) {
    std::string known;
    for (const auto& [architecture, kernels] : backend.kernels)
      known += (known.empty() ? "" : ", ") + architecture;
    throw NoData(
        fmt::format("nothing says how fast attention by {} is on {} ({}); it is known on {}", name,
                    gpu.id, gpu.architecture.kernels, known.empty() ? "no architecture" : known));
  }
  return found->second;
}

}  // namespace orrery
