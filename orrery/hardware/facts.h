// What the files of gpus/, fabrics/ and nodes/ have in common: an id, sources and the list of
// doubtful fields.
#pragma once

#include <string>
#include <vector>

#include "orrery/base/fields.h"
#include "orrery/base/node.h"

namespace orrery {

// Reads `document` into `fields`, of which `id`, `sources` and `unsure` are members. InputError if
// the document is empty, an id is not in canonical form, there is no source, or `unsure` names no
// field.
void read_facts(const Node& document, const Fields& fields, const std::string& id,
                const std::vector<std::string>& sources, const std::vector<std::string>& unsure);

}  // namespace orrery
