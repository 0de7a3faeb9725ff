// Which replica a request goes to. A router sees queue lengths as they are now; it reads no clock.
//
// Adding one: a class in a file of its own and a line in routers.cc (docs/serving.md).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "orrery/base/random.h"
#include "orrery/serving/replica.h"
#include "orrery/serving/request.h"

namespace orrery {

class Router {
 public:
  virtual ~Router() = default;
  // REQUIRES at least one replica.
  virtual std::size_t route(const Request& request, std::span<const Replica> replicas) = 0;
};

struct RouterKind {
  std::string_view name, doc;
  std::unique_ptr<Router> (*make)(std::uint64_t seed);
};
const std::vector<RouterKind>& router_kinds();
// InputError naming the nearest.
std::unique_ptr<Router> make_router(std::string_view name, std::uint64_t seed);

}  // namespace orrery
