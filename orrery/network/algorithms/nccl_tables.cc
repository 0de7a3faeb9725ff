#include "orrery/network/algorithms/nccl_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/base/fields.h"

namespace orrery {
namespace {

constexpr std::string_view kBeginning = "network/nccl-", kEnding = ".yaml";
constexpr const char* kGenerations[] = {"volta", "ampere", "hopper", "blackwell"};

// A list of exactly as many numbers as `values` holds.
Field& add_numbers(Fields& f, std::string name, std::span<double> values, std::string doc) {
  return f.custom(
      std::move(name), Field::Type::kList,
      [values, doc](const Node& node) {
        if (!node.is_list() || node.items().size() != values.size())
          node.fail(fmt::format("expected a list of {} numbers: {}", values.size(), doc));
        for (std::size_t i = 0; i < values.size(); ++i) {
          values[i] = node.items()[i].as_double();
          if (!(values[i] >= 0) || values[i] > 1e6)
            node.items()[i].fail("expected a number of 0 to 1e6");
        }
      },
      [] { return nlohmann::ordered_json(); }, doc);
}

void add_latencies(Fields& f, const char* name, NcclTables::Latencies& table, const char* doc) {
  f.group(
       name,
       [&table](Fields& rows) {
         for (std::size_t a = 0; a < kCollectiveAlgorithms; ++a) {
           const auto algorithm = static_cast<CollectiveAlgorithm>(a);
           if (!has_model(algorithm, AlgorithmModel::kTuner)) continue;
           add_numbers(rows, std::string(to_text(algorithm)), table[a],
                       "microseconds with LL, LL128 and Simple");
         }
       },
       doc)
      .required();
}

void add_generations(Fields& f, const char* name, NcclTables::ByGeneration<double>& values,
                     const char* doc) {
  f.group(
       name,
       [&values](Fields& rows) {
         for (std::size_t g = 0; g < kNcclGenerations; ++g)
           rows.add(kGenerations[g], values[g], "GPUs of that generation").range(0, 1e6).required();
       },
       doc)
      .required();
}

void add_generations(Fields& f, const char* name,
                     NcclTables::ByGeneration<NcclTables::ByNodes>& values, const char* doc) {
  f.group(
       name,
       [&values](Fields& rows) {
         for (std::size_t g = 0; g < kNcclGenerations; ++g)
           add_numbers(rows, kGenerations[g], values[g], "GB/s on one, two, and more nodes")
               .required();
       },
       doc)
      .required();
}

void declare_bandwidths(Fields& f, NcclTables& t) {
  add_generations(f, "ll_one_node", t.ll_one_node, "GB/s that LL carries at most on one node");
  f.group(
       "ll_across",
       [&t](Fields& rows) {
         const auto row = [&rows](const char* maker, NcclTables::ByNodes& values) {
           add_numbers(rows, maker, std::span(values).subspan(1), "GB/s on two, and on more nodes")
               .required();
         };
         row("intel", t.ll_intel);
         row("amd", t.ll_amd);
       },
       "GB/s that LL carries at most across nodes, by the CPU's maker")
      .required();
  add_numbers(f, "ring_ll_share", t.ring_ll_share,
              "share of a ring with LL: of an all-reduce and on several nodes, and of the others")
      .required();
  add_generations(f, "ring_ll128", t.ring_ll128, "GB/s of a ring's channel with LL128");
  add_generations(f, "tree_ll128", t.tree_ll128, "GB/s of a tree's channel with LL128");
  add_generations(f, "tree", t.tree, "GB/s of a tree's channel");
  add_generations(f, "nvls_tree", t.nvls_tree, "GB/s of an NVLSTree's channel");
  add_generations(f, "nvls_efficiency", t.nvls_efficiency,
                  "share of its bandwidth that a channel of NVLS reaches");
}

void declare_graph(Fields& f, NcclTables::Graph& g) {
  f.add("node_channels", g.node_channels, "rings and trees on one node").range(1, 64).required();
  f.add("most_heads", g.most_heads, "most channels of NVLS, and across nodes")
      .range(1, 64)
      .required();
  f.add("lone_channels", g.lone_channels, "channels across nodes of one GPU")
      .range(1, 64)
      .required();
  const auto share = [&f](const char* name, double& value, const char* doc) {
    f.add(name, value, doc).range(0.01, 1).required();
  };
  share("nvlink_share", g.nvlink_share, "of NVLink's bandwidth: all channels of one node");
  f.add("nvls_parts", g.nvls_parts, "parts of that share; an NVLS channel has one")
      .range(1, 100)
      .required();
  share("nic_share", g.nic_share, "of a port's bandwidth");
  share("nvlink_across", g.nvlink_across, "of NVLink's bandwidth: all channels across nodes");
}

// The numbers of a file's version: {2, 30}.
std::vector<int> version_numbers(std::string_view path) {
  std::vector<int> numbers(1, 0);
  for (char c : path.substr(kBeginning.size(), path.size() - kBeginning.size() - kEnding.size())) {
    if (c >= '0' && c <= '9') {
      numbers.back() = numbers.back() * 10 + (c - '0');
    } else {
      numbers.push_back(0);
    }
  }
  return numbers;
}

}  // namespace

bool is_nccl_tables(std::string_view path) { return path.starts_with(kBeginning); }

NcclTables read_nccl_tables(const Node& document) {
  NcclTables t;
  std::vector<std::string> sources;
  Fields f;
  f.add("version", t.version, "of NCCL").required();
  f.add("sources", sources, "where the figures come from").required();
  add_latencies(f, "base_latency", t.base, "us of a call");
  add_latencies(f, "nvlink_latency", t.nvlink, "us of a step over NVLink");
  add_latencies(f, "pci_latency", t.pci, "us of a step over PCI Express");
  add_latencies(f, "network_latency", t.network, "us of a step between nodes");
  f.group(
       "network_post",
       [&t](Fields& rows) {
         rows.add("intel", t.intel_post, "us").range(0, 1000).required();
         rows.add("amd", t.amd_post, "us").range(0, 1000).required();
       },
       "us that posting a message to the network takes, by the CPU's maker")
      .required();
  declare_bandwidths(f, t);
  f.group(
       "tree_correction",
       [&t](Fields& rows) {
         for (std::size_t p = 0; p < kCollectiveProtocols; ++p)
           add_numbers(rows, collective_protocol_names()[p], t.tree_correction[p],
                       "factors for messages of 64 B, 128 B, 256 B, ...")
               .required();
       },
       "factors of a tree's bandwidth by message size")
      .required();
  f.group(
       "ring_plateau",
       [&t](Fields& rows) {
         rows.add("volta", t.plateau_volta, "factor").range(1, 100).required();
         rows.add("later", t.plateau, "factor").range(1, 100).required();
         rows.add("bytes", t.plateau_bytes, "of a channel and rank").range(0, 1e9).required();
       },
       "factor of a ring's latency with Simple on several nodes, from a size on")
      .required();
  f.group(
       "graph", [&t](Fields& rows) { declare_graph(rows, t.graph); },
       "what the search of the topology finds")
      .required();
  f.read(document);
  if (sources.empty()) document.at("sources").fail("at least one source is needed");
  return t;
}

namespace {

// The tables of a file, parsed once for each text.
const NcclTables& parsed_tables(const Bundle& bundle, const std::string* path) {
  const auto file = path == nullptr ? std::nullopt : bundle.find(*path);
  if (!file) throw InputError("catalog/network has no tables of NCCL's tuner (nccl-2.30.yaml)");
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<const NcclTables>, std::less<>> parsed;  // by text
  const std::lock_guard lock(mutex);
  auto it = parsed.find(file->content);
  if (it == parsed.end()) {
    auto tables =
        std::make_unique<const NcclTables>(read_nccl_tables(parse_yaml(file->content, file->name)));
    it = parsed.emplace(std::string(file->content), std::move(tables)).first;
  }
  return *it->second;
}

// The file that `better(a, b)` prefers to all others; nullptr if there is none.
template <class Better>
const std::string* best_tables(const std::vector<std::string>& paths, Better better) {
  const std::string* best = nullptr;
  for (const std::string& path : paths) {
    if (!is_nccl_tables(path)) continue;
    if (best == nullptr || better(version_numbers(path), version_numbers(*best))) best = &path;
  }
  return best;
}

}  // namespace

const NcclTables& nccl_tables(const Bundle& bundle) {
  const std::vector<std::string> paths = bundle.list("network", kEnding);
  return parsed_tables(bundle, best_tables(paths, std::greater<>()));
}

const NcclTables& nccl_tables(const Bundle& bundle, const LibraryVersion& version) {
  const std::vector<std::string> paths = bundle.list("network", kEnding);
  const auto distance = [&](const std::vector<int>& of_file) {
    const int minor = of_file.size() > 1 ? of_file[1] : 0;
    return std::pair(std::abs(minor - version.minor), minor);
  };
  return parsed_tables(bundle, best_tables(paths, [&](const auto& a, const auto& b) {
                         return distance(a) < distance(b);
                       }));
}

}  // namespace orrery
