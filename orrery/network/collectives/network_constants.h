// The fitted constants of networks: catalog/network/<id>.yaml, a file for each measured fabric.
//
// A file holds a curve (cost.h) for each stack, algorithm and kind of collective within a node; the
// library's factors across nodes (library_curve.h); and the curves of the exchange of experts
// (expert_exchange.h). `orrery fit network` writes the files; a few are kept by hand, as their
// `recipe` says. The files nccl-<version>.yaml of the same folder hold NCCL's tables
// (nccl_tables.h) instead.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/base/estimate.h"
#include "orrery/base/fields.h"
#include "orrery/hardware/fabric.h"
#include "orrery/network/algorithms/cost.h"
#include "orrery/network/algorithms/library_version.h"
#include "orrery/network/collectives/expert_exchange.h"
#include "orrery/network/collectives/library_curve.h"
#include "orrery/network/wires/pcie_rates.h"

namespace orrery {

// A curve of a file.
struct FittedCurve {
  std::string stack = "library";  // "library" is NCCL or RCCL; or "vllm", "trtllm", "sglang"
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::kRing;
  // The curve of all_gather also serves a broadcast, that of reduce_scatter a reduce, and that of
  // all_to_all, without its pipelining, a send that has no curve of its own.
  Collective::Kind kind = Collective::Kind::kAllReduce;
  int least_ranks = 2;  // not chosen for smaller groups
  CostCurve curve;
  std::int64_t rows = 0;  // measured rows fitted; 0: the curve of another fabric
  // Standard deviation of ln(predicted / measured) on rows left out of the fit (sigma_of of
  // across_fit.h), by size_class of the message.
  std::array<double, 3> left_out_error{};
  // Ranks of the largest measured group, by size_class of the message; 0: not known.
  std::array<int, 3> most_ranks{};
  std::vector<std::string> versions;  // of NCCL, as far as the sources of the rows state them
};
// 0: below 1 MiB; 1: below 128 MiB; 2: from there on.
std::size_t size_class(Bytes bytes);

// The library's factors on several nodes that this network connects.
struct FittedAcross {
  std::string gpus;  // beginning of the ids of the GPUs that they hold for; empty: all
  LibraryCurve curve;
  std::int64_t rows = 0;  // measured rows fitted; 0: what most networks have (across_fit.h)
  PartErrors errors;      // of groups on this network that the fit has not seen (across_fit.h)
  PartErrors elsewhere;   // of networks that were not measured
  int most_ranks = 0;     // of the largest measured group; 0: not known
  std::vector<std::string> versions;  // as FittedCurve::versions
};

// A file.
struct FabricConstants {
  std::vector<std::string> fabrics;  // ids of the measured fabrics
  // Fabrics that were never measured and use these constants with their own bandwidth: beginnings
  // of fabric ids, or names of kinds (switch, mesh, torus, bus, nic). A beginning takes precedence
  // over a kind, and a longer beginning over a shorter one.
  std::vector<std::string> stands_for;
  Origin origin = Origin::kMeasured;
  std::string measured_on;  // ids of GPUs: "h100-sxm, h200-sxm"
  std::string recipe;
  std::vector<FittedCurve> curves;
  std::vector<FittedAcross> across;
  std::vector<ExpertCurve> experts;

  // The factors for a GPU: those whose `gpus` is the longest beginning of its id; nullptr: none.
  const FittedAcross* across_of(std::string_view gpu) const;
  bool was_measured_on(std::string_view gpu) const;
};

void declare(Fields& fields, FabricConstants& constants);

// The text of a file as fit_network writes it; read_network_constants reads it back.
std::string to_yaml(const FabricConstants& constants);
FabricConstants read_network_constants(const Node& document);

// The constants for a fabric and how directly they apply: with the file's own origin for a fabric
// of the file, kTransferred for one that it stands for, nullptr and kAnalytical if no file applies.
struct ConstantsMatch {
  const FabricConstants* constants = nullptr;
  Origin origin = Origin::kAnalytical;
};
ConstantsMatch match_constants(const std::vector<FabricConstants>& all, const Fabric& fabric);

struct MeasuredConstants {
  FabricConstants constants;  // without curves if no file applies
  Origin origin = Origin::kAnalytical;
};

// The files of the catalog. A file is parsed beyond its head (all that precedes `curves`) only when
// its constants are asked for.
class NetworkConstants {
 public:
  explicit NetworkConstants(const Bundle& bundle);

  MeasuredConstants of(const Fabric& fabric) const;

 private:
  std::vector<FabricConstants> heads_;
  std::vector<Bundle::File> files_;  // of the heads
};

// The catalog's files of fitted constants, sorted by name.
std::vector<std::string> network_constants_paths(const Bundle& bundle);

// A collective of a group of ranks on one fabric.
struct FabricCollective {
  const Fabric& fabric;
  Collective::Kind kind = Collective::Kind::kAllReduce;
  int ranks = 2;
  Bytes bytes;
  BytesPerSecond bandwidth;                 // nominal, of one rank
  int bridged = 1;                          // as GroupLink::bridged
  std::optional<LibraryVersion> version{};  // of NCCL; empty: one that has every algorithm
  const PcieRates* tree = nullptr;          // of the group; nullptr: no tree is described
};

struct CurveChoice {
  CurveTime time;
  const FittedCurve* curve = nullptr;  // nullptr: the fabric has no curve
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::kRing;
};
// The fastest curve for a collective, among those of `stack` and of the library. Where neighbours
// have bridges, a ring takes the bus for one hop in `bridged`. What limits all hops together (root
// ports, the link between sockets) then lets each be faster by that factor, up to the wire. Over a
// described tree a curve has the rates of the tree, at its share for two ranks, which share
// nothing. The frameworks' own all-reduces exist for 2, 4, 6 and 8 ranks with peer-to-peer access.
// An algorithm that the version of NCCL does not have is not chosen. A send without a curve has
// start and bandwidth of the all-to-all; any other collective without one those of the ring
// all-reduce. `only`: restricts the choice to this algorithm.
CurveChoice fastest(const std::vector<FittedCurve>& curves, std::string_view stack,
                    const FabricCollective& collective,
                    std::optional<CollectiveAlgorithm> only = {});

}  // namespace orrery
