// Groups of measured rows that the authors had in sight while they shaped the models.
//
// A row is an honest judge only if nobody looked at it, or at a row of its group, to choose a
// formula or a setting. catalog/validation/seen-groups.txt lists the groups that somebody looked
// at, one name a line ("llama-3.1-70b|fp8|h200-sxm-141gb|trtllm|agg"), and reports state the errors
// of seen and unseen groups apart.
#pragma once

#include <string_view>

namespace orrery {

// Whether `group`, as the tables of inference name it, is listed in the bundled catalog.
bool seen_group(std::string_view group);

}  // namespace orrery
