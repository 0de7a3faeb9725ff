// Texts of which keys of results are made: everything that a result depends on beside the catalog
// and the program.
//
// The canonical scenario is its document after all defaults (to_json), which reads back as the same
// question, without its name and sentence. Where a value names a file, such as a trace or a model's
// config.json, the digest of what the file holds follows.
#pragma once

#include <string>

#include "orrery/base/bundle.h"
#include "orrery/scenario/question/scenario.h"

namespace orrery {

// The numbers of a question are exact in it.
std::string canonical_text(const Scenario& scenario);

// A number, to be part of a key: no other one has the same text.
std::string exact_number(double x);

// The digest of all facts, with those that are laid over the bundled ones.
std::string catalog_digest(const Bundle& bundle);

}  // namespace orrery
