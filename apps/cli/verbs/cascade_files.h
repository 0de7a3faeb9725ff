// The files of a question about a cascade: a chip, a workload and a mapping.
#pragma once

#include <string>

#include "orrery/accelerator/architecture/chip_yaml.h"
#include "orrery/accelerator/mapping/cascade_mapping.h"
#include "orrery/accelerator/problem/cascade.h"
#include "orrery/base/bundle.h"

namespace orrery::cli {

struct CascadeQuestion {
  Chip chip;
  Cascade cascade;
  CascadeMapping mapping;
};

// Reads `arch` and `workload`, each a file or the name of a bundled one (nvdla, matmul_1024), and
// the mapping in the text of AccelForge. InputError as of the readers. Infeasible: every memory and
// axis that the mapping overfills, a sentence each.
CascadeQuestion read_cascade_question(const std::string& arch, const std::string& workload,
                                      const std::string& mapping, const Bundle& bundle);

}  // namespace orrery::cli
