#include "orrery/network/collectives/network_constants.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>

#include "orrery/base/error.h"
#include "orrery/base/index.h"
#include "orrery/base/node.h"
#include "orrery/network/algorithms/curve_algorithm.h"
#include "orrery/network/algorithms/nccl_tables.h"
#include "orrery/network/algorithms/tuner_algorithm.h"
#include "orrery/network/collectives/unseen_servers.h"

namespace orrery {
namespace {

const std::vector<std::string> kStacks = {"library", "vllm", "trtllm", "sglang"};
const std::vector<std::string> kKinds = {"all_reduce", "all_gather", "reduce_scatter",
                                         "all_to_all", "broadcast",  "send"};
constexpr const char* kVersionsDoc = "versions of NCCL that the sources of the rows state";

void declare(Fields& f, FittedCurve& c, std::string& algorithm, std::vector<double>& efficiency,
             std::vector<double>& errors, std::vector<std::int64_t>& most_ranks) {
  f.add("stack", c.stack, "software whose collectives these are").one_of(kStacks).required();
  f.add("algorithm", algorithm, "algorithm")
      .one_of(collective_algorithm_names(AlgorithmModel::kCurve))
      .required();
  f.add_enum("collective", c.kind, kKinds, "kind of collective").required();
  f.add("least_ranks", c.least_ranks, "smallest group for which it is chosen").range(2, 1 << 20);
  f.add("latency", c.curve.latency, "time of an empty message").required();
  f.add("step", c.curve.step, "time of each sequential message").required();
  f.add("pipelining", c.curve.pipelining, "weight of sqrt(latency * transfer)").range(0, 10);
  f.add("efficiency", efficiency, "reached share of the bandwidth with 2, 4 and 8 ranks")
      .range(1e-3, 1)
      .required();
  f.add("rows", c.rows, "rows fitted").range(0, 1e9);
  f.add("left_out_error", errors,
        "sigma of ln(predicted / measured) on rows left out: below 1 MiB, below 128 MiB, above")
      .range(0, 10)
      .required();
  f.add("most_ranks", most_ranks, "ranks of the largest measured group of these sizes")
      .range(0, 1 << 20);
  f.add("versions", c.versions, kVersionsDoc);
}

FittedCurve read_curve(const Node& node) {
  FittedCurve curve;
  std::string algorithm;
  std::vector<double> efficiency, errors;
  std::vector<std::int64_t> most_ranks(curve.most_ranks.size(), 0);
  Fields fields;
  declare(fields, curve, algorithm, efficiency, errors, most_ranks);
  fields.read(node);
  curve.algorithm = *parse_collective_algorithm(algorithm, AlgorithmModel::kCurve);
  if (errors.size() != curve.left_out_error.size())
    node.at("left_out_error").fail("expected three values, by size of message");
  std::copy(errors.begin(), errors.end(), curve.left_out_error.begin());
  if (most_ranks.size() != curve.most_ranks.size())
    node.at("most_ranks").fail("expected three values, by size of message");
  std::transform(most_ranks.begin(), most_ranks.end(), curve.most_ranks.begin(),
                 [](std::int64_t n) { return static_cast<int>(n); });
  if (efficiency.size() != curve.curve.efficiency.size()) {
    node.at("efficiency").fail("expected three values: with 2, 4 and 8 ranks");
  }
  std::copy(efficiency.begin(), efficiency.end(), curve.curve.efficiency.begin());
  return curve;
}

ExpertCurve read_experts(const Node& node) {
  ExpertCurve c;
  Fields f;
  f.add("combine", c.combine, "combine; false: dispatch");
  f.add("low_latency", c.low_latency, "low-latency kernels; false: normal");
  f.add("start", c.start, "time of no bytes").required();
  f.add("share", c.share, "reached share of the nominal bandwidth").range(0.01, 1).required();
  f.add("each_sm", c.each_sm, "most that one multiprocessor sends; normal kernels within a node");
  f.add("rows", c.rows, "rows fitted").range(0, 1e9);
  f.add("left_out_error", c.left_out_error, "sigma of ln(predicted/measured)").range(0, 10);
  f.read(node);
  return c;
}

template <class T>
void add_list(Fields& f, std::string name, std::vector<T>& items, T (*read)(const Node&),
              std::string doc) {
  f.custom(
      std::move(name), Field::Type::kList,
      [&items, read](const Node& node) {
        if (!node.is_list()) node.fail("expected a list");
        for (const Node& item : node.items()) items.push_back(read(item));
      },
      [] { return nlohmann::ordered_json(); }, std::move(doc));
}

FittedAcross read_across(const Node& node) {
  FittedAcross a;
  Fields f;
  f.add("gpus", a.gpus, "beginning of the GPUs' ids; empty: all");
  f.add("start", a.curve.start, "factor of the latency").range(0.01, 1000).required();
  f.add("width", a.curve.width, "factor of the bandwidth").range(0.01, 10).required();
  f.add("pipelining", a.curve.pipelining, "weight of the square root").range(0, 100).required();
  f.add("rows", a.rows, "rows fitted").range(0, 1e9);
  f.add("start_error", a.errors.start, "sigma of what is not transfer, groups left out")
      .range(0, 10);
  f.add("width_error", a.errors.width, "sigma of the transfer, groups left out").range(0, 10);
  f.add("curve_error", a.errors.curve, "sigma of single sizes").range(0, 10);
  f.add("start_elsewhere", a.elsewhere.start, "start_error of networks not measured").range(0, 10);
  f.add("width_elsewhere", a.elsewhere.width, "width_error of networks not measured").range(0, 10);
  f.add("most_ranks", a.most_ranks, "ranks of the largest measured group").range(0, 1 << 24);
  f.add("versions", a.versions, kVersionsDoc);
  f.read(node);
  a.elsewhere.curve = a.errors.curve;
  return a;
}

std::string_view kind_text(FabricKind kind) {
  switch (kind) {
    case FabricKind::kSwitch:
      return "switch";
    case FabricKind::kMesh:
      return "mesh";
    case FabricKind::kTorus:
      return "torus";
    case FabricKind::kBus:
      return "bus";
    case FabricKind::kNic:
      return "nic";
  }
  return "";
}

// Whether the frameworks have an all-reduce of their own for a group (vLLM, SGLang: 2, 4, 6, 8
// ranks).
bool has_framework_all_reduce(int ranks) { return ranks <= 8 && ranks % 2 == 0; }

// The kind whose curve serves a kind that has none of its own.
Collective::Kind curve_kind(Collective::Kind kind) {
  if (kind == Collective::Kind::kBroadcast) return Collective::Kind::kAllGather;
  if (kind == Collective::Kind::kReduce) return Collective::Kind::kReduceScatter;
  return kind;
}

// The end of a curve's text.
std::string versions_text(const std::vector<std::string>& versions) {
  return versions.empty() ? "" : fmt::format(", versions: [{}]", fmt::join(versions, ", "));
}

double in_microseconds(Seconds t) { return t / microseconds(1); }

void declare_head(Fields& f, FabricConstants& c) {
  f.add("fabrics", c.fabrics, "ids of the fabrics measured").required();
  f.add("stands_for", c.stands_for,
        "fabrics never measured that use these constants: beginnings of ids, or kinds");
  f.add_enum("origin", c.origin, {"exact", "measured", "fitted", "transferred", "analytical"},
             "what the constants rest on");
  f.add("measured_on", c.measured_on, "ids of the GPUs measured");
  f.add("recipe", c.recipe, "how the constants were made: method, number of rows").required();
}

}  // namespace

void declare(Fields& f, FabricConstants& c) {
  declare_head(f, c);
  f.custom(
       "curves", Field::Type::kList,
       [&c](const Node& node) {
         if (!node.is_list()) node.fail("expected a list of curves");
         for (const Node& item : node.items()) c.curves.push_back(read_curve(item));
       },
       [] { return nlohmann::ordered_json(); }, "one for each stack, algorithm and collective")
      .required();
  add_list(f, "across", c.across, read_across, "the library's factors over several nodes");
  add_list(f, "experts", c.experts, read_experts, "dispatch and combine of experts");
}

std::string to_yaml(const FabricConstants& c) {
  std::string text = fmt::format("fabrics: [{}]\n", fmt::join(c.fabrics, ", "));
  if (!c.stands_for.empty())
    text += fmt::format("stands_for: [{}]\n", fmt::join(c.stands_for, ", "));
  text += fmt::format("origin: {}\nmeasured_on: \"{}\"\nrecipe: \"{}\"\ncurves:{}\n",
                      to_text(c.origin), c.measured_on, c.recipe, c.curves.empty() ? " []" : "");
  for (const FittedCurve& f : c.curves) {
    text += fmt::format("  - {{stack: {}, algorithm: {}, collective: {},", f.stack,
                        to_text(f.algorithm), kKinds[index(f.kind)]);
    if (f.least_ranks > 2) text += fmt::format(" least_ranks: {},", f.least_ranks);
    text += fmt::format(
        "\n     latency: {:.4g} us, step: {:.4g} us, pipelining: {:.4g}, efficiency: [{:.4g}, "
        "{:.4g}, {:.4g}],\n"
        "     rows: {}, left_out_error: [{:.3f}, {:.3f}, {:.3f}], most_ranks: [{}]{}}}\n",
        in_microseconds(f.curve.latency), in_microseconds(f.curve.step), f.curve.pipelining,
        f.curve.efficiency[0], f.curve.efficiency[1], f.curve.efficiency[2], f.rows,
        f.left_out_error[0], f.left_out_error[1], f.left_out_error[2],
        fmt::join(f.most_ranks, ", "), versions_text(f.versions));
  }
  if (!c.across.empty()) text += "across:\n";
  for (const FittedAcross& a : c.across) {
    text += fmt::format(
        "  - {{gpus: \"{}\", start: {:.4g}, width: {:.4g}, pipelining: {:.4g}, rows: {}, "
        "most_ranks: {},\n"
        "     start_error: {:.3f}, width_error: {:.3f}, curve_error: {:.3f}, start_elsewhere: "
        "{:.3f}, width_elsewhere: {:.3f}{}}}\n",
        a.gpus, a.curve.start, a.curve.width, a.curve.pipelining, a.rows, a.most_ranks,
        a.errors.start, a.errors.width, a.errors.curve, a.elsewhere.start, a.elsewhere.width,
        versions_text(a.versions));
  }
  if (!c.experts.empty()) text += "experts:\n";
  for (const ExpertCurve& e : c.experts) {
    text += fmt::format("  - {{low_latency: {}, combine: {}, start: {:.4g} us, share: {:.4g}",
                        e.low_latency, e.combine, in_microseconds(e.start), e.share);
    if (e.each_sm > BytesPerSecond(0))
      text += fmt::format(", each_sm: {:.4g} GB/s", e.each_sm.value() / 1e9);
    text += fmt::format(", rows: {}, left_out_error: {:.3f}}}\n", e.rows, e.left_out_error);
  }
  return text;
}

FabricConstants read_network_constants(const Node& document) {
  FabricConstants constants;
  Fields fields;
  declare(fields, constants);
  fields.read(document);
  return constants;
}

std::vector<std::string> network_constants_paths(const Bundle& bundle) {
  std::vector<std::string> paths = bundle.list("network", ".yaml");
  std::erase_if(paths, [](const std::string& path) {
    return is_nccl_tables(path) || path == kUnseenServersPath;
  });
  return paths;
}

namespace {

// The constants that `read` makes of a text. A process reads each text once, because a search over
// layouts makes many models of few networks.
template <class Read>
const FabricConstants& read_once(std::string_view text, const Read& read) {
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<const FabricConstants>, std::less<>> known;
  const std::lock_guard lock(mutex);
  auto at = known.find(text);
  if (at == known.end()) {
    auto made = std::make_unique<const FabricConstants>(read());
    at = known.emplace(std::string(text), std::move(made)).first;
  }
  return *at->second;
}

}  // namespace

NetworkConstants::NetworkConstants(const Bundle& bundle) {
  for (const std::string& path : network_constants_paths(bundle)) {
    auto file = bundle.find(path);
    if (!file) continue;
    const std::string_view text = std::string_view(file->content)
                                      .substr(0, std::string_view(file->content).find("\ncurves:"));
    heads_.push_back(read_once(text, [&] {
      FabricConstants head;
      Fields fields;
      declare_head(fields, head);
      fields.read(parse_yaml(text, file->name));
      return head;
    }));
    files_.push_back(std::move(*file));
  }
}

MeasuredConstants NetworkConstants::of(const Fabric& fabric) const {
  const ConstantsMatch match = match_constants(heads_, fabric);
  if (match.constants == nullptr) return {};
  const Bundle::File& file = files_[index(match.constants - heads_.data())];
  const auto read = [&] { return read_network_constants(parse_yaml(file.content, file.name)); };
  return {read_once(file.content, read), match.origin};
}

ConstantsMatch match_constants(const std::vector<FabricConstants>& all, const Fabric& fabric) {
  const FabricConstants* best = nullptr;
  std::size_t strength = 0;
  for (const FabricConstants& c : all) {
    if (std::find(c.fabrics.begin(), c.fabrics.end(), fabric.id) != c.fabrics.end())
      return {&c, c.origin};
    for (const std::string& name : c.stands_for) {
      const std::size_t match = fabric.id.starts_with(name)      ? 1 + name.size()
                                : name == kind_text(fabric.kind) ? 1
                                                                 : 0;
      if (match > strength) {
        strength = match;
        best = &c;
      }
    }
  }
  return {best,
          best == nullptr ? Origin::kAnalytical : std::max(best->origin, Origin::kTransferred)};
}

// Most of the bus that a ring with bridged neighbours reaches: headers and flow control take some
// of every wire.
constexpr double kMostBridged = 0.97;

CurveChoice fastest(const std::vector<FittedCurve>& curves, std::string_view stack,
                    const FabricCollective& c, std::optional<CollectiveAlgorithm> only) {
  using Kind = Collective::Kind;
  const auto time_by = [&c](const FittedCurve& f, CollectiveAlgorithm algorithm) {
    CostCurve curve = f.curve;
    if (c.tree != nullptr) {
      const bool ring = c.kind == Kind::kSend || curve_algorithm(algorithm).to_neighbours;
      curve.efficiency.fill(curve.efficiency[0]);
      return curve_time(curve, c.kind, algorithm, c.ranks, c.bytes,
                        ring ? c.tree->ring : c.tree->pairs);
    }
    if (c.bridged > 1 && curve_algorithm(algorithm).to_neighbours) {
      for (double& share : curve.efficiency) share = std::min(kMostBridged, share * c.bridged);
    }
    return curve_time(curve, c.kind, algorithm, c.ranks, c.bytes, c.bandwidth);
  };
  CurveChoice best;
  const Kind wanted = curve_kind(c.kind);
  for (const FittedCurve& f : curves) {
    if (f.kind != wanted || c.ranks < f.least_ranks) continue;
    if (only && f.algorithm != *only) continue;
    const CurveAlgorithm& algorithm = curve_algorithm(f.algorithm);
    if (algorithm.framework_kernel &&
        (f.stack != stack || !has_framework_all_reduce(c.ranks) || !c.fabric.peer_to_peer))
      continue;
    if (algorithm.reduces_in_switch && !c.fabric.in_network_reduction) continue;
    if (c.version && has_model(f.algorithm, AlgorithmModel::kTuner) &&
        *c.version < tuner_algorithm(f.algorithm).since)
      continue;
    const CurveTime t = time_by(f, f.algorithm);
    if (best.curve == nullptr || t.total < best.time.total) best = {t, &f, f.algorithm};
  }
  if (best.curve != nullptr || wanted == Kind::kAllReduce) return best;
  if (wanted == Kind::kSend) {
    for (const FittedCurve& f : curves) {
      if (f.kind != Kind::kAllToAll || f.algorithm != CollectiveAlgorithm::kDirect) continue;
      // A lone send waits for no other transfer of its GPU: only the start and the wire remain.
      FittedCurve lone = f;
      lone.curve.pipelining = 0;
      return {time_by(lone, f.algorithm), &f, f.algorithm};
    }
  }
  const auto algorithm = wanted == Kind::kAllToAll || wanted == Kind::kSend
                             ? CollectiveAlgorithm::kDirect
                             : CollectiveAlgorithm::kRing;
  for (const FittedCurve& f : curves) {
    if (f.algorithm == CollectiveAlgorithm::kRing) return {time_by(f, algorithm), &f, algorithm};
  }
  return best;
}

std::size_t size_class(Bytes bytes) {
  return bytes < Bytes(1 << 20) ? 0 : bytes < Bytes(128 << 20) ? 1 : 2;
}

bool FabricConstants::was_measured_on(std::string_view gpu) const {
  const std::string_view all = measured_on;
  for (std::size_t at = all.find(gpu); at != all.npos; at = all.find(gpu, at + 1)) {
    const std::size_t end = at + gpu.size();
    if ((at == 0 || all[at - 1] == ' ') && (end == all.size() || all[end] == ',')) return true;
  }
  return false;
}

const FittedAcross* FabricConstants::across_of(std::string_view gpu) const {
  const FittedAcross* found = nullptr;
  for (const FittedAcross& a : across) {
    if (gpu.starts_with(a.gpus) && (found == nullptr || a.gpus.size() > found->gpus.size()))
      found = &a;
  }
  return found;
}

}  // namespace orrery
