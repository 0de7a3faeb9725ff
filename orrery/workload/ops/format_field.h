// Declares a number format as a parameter with all of its names.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>

#include "orrery/base/error.h"
#include "orrery/base/fields.h"
#include "orrery/workload/ops/format.h"

namespace orrery {

// Adds a field that takes every text that `parse` accepts, and an empty one for no format. Other
// texts are refused with their place and the `known` names.
template <class Parse>
Field& add_format(Fields& fields, std::string name, std::string& value, Parse parse,
                  std::span<const std::string> known, std::string doc) {
  return fields.custom(
      std::move(name), Field::Type::kText,
      [&value, parse, known](const Node& n) {
        if (!n.text().empty() && !parse(n.as_string())) {
          n.fail(fmt::format("expected one of {}, got '{}'{}", fmt::join(known, ", "), n.text(),
                             did_you_mean(n.text(), known)));
        }
        value = n.as_string();
      },
      [&value] { return nlohmann::ordered_json(value); }, std::move(doc));
}

}  // namespace orrery
