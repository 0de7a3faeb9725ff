#include "orrery/hardware/catalog_file.h"

#include <fmt/format.h>

#include "orrery/base/error.h"

namespace orrery {
namespace {

// Checks that every group of the document is a map, so that the required keys of one that is
// written without a value ("memory:") are missed.
void check_groups(const Node& map, const Fields& fields) {
  for (const Field& f : fields.all()) {
    const Node* value = map.find(f.name());
    if (!value || !f.group()) continue;
    if (!value->is_map()) value->fail("expected a map of keys");
  }
}

}  // namespace

void read_catalog_file(const Node& document, const Fields& fields, const std::string& id,
                       const std::vector<std::string>& sources,
                       const std::vector<std::string>& unsure) {
  if (!document.is_map()) document.fail("expected a map of keys");
  check_groups(document, fields);
  fields.read(document);
  if (id.empty() || id != canonical_name(id)) {
    document.at("id").fail(
        fmt::format("expected lower-case letters, digits and '-', got '{}'", id));
  }
  if (sources.empty()) document.at("sources").fail("at least one source is needed");
  for (std::size_t i = 0; i < unsure.size(); ++i) {
    if (!fields.find(unsure[i])) {
      document.at("unsure").fail(fmt::format("no field is called '{}'", unsure[i]));
    }
  }
}

}  // namespace orrery
