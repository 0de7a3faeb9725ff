// The vocabulary of collective algorithms: the ways in which a collective can be carried out.
//
// One algorithm has one name everywhere: in the catalog (catalog/network), on the command line
// (`--algorithm`, `--flow-algorithm`), in answers, in the network room and in the flow room. The
// registry is collective_algorithms.def, with a line for each algorithm. A line names the models
// that have the algorithm:
//
//   CURVE  A fitted latency-bandwidth curve within a node
//          (orrery/network/algorithms/curve_algorithm.h).
//   TUNER  The cost model of NCCL's tuner (orrery/network/algorithms/tuner_algorithm.h).
//   FLOW   Messages over links in the flow simulation (orrery/flow/collectives/flow_algorithm.h).
//
// docs/network.md, "Adding a collective algorithm", adds one step by step.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace orrery {

enum class CollectiveAlgorithm {
#define ALGORITHM(value, name, models, doc) value,
#include "orrery/workload/ops/collective_algorithms.def"
#undef ALGORITHM
};

inline constexpr std::size_t kCollectiveAlgorithms = 0
#define ALGORITHM(value, name, models, doc) +1
#include "orrery/workload/ops/collective_algorithms.def"
#undef ALGORITHM
    ;

// The models that can have an algorithm.
enum class AlgorithmModel { kCurve, kTuner, kFlow };

// The algorithm's name: "ring", "nvls-tree", "halving-doubling". Static text.
std::string_view to_text(CollectiveAlgorithm algorithm);
// One sentence that describes the algorithm. Static text.
std::string_view description(CollectiveAlgorithm algorithm);
bool has_model(CollectiveAlgorithm algorithm, AlgorithmModel model);

// The names of the algorithms that `model` has, in the order of the registry.
const std::vector<std::string>& collective_algorithm_names(AlgorithmModel model);
// The algorithm of that name if `model` has it. Case, '-' and '_' are ignored, so that NCCL's
// spellings are understood ("NVLSTree", "CollNetDirect").
std::optional<CollectiveAlgorithm> parse_collective_algorithm(std::string_view text,
                                                              AlgorithmModel model);

// How a library marks that data has arrived, after NCCL's protocols.
enum class CollectiveProtocol {
  kLl,      // "ll": 4 bytes of flag with every 4 bytes of data; half of the bandwidth
  kLl128,   // "ll128": 8 bytes of flag in every 128; needs NVLink's ordered stores
  kSimple,  // "simple": a synchronisation for each chunk; the whole bandwidth
};
inline constexpr std::size_t kCollectiveProtocols = 3;

std::string_view to_text(CollectiveProtocol protocol);
const std::vector<std::string>& collective_protocol_names();
// As parse_collective_algorithm: "LL128" is ll128.
std::optional<CollectiveProtocol> parse_collective_protocol(std::string_view text);

// An algorithm and a protocol that the user prescribes, as NCCL_ALGO and NCCL_PROTO do. An empty
// member leaves that choice to the library.
struct ForcedChoice {
  std::optional<CollectiveAlgorithm> algorithm{};
  std::optional<CollectiveProtocol> protocol{};

  bool any() const { return algorithm || protocol; }
  bool allows(CollectiveAlgorithm a, CollectiveProtocol p) const {
    return (!algorithm || *algorithm == a) && (!protocol || *protocol == p);
  }
};

}  // namespace orrery
