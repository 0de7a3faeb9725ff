// The documents by which others learn the interface: OpenAPI, and the keys of each verb.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "apps/server/limits.h"
#include "orrery/base/bundle.h"

namespace orrery::server {

// OpenAPI 3.1 of /api/v1, made from the declarations of the verbs' keys and the scenario's schema.
nlohmann::ordered_json openapi_document();

// The keys of each verb with type, unit, range, choices, default and help, for forms.
nlohmann::ordered_json keys_document();

// The verbs of all kinds of questions in the order of lists, with what the page shows of each.
nlohmann::ordered_json verbs_document();

// Names that keys take: models, GPUs, node types, engines, recipes.
nlohmann::ordered_json facts_document(const Bundle& bundle);

// The limits of this server, and the program's version.
nlohmann::ordered_json limits_document(const ServeLimits& limits);

}  // namespace orrery::server
