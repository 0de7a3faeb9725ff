#include "orrery/network/fit/measured_collectives.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "orrery/base/csv.h"
#include "orrery/network/collectives/nccl_graph.h"
#include "orrery/network/fit/measured_place.h"

namespace orrery {
namespace {

using CollectiveKind = Collective::Kind;

std::optional<CollectiveKind> kind_of(std::string_view op) {
  if (op == "all_reduce") return CollectiveKind::kAllReduce;
  if (op == "all_gather") return CollectiveKind::kAllGather;
  if (op == "reduce_scatter") return CollectiveKind::kReduceScatter;
  if (op == "alltoall") return CollectiveKind::kAllToAll;
  if (op == "sendrecv") return CollectiveKind::kSend;
  return std::nullopt;
}

void add(MeasuredFabrics& tables, NodeOf& node_of, const std::string& system,
         MeasuredCollective row) {
  const GroupLink link = node_of(system).link(row.ranks);
  row.bandwidth = link.bandwidth;
  row.bridged = link.bridged;
  row.gpu = node_of(system).gpu().id;
  FabricRows& table = tables[link.fabric->id];
  table.fabric = *link.fabric;
  table.systems.insert(node_of(system).gpu().id);
  table.rows.push_back(std::move(row));
}

void read_nccl(const std::filesystem::path& file, MeasuredFabrics& tables, NodeOf& node_of) {
  CsvReader csv(file);
  const int system = csv.column("system"), framework = csv.column("framework"),
            version = csv.column("version"), op = csv.column("op"), dtype = csv.column("dtype"),
            gpus = csv.column("gpus"), elements = csv.column("elements"),
            latency = csv.column("latency_us");
  while (csv.next()) {
    if (csv.text(framework) != "nccl") continue;
    MeasuredCollective row;
    const auto kind = kind_of(csv.text(op));
    if (!kind) csv.fail(op, "expected all_reduce, all_gather, reduce_scatter or alltoall");
    row.kind = *kind;
    const bool half = csv.text(dtype) == "half";
    // Sums of bytes take other kernels (no in-network reduction) than the 16-bit sums of models.
    if (!half &&
        (row.kind == CollectiveKind::kAllReduce || row.kind == CollectiveKind::kReduceScatter))
      continue;
    row.ranks = static_cast<int>(csv.integer(gpus));
    row.bytes = Bytes(csv.number(elements) * (half ? 2 : 1));
    row.time = microseconds(csv.number(latency));
    row.version = csv.text(version);
    add(tables, node_of, std::string(csv.text(system)), row);
  }
}

constexpr Bytes kDistrustAbove(256.0 * 1024), kDistrustBelow(16.0 * 1024 * 1024);

void read_frameworks(const std::filesystem::path& file, MeasuredFabrics& tables, NodeOf& node_of) {
  CsvReader csv(file);
  const int system = csv.column("system"), framework = csv.column("framework"),
            mode = csv.column("mode"), gpus = csv.column("gpus"), elements = csv.column("elements"),
            latency = csv.column("latency_us");
  while (csv.next()) {
    if (csv.text(mode) != "graph") continue;
    MeasuredCollective row;
    row.stack = csv.text(framework);
    row.ranks = static_cast<int>(csv.integer(gpus));
    row.bytes = Bytes(csv.number(elements) * 2);
    row.time = microseconds(csv.number(latency));
    // vLLM's own all-reduce on B200 and B300 between 512 KiB and 8 MiB is up to four times as slow
    // in this table as whole steps of the engine allow (docs/reference/composition.md).
    const bool blackwell =
        node_of(std::string(csv.text(system))).gpu().architecture.id == "blackwell";
    if (row.stack == "vllm" && blackwell && row.bytes > kDistrustAbove &&
        row.bytes < kDistrustBelow)
      continue;
    add(tables, node_of, std::string(csv.text(system)), row);
  }
}

// Groups within a node that measured.csv has and the kernel tables lack. The fabric is that of the
// usual node of `system`.
struct MeasuredInside {
  std::string_view collective, spelling, gpu;
  int ranks;
  std::string_view system;
};
const MeasuredInside kMeasuredInside[] = {
    {"all_reduce", "xGMI", "MI300X", 8, "mi300x"},
    {"sendrecv", "NVSwitch", "H100_SXM", 2, "h100-sxm"},
    {"all_reduce", "NVL72", "GB200", 72, "gb200"},
    {"all_reduce", "NVL72", "GB300", 8, "gb300"},
    // Pairs of GPUs have bridges, but a ring of four crosses the slower bus between the pairs.
    {"all_reduce", "NVLink_pair+PCIe", "H100_PCIe_NVLink_pairs", 4, "h100-pcie"},
};

// Whether the library chose the algorithm. RCCL's largest rows of MI325X set NCCL_ALGO=Ring, which
// is also RCCL's own choice there.
bool is_default(std::string_view tuning, std::string_view library) {
  return tuning.find("ALGO") == std::string_view::npos || library == "RCCL";
}

bool is_library_kind(std::string_view collective) {
  return collective == "all_reduce" || collective == "all_gather" || collective == "reduce_scatter";
}

void add_across(MeasuredFabrics& tables, NodeOf& node_of, const Cluster& cluster,
                const MeasuredCollective& measured) {
  const CollectiveKind kind = measured.kind;
  const int ranks = measured.ranks;
  const GroupLink link = cluster.link(ranks);
  MeasuredAcross row{cluster.gpu().id,
                     fmt::format("{} x{} {}", cluster.gpu().id, ranks, to_text(kind)),
                     ranks,
                     measured.bytes,
                     measured.time,
                     nccl_costs(nccl_graph(node_of.tables(), cluster, link), kind),
                     bisection_bound(cluster, link, kind, measured.bytes),
                     measured.version};
  FabricRows& table = tables[link.fabric->id];
  table.fabric = node_of.catalog().fabric(link.fabric->id);
  table.systems.insert(row.gpu);
  table.across.push_back(std::move(row));
}

void read_measured(const std::filesystem::path& file, MeasuredFabrics& tables, NodeOf& node_of) {
  CsvReader csv(file);
  const int collective = csv.column("collective"), library = csv.column("library"),
            version = csv.column("version"), gpu = csv.column("gpu"), ranks = csv.column("n_gpus"),
            nodes = csv.column("nodes"), fabric = csv.column("fabric"),
            tuning = csv.column("tuning"), bytes = csv.column("message_bytes"),
            time = csv.column("time_us"), in_place = csv.column("time_inplace_us");
  // Users of RoCE set more queues and channels. Over InfiniBand rows with and without exist, and
  // those with the default count.
  const auto tuned = [&] {
    return csv.text(fabric).starts_with("IB") && csv.text(tuning) != "default";
  };
  while (csv.next()) {
    if (csv.empty(bytes) || csv.empty(time)) continue;
    if (!is_default(csv.text(tuning), csv.text(library))) continue;
    MeasuredCollective row;
    row.ranks = static_cast<int>(csv.integer(ranks));
    row.bytes = Bytes(csv.number(bytes));
    row.version = csv.text(version);
    // A single slow out-of-place row shows the first touch of its memory.
    row.time =
        microseconds(std::min(csv.number(time), csv.optional_number(in_place).value_or(1e30)));
    for (const MeasuredInside& m : kMeasuredInside) {
      if (m.collective != csv.text(collective) || m.spelling != csv.text(fabric) ||
          m.gpu != csv.text(gpu) || m.ranks != row.ranks) {
        continue;
      }
      row.kind = *kind_of(m.collective);
      add(tables, node_of, std::string(m.system), row);
    }
    if (csv.integer(nodes) == 1 || csv.text(fabric) == "NVL72" ||
        !is_library_kind(csv.text(collective)) || tuned())
      continue;
    const auto place = measured_place(node_of.catalog(), csv.text(gpu), row.ranks,
                                      static_cast<int>(csv.integer(nodes)),
                                      fabric_spelling(csv.text(fabric), csv.text(tuning)));
    if (place) {
      row.kind = *kind_of(csv.text(collective));
      add_across(tables, node_of, *place, row);
    }
  }
}

}  // namespace

const Cluster& NodeOf::operator()(const std::string& gpu) {
  auto it = clusters_.find(gpu);
  if (it == clusters_.end()) {
    const Gpu kind = catalog_.gpu(gpu);
    const NodeType node = catalog_.node_type(measured_node(kind));
    it = clusters_.try_emplace(gpu, catalog_, kind, std::max(8, node.gpu_count), node).first;
  }
  return it->second;
}

MeasuredFabrics read_measured_collectives(const std::filesystem::path& data, NodeOf& node_of) {
  MeasuredFabrics tables;
  read_nccl(data / "kernels/collective_nccl.csv.gz", tables, node_of);
  read_frameworks(data / "kernels/collective_allreduce.csv.gz", tables, node_of);
  read_measured(data / "network/measured.csv", tables, node_of);
  return tables;
}

}  // namespace orrery
