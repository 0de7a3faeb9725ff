// Recorded optimal mappings with their energy and latency (measured/accelerator/
// optimal_mappings.txt): the text that AccelForge prints, a block for each search.
//
//   RESULT tpu1024 wall=6.50 s E=0.00040553048 L=1.56038095e-05 n=1 rss=0.28GB
//      [W0,T1,T0 in MainMemory]
//      ...
//      act ('Matmul0', 'LocalBuffer', 'T0', 'read') 67108864
//
// The numbers are of arithmetic in single precision.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace orrery {

// Bits that a memory reads or writes of a tensor in an einsum, or the operations of an einsum.
struct OptimalAction {
  std::string einsum, component, tensor, action;
  double count = 0;
};

struct OptimalRecord {
  std::string label;  // of the search: chip, workload and variant
  std::string text;   // of the mapping
  int line = 0;       // at which it begins
  double energy = 0;  // joules
  double seconds = 0;
  std::vector<OptimalAction> actions;
};

// InputError with the line: a block without energy or latency, an action of another form.
std::vector<OptimalRecord> read_optimal_records(const std::filesystem::path& file);

}  // namespace orrery
