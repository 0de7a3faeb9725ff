// The measured collectives that the network's constants are fitted to, by fabric.
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

struct MeasuredCollective {
  std::string stack = "library";  // NCCL or RCCL, or the framework whose all-reduce it is
  Collective::Kind kind = Collective::Kind::kAllReduce;
  int ranks = 2;
  Bytes bytes;  // as Collective::bytes
  Seconds time;
  BytesPerSecond bandwidth;  // nominal, of one rank on the fabric
};

// A row over several nodes.
struct MeasuredAcross {
  std::string gpu;    // id
  std::string group;  // what is left out together: "h100-sxm x16 all_reduce"
  Bytes bytes;
  Seconds time;
  NcclCosts costs;
  Seconds bound;  // bisection_bound
};

struct FabricRows {
  Fabric fabric;
  std::set<std::string> systems;         // ids of the GPUs
  std::vector<MeasuredCollective> rows;  // inside one node of this fabric
  std::vector<MeasuredAcross> across;    // over nodes that it connects
};
using MeasuredFabrics = std::map<std::string, FabricRows>;  // by fabric id

// A full node (at least eight GPUs) of one kind of GPU, by any name of the GPU.
class NodeOf {
 public:
  explicit NodeOf(const Bundle& bundle) : catalog_(bundle) {}
  const Cluster& operator()(const std::string& gpu);
  const Catalog& catalog() const { return catalog_; }

 private:
  Catalog catalog_;
  std::map<std::string, Cluster> clusters_;
};

// Reads the tables that network_fit.h names below `data`. InputError: a table is missing or
// malformed.
MeasuredFabrics read_measured_collectives(const std::filesystem::path& data, NodeOf& node_of);

}  // namespace orrery
