#include "orrery/serving/requests/arrivals.h"

#include <fmt/format.h>

#include "orrery/base/error.h"
#include "orrery/base/kinds.h"

namespace orrery {

#define KIND(name, make, ...) std::unique_ptr<ArrivalProcess> make(const ArrivalParameters& p);
#include "orrery/serving/requests/arrivals.def"
#undef KIND

const std::vector<ArrivalKind>& arrival_kinds() {
  static const std::vector<ArrivalKind> kinds = {
#define KIND(name, make, doc, ...) {name, doc, make, {__VA_ARGS__}},
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

std::unique_ptr<ArrivalProcess> make_arrivals(std::string_view name, const ArrivalParameters& p) {
  const auto need = [](const char* key, double v, double least, double most) {
    if (v >= least && v <= most) return;
    throw InputError(fmt::format("load.{}: expected {} to {}, got {}", key, least, most, v));
  };
  need("rate", p.rate, 1e-9, 1e9);
  need("burstiness", p.burstiness, 1e-3, 1e6);
  need("end_rate", p.end_rate, 1e-9, 1e9);
  need("period", p.period.value(), 1e-3, 1e9);
  need("amplitude", p.amplitude, 0, 1);
  return arrival_kind(name).make(p);
}

}  // namespace orrery
