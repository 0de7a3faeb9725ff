#include "orrery/base/kinds.h"
#include "orrery/serving/routers/router.h"

namespace orrery {

#define KIND(name, make, doc) std::unique_ptr<Router> make(std::uint64_t seed);
#include "orrery/serving/routers/routers.def"
#undef KIND

const std::vector<RouterKind>& router_kinds() {
  static const std::vector<RouterKind> kinds = {
#define KIND(name, make, doc) {name, doc, make},
#include "orrery/serving/routers/routers.def"
#undef KIND
  };
  return kinds;
}

std::unique_ptr<Router> make_router(std::string_view name, std::uint64_t seed) {
  return kind_named(router_kinds(), "router", name).make(seed);
}

}  // namespace orrery
