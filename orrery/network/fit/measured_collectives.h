// The measured collectives to which the constants of the network are fitted, by fabric.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/base/units.h"
#include "orrery/hardware/cluster.h"
#include "orrery/network/collectives/nccl_tuner.h"
#include "orrery/workload/ops/op.h"

namespace orrery {

// A row within a node.
struct MeasuredCollective {
  std::string gpu;                // id
  std::string stack = "library";  // "library" is NCCL or RCCL; else the framework of the all-reduce
  Collective::Kind kind = Collective::Kind::kAllReduce;
  int ranks = 2;
  Bytes bytes;  // as Collective::bytes
  Seconds time;
  BytesPerSecond bandwidth;  // nominal, of one rank on the fabric
  int bridged = 1;           // as GroupLink::bridged
  std::string version;       // of the library; empty: not stated
};

// A row on several nodes.
struct MeasuredAcross {
  std::string gpu;    // id
  std::string group;  // rows of one group are left out at once: "h100-sxm x16 all_reduce"
  int ranks = 2;
  Bytes bytes;
  Seconds time;
  NcclCosts costs;
  Seconds bound;        // bisection_bound
  std::string version;  // of the library; empty: not stated
};

struct FabricRows {
  Fabric fabric;
  std::set<std::string> systems;         // ids of the GPUs
  std::vector<MeasuredCollective> rows;  // within a node of this fabric
  std::vector<MeasuredAcross> across;    // on several nodes that it connects
};
using MeasuredFabrics = std::map<std::string, FabricRows>;  // by fabric id

// Finds a full node (at least eight GPUs) of a GPU, by any of the GPU's names.
class NodeOf {
 public:
  explicit NodeOf(const Bundle& bundle) : catalog_(bundle), tables_(nccl_tables(bundle)) {}
  const Cluster& operator()(const std::string& gpu);
  const Catalog& catalog() const { return catalog_; }
  const NcclTables& tables() const { return tables_; }

 private:
  Catalog catalog_;
  const NcclTables& tables_;
  std::map<std::string, Cluster> clusters_;
};

// Reads the tables that network_fit.h names below `data`. InputError: a table is missing or
// malformed.
MeasuredFabrics read_measured_collectives(const std::filesystem::path& data, NodeOf& node_of);

}  // namespace orrery
