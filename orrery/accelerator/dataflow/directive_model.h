// Cycles, accesses and energy of a layer under a dataflow of directives, in MAESTRO's convention.
//
// At each level, the steps of all maps are counted in cases (step_cases.h). A case brings in what
// is new (level_reuse.h), computes, and takes out what is finished; with double buffering these go
// on at the same time:
//
//   cycles of a step = max(in, compute, out, off chip); of the first step: in + compute
//   in, out          = hops' latency + ceil(elements / bandwidth) - 1
//   compute          = the cycles of the slowest sub-cluster; of a unit: its multiply-adds / lanes
//
// Each sub-cluster's tile is a case of its own. The counts of the outermost level are those of L2
// (above) and L1 (below). Source: H. Kwon et al., MICRO 2019; behaviour of MAESTRO (MIT licence).
#pragma once

#include <cstdint>

#include "orrery/accelerator/dataflow/directives.h"

namespace orrery {

struct DirectiveMachine {
  std::int64_t units = 256;
  std::int64_t lanes = 1;                 // multiply-adds of a unit in a cycle
  std::int64_t network_bandwidth = 1000;  // elements a cycle
  std::int64_t network_latency = 1;       // cycles
  std::int64_t offchip_bandwidth = 50;    // elements a cycle
};

// Reads and writes of a tensor, in elements.
struct TensorAccesses {
  double l1_reads = 0, l1_writes = 0, l2_reads = 0, l2_writes = 0;
};

struct DirectiveCost {
  double cycles = 0;
  double multiply_adds = 0;
  TensorAccesses input, filter, output;
  double l1_words = 0, l2_words = 0;  // sizes that the buffers need
  // Elements a cycle that the network needs: the most, and the mean over steps.
  double peak_bandwidth = 0, mean_bandwidth = 0;
  // Elements a cycle that the memory behind L2 needs. The tool halves its figure once a case.
  double offchip_bandwidth = 0;
  double units = 0;                 // in use, mean over steps
  double arithmetic_intensity = 0;  // multiply-adds of a step per element brought in
};

// InputError as of cluster_levels.
DirectiveCost evaluate_directives(const DirectiveLayer& layer, const DirectiveMachine& machine);

// Energy of the accesses in nJ: of L1 and of L2. The reads of outputs from L2 are not counted.
// The constants are MAESTRO's: an access of L1 is 1.68 multiply-adds, one of L2 18.61, and a
// multiply-add 0.00023 nJ.
double l1_energy(const DirectiveCost& cost);
double l2_energy(const DirectiveCost& cost);

}  // namespace orrery
