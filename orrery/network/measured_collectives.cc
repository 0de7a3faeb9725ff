#include "orrery/network/measured_collectives.h"

#include <algorithm>
#include <optional>

#include "orrery/base/csv.h"

namespace orrery {
namespace {

using Kind = Collective::Kind;

std::optional<Kind> kind_of(std::string_view op) {
  if (op == "all_reduce") return Kind::kAllReduce;
  if (op == "all_gather") return Kind::kAllGather;
  if (op == "reduce_scatter") return Kind::kReduceScatter;
  if (op == "alltoall") return Kind::kAllToAll;
  if (op == "sendrecv") return Kind::kSend;
  return std::nullopt;
}

void add(MeasuredFabrics& tables, NodeOf& node_of, const std::string& system,
         MeasuredCollective row) {
  const GroupLink link = node_of(system).link(row.ranks);
  row.bandwidth = link.bandwidth;
  FabricRows& table = tables[link.fabric->id];
  table.fabric = *link.fabric;
  table.systems.insert(node_of(system).gpu().id);
  table.rows.push_back(std::move(row));
}

void read_nccl(const std::filesystem::path& file, MeasuredFabrics& tables, NodeOf& node_of) {
  CsvReader csv(file);
  const int system = csv.column("system"), framework = csv.column("framework"),
            op = csv.column("op"), dtype = csv.column("dtype"), gpus = csv.column("gpus"),
            elements = csv.column("elements"), latency = csv.column("latency_us");
  while (csv.next()) {
    if (csv.text(framework) != "nccl") continue;
    MeasuredCollective row;
    const auto kind = kind_of(csv.text(op));
    if (!kind) csv.fail(op, "expected all_reduce, all_gather, reduce_scatter or alltoall");
    row.kind = *kind;
    const bool half = csv.text(dtype) == "half";
    // Sums of bytes take other kernels (no in-network reduction) than the 16-bit sums of models.
    if (!half && (row.kind == Kind::kAllReduce || row.kind == Kind::kReduceScatter)) continue;
    row.ranks = static_cast<int>(csv.integer(gpus));
    row.bytes = Bytes(csv.number(elements) * (half ? 2 : 1));
    row.time = microseconds(csv.number(latency));
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
    // in this table as whole steps of the engine allow (../shared/reference/composition.md, tables
    // to distrust).
    const bool blackwell = node_of(std::string(csv.text(system))).gpu().architecture == "blackwell";
    if (row.stack == "vllm" && blackwell && row.bytes > kDistrustAbove &&
        row.bytes < kDistrustBelow)
      continue;
    add(tables, node_of, std::string(csv.text(system)), row);
  }
}

// Networks that measured.csv has groups on, by its spelling of the fabric. The
// bandwidth is that of one GPU's share of the node's ports.
struct MeasuredNetwork {
  std::string_view spelling, id;
  BytesPerSecond per_gpu;
};
constexpr BytesPerSecond kGbit(1e9 / 8);
const MeasuredNetwork kMeasuredNetworks[] = {
    {"IB_NDR_8x400G", "ib-ndr", kGbit * 400},
    {"RoCE_8x400G", "roce-400", kGbit * 400},
    {"EFA_32x100G", "efa-100", kGbit * 400},
    {"TCPXO_8x200G", "tcpxo-200", kGbit * 200},
};

// Groups inside a node that it has and the kernel tables lack; the fabric is that of `system`'s
// usual node.
struct MeasuredInside {
  std::string_view collective, spelling, gpu;
  int ranks;
  std::string_view system;
};
const MeasuredInside kMeasuredInside[] = {
    {"all_reduce", "xGMI", "MI300X", 8, "mi300x"},
    {"sendrecv", "NVSwitch", "H100_SXM", 2, "h100-sxm"},
    // Pairs have bridges, but a ring of four crosses the bus between them, which is slower.
    {"all_reduce", "NVLink_pair+PCIe", "H100_PCIe_NVLink_pairs", 4, "h100-pcie"},
};

void read_measured(const std::filesystem::path& file, MeasuredFabrics& tables, NodeOf& node_of) {
  CsvReader csv(file);
  const int collective = csv.column("collective"), library = csv.column("library"),
            gpu = csv.column("gpu"), ranks = csv.column("n_gpus"), nodes = csv.column("nodes"),
            fabric = csv.column("fabric"), tuning = csv.column("tuning"),
            bytes = csv.column("message_bytes"), time = csv.column("time_us"),
            in_place = csv.column("time_inplace_us");
  while (csv.next()) {
    if (csv.empty(bytes) || csv.empty(time)) continue;
    // Forced algorithms are experiments; more queues and channels are what users of RoCE set.
    if (csv.text(tuning).find("ALGO") != std::string_view::npos) continue;
    MeasuredCollective row;
    row.ranks = static_cast<int>(csv.integer(ranks));
    row.nodes = static_cast<int>(csv.integer(nodes));
    row.bytes = Bytes(csv.number(bytes));
    // An isolated slow out-of-place row is a first-touch cost (the table's README).
    row.time =
        microseconds(std::min(csv.number(time), csv.optional_number(in_place).value_or(1e30)));
    if (row.nodes == 1) {
      for (const MeasuredInside& m : kMeasuredInside) {
        if (m.collective != csv.text(collective) || m.spelling != csv.text(fabric) ||
            m.gpu != csv.text(gpu) || m.ranks != row.ranks) {
          continue;
        }
        row.kind = *kind_of(m.collective);
        add(tables, node_of, std::string(m.system), row);
      }
      continue;
    }
    const auto known =
        std::find_if(std::begin(kMeasuredNetworks), std::end(kMeasuredNetworks),
                     [&](const MeasuredNetwork& m) { return m.spelling == csv.text(fabric); });
    if (known == std::end(kMeasuredNetworks) || csv.text(library) != "NCCL" ||
        csv.text(collective) != "all_reduce" ||
        (known->id == "ib-ndr" && csv.text(tuning) != "default")) {
      continue;
    }
    row.bandwidth = known->per_gpu;
    const Cluster& node = node_of(std::string(csv.text(gpu)));
    if (!tables.contains(node.scale_up()->id)) continue;  // its local transfers are not known
    FabricRows& table = tables[std::string(known->id)];
    table.fabric = node_of.catalog().fabric(known->id);
    table.systems.insert(node.gpu().id);
    table.rows.push_back(row);
  }
}

}  // namespace

const Cluster& NodeOf::operator()(const std::string& gpu) {
  auto it = clusters_.find(gpu);
  if (it == clusters_.end()) it = clusters_.try_emplace(gpu, catalog_, catalog_.gpu(gpu), 8).first;
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
