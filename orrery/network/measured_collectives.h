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
#include "orrery/workload/op.h"

namespace orrery {

struct MeasuredCollective {
  std::string stack = "library";  // NCCL or RCCL, or the framework whose all-reduce it is
  Collective::Kind kind = Collective::Kind::kAllReduce;
  int ranks = 2, nodes = 1;
  Bytes bytes;  // as Collective::bytes
  Seconds time;
  BytesPerSecond bandwidth;  // nominal, of one rank on the fabric
};

struct FabricRows {
  Fabric fabric;
  std::set<std::string> systems;  // ids of the GPUs
  std::vector<MeasuredCollective> rows;
};
using MeasuredFabrics = std::map<std::string, FabricRows>;  // by fabric id

// Eight GPUs of one kind in their usual node, by any name of the GPU.
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
