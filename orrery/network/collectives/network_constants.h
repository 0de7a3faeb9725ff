// The constants of catalog/network/*.yaml: one file for each measured fabric, with one curve for
// each algorithm and kind of collective of each stack. Files are text made by fit_network
// (network_fit.h), or kept by hand where their `recipe` says so.
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
#include "orrery/network/collectives/cost.h"
#include "orrery/network/collectives/expert_exchange.h"
#include "orrery/network/collectives/library_curve.h"

namespace orrery {

// One line of a file.
struct FittedCurve {
  std::string stack = "library";  // "library": NCCL or RCCL; or "vllm", "trtllm", "sglang"
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::kRing;
  // all_gather also serves broadcast, reduce_scatter reduce, all_to_all send where there is no
  // curve of it.
  Collective::Kind kind = Collective::Kind::kAllReduce;
  int least_ranks = 2;  // not chosen for smaller groups
  CostCurve curve;
  std::int64_t rows = 0;  // measured rows fitted
  // Sigma of ln(predicted/measured) on rows left out of the fit, of messages below 1 MiB, below 128
  // MiB, and from there on: between those whose 50 % and 90 % intervals hold so many.
  std::array<double, 3> left_out_error{};

  // A framework's own kernel: only those work so.
  bool custom() const {
    return algorithm == CollectiveAlgorithm::kOneShot || algorithm == CollectiveAlgorithm::kTwoShot;
  }
};
std::size_t size_class(Bytes bytes);  // 0, 1, 2: of left_out_error

// The library's factors over several nodes that this network connects.
struct FittedAcross {
  std::string gpus;  // beginning of the GPUs' ids; empty: all
  LibraryCurve curve;
  std::int64_t rows = 0;
  PartErrors errors;     // of other groups on this network (across_fit.h)
  PartErrors elsewhere;  // of a network that was not measured
};

struct FabricConstants {
  std::vector<std::string> fabrics;  // measured on these
  // Fabrics never measured that take these constants with their own bandwidth: beginnings of fabric
  // ids, or names of kinds (switch, mesh, torus, bus, nic). Beginnings win over kinds, longer over
  // shorter ones.
  std::vector<std::string> stands_for;
  Origin origin = Origin::kMeasured;
  std::string measured_on;  // ids of GPUs: "h100-sxm, h200-sxm"
  std::string recipe;
  std::vector<FittedCurve> curves;
  std::vector<FittedAcross> across;
  std::vector<ExpertCurve> experts;

  // The factors for a GPU: those of the longest beginning of its id; nullptr if there are none.
  const FittedAcross* across_of(std::string_view gpu) const;
  bool was_measured_on(std::string_view gpu) const;
};

void declare(Fields& fields, FabricConstants& constants);

// The text of a file as fit_network writes it; read_network_constants reads it back.
std::string to_yaml(const FabricConstants& constants);
FabricConstants read_network_constants(const Node& document);

// All files, sorted by name.
std::vector<FabricConstants> load_network_constants(const Bundle& bundle);

// The constants for a fabric and how directly they apply: as the file says (kMeasured) for a fabric
// of the file, kTransferred for one that it stands for, kAnalytical and nullptr where no file
// applies.
struct ConstantsMatch {
  const FabricConstants* constants = nullptr;
  Origin origin = Origin::kAnalytical;
};
ConstantsMatch match_constants(const std::vector<FabricConstants>& all, const Fabric& fabric);

// The same straight from the files, of which only those that apply are read beyond their heads (all
// that stands before `curves`).
class NetworkConstants {
 public:
  explicit NetworkConstants(const Bundle& bundle);

  struct Found {
    FabricConstants constants;  // without curves where no file applies
    Origin origin = Origin::kAnalytical;
  };
  Found of(const Fabric& fabric) const;

 private:
  std::vector<FabricConstants> heads_;
  std::vector<Bundle::File> files_;  // of the heads
};

// The fastest curve for a group on one fabric. Curves of `stack` and of its library are tried; the
// frameworks' own all-reduces exist for 2, 4, 6 and 8 ranks with peer-to-peer access. A send
// without a curve takes the all-to-all's constants, any other kind those of the ring all-reduce.
// `only`: the library's curves of this algorithm alone.
struct CurveChoice {
  CurveTime time;
  const FittedCurve* curve = nullptr;  // nullptr: no curve at all
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::kRing;
};
CurveChoice fastest(const std::vector<FittedCurve>& curves, std::string_view stack,
                    const Fabric& fabric, Collective::Kind kind, int ranks, Bytes bytes,
                    BytesPerSecond bandwidth, std::optional<CollectiveAlgorithm> only = {});

}  // namespace orrery
