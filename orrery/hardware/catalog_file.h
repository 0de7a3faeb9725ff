// The common part of the files in catalog/gpus, catalog/fabrics and catalog/nodes: an id, the
// sources of the figures, and the list of doubtful figures.
#pragma once

#include <string>
#include <vector>

#include "orrery/base/fields.h"
#include "orrery/base/node.h"

namespace orrery {

// Reads `document` into `fields`, which include `id`, `sources` and `unsure`. InputError: an empty
// document, an id that is not in canonical form, no source, an entry of `unsure` that names no
// field.
void read_catalog_file(const Node& document, const Fields& fields, const std::string& id,
                       const std::vector<std::string>& sources,
                       const std::vector<std::string>& unsure);

}  // namespace orrery
