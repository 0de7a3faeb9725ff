// The files of a question about a cascade: a chip, a workload and a mapping.
#pragma once

#include <string>
#include <vector>

#include "orrery/accelerator/architecture/chip_yaml.h"
#include "orrery/accelerator/mapping/cascade_mapping.h"
#include "orrery/accelerator/problem/cascade.h"
#include "orrery/base/bundle.h"
#include "orrery/scenario/kinds/accelerator/accelerator_question.h"

namespace orrery {

// The document of a file or of a text, or of the bundled file of this name below
// accelerators/`folder` (hierarchies, workloads). InputError with the nearest bundled name.
Node read_document_or_bundled(const std::string& name, const std::string& folder,
                              const Bundle& bundle);

// The last part of a path without its ending; of a text given in its place "chip".
std::string stem_of(const std::string& name);

struct CascadeQuestion {
  Chip chip;
  Cascade cascade;
  CascadeMapping mapping;
  bool timeloop = false;  // the files are Timeloop's
  bool energies = true;   // whether energies are known
};

// Reads `arch` and `workload`, each a file in our form or AccelForge's or the name of a bundled one
// (nvdla, matmul_1024), and the mapping, AccelForge's YAML or the text that it prints. InputError
// as of the readers. Infeasible: every memory and axis that the mapping overfills, a sentence each.
CascadeQuestion read_cascade_question(const AcceleratorQuestion& question, const Bundle& bundle);

// Reads the files of read_cascade_question or, if the architecture is Timeloop's, those of
// Timeloop, as a cascade of one step. Infeasible: axes that the mapping overfills.
CascadeQuestion read_exact_question(const AcceleratorQuestion& question, const Bundle& bundle);

}  // namespace orrery
