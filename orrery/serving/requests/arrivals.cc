#include "orrery/serving/requests/arrivals.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "orrery/base/error.h"
#include "orrery/base/kinds.h"

namespace orrery {

#define KIND(name, make, declare, ...)                              \
  std::unique_ptr<ArrivalProcess> make(const ArrivalParameters& p); \
  void declare(Fields&, OwnParameters&);
#include "orrery/serving/requests/arrivals.def"
#undef KIND

const std::vector<ArrivalKind>& arrival_kinds() {
  static const std::vector<ArrivalKind> kinds = {
#define KIND(name, make, declare, doc, ...) {name, doc, make, declare, {__VA_ARGS__}},
#include "orrery/serving/requests/arrivals.def"
#undef KIND
  };
  return kinds;
}

const ArrivalKind& arrival_kind(std::string_view name) {
  return kind_named(arrival_kinds(), "arrivals", name);
}

std::vector<std::string> arrivals_that_read(bool ArrivalReads::* parameter, bool reads) {
  std::vector<std::string> names;
  for (const ArrivalKind& k : arrival_kinds()) {
    if (k.reads.*parameter == reads) names.emplace_back(k.name);
  }
  return names;
}

namespace {

// The processes that have a parameter for themselves.
std::vector<std::string> arrivals_with(std::string_view parameter) {
  std::vector<std::string> names;
  for (const ArrivalKind& k : arrival_kinds()) {
    OwnParameters own;
    Fields fields;
    k.declare(fields, own);
    if (fields.find(parameter) != nullptr) names.emplace_back(k.name);
  }
  return names;
}

}  // namespace

void declare_arrivals(Fields& fields, OwnParameters& own, const std::string& process) {
  for (const ArrivalKind& kind : arrival_kinds()) {
    Fields its;
    kind.declare(its, own);
    for (const Field& field : its.all()) {
      if (fields.find(field.name()) != nullptr) continue;
      const std::vector<std::string> owners = arrivals_with(field.name());
      fields.add(field).needs(
          fmt::format("load.arrivals {}", fmt::join(owners, " or ")), [owners, &process] {
            return std::find(owners.begin(), owners.end(), process) != owners.end();
          });
    }
  }
}

void set_arrival_parameter(OwnParameters& own, std::string_view process, const std::string& key,
                           const std::string& value) {
  Fields fields;
  arrival_kind(process).declare(fields, own);
  Node keys;
  set_path(keys, key, scalar_node(value, "load." + key));
  fields.read(keys);
}

std::unique_ptr<ArrivalProcess> make_arrivals(std::string_view name, const ArrivalParameters& p) {
  const ArrivalKind& kind = arrival_kind(name);
  constexpr double kLeast = 1e-9, kMost = 1e9;
  if (!(p.rate >= kLeast && p.rate <= kMost))
    throw InputError(fmt::format("load.rate: expected {} to {}, got {}", kLeast, kMost, p.rate));
  return kind.make(p);
}

}  // namespace orrery
