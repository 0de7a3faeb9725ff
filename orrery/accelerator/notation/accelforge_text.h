// The text of AccelForge's YAML files as plain YAML.
//
// AccelForge reads YAML with tags (`- !Memory`) through the templates of Jinja2. Tags become a key:
// the map of `!Memory` has `kind: Memory`. Of templates these are read:
//
//   {% set N = N | default(64) %}     N has this value, unless `values` has another
//   {% set N = 64 %}
//   {{ N }}                           the value of N
//   {# ... #}                         nothing
//
// Everything else (loops, macros, includes) is refused with the line: the file has to be rendered
// first.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "orrery/base/node.h"

namespace orrery {

// Values that a user gives for names of templates (the tool's jinja_parse_data).
using TemplateValues = std::map<std::string, std::string, std::less<>>;

// The document, with the lines of the text. InputError: what the text's template asks beyond the
// forms above, or what YAML refuses.
Node parse_accelforge(std::string_view text, const std::string& name,
                      const TemplateValues& values = {});

// Refuses a node that is no map, and a key that is none of `known`, with the nearest one.
void require_keys(const Node& map, std::span<const std::string> known);

}  // namespace orrery
