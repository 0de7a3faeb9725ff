// The interface of routers, which choose the engine that a request goes to.
//
// A router sees the engines that take requests, with their present loads or those of its last look
// (engine_view.h). It reads no clock.
//
// Adding one: a class in a file of its own, and an entry of routers.def (docs/serving.md).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "orrery/base/random.h"
#include "orrery/serving/engine/engine_view.h"
#include "orrery/serving/requests/request.h"

namespace orrery {

// A request that a router must place.
struct Arrival {
  const Request& request;
  std::uint32_t index;  // index in the load
  SimTime now;
};

class BlindRouter;

class Router {
 public:
  virtual ~Router() = default;
  // Index in `engines` of the chosen engine. REQUIRES at least one engine. Engines come and go
  // between calls, but keep their order.
  virtual std::size_t route(const Arrival& arrival, std::span<const EngineView> engines) = 0;
  // This router if it does not look at engines, else null.
  virtual BlindRouter* blind() { return nullptr; }
};

// A router that needs only the number of engines. What one engine does then never affects another,
// so that engines can be simulated in parallel (independent_engines.h).
class BlindRouter : public Router {
 public:
  virtual std::size_t pick(const Arrival& arrival, std::size_t engines) = 0;
  std::size_t route(const Arrival& arrival, std::span<const EngineView> engines) final {
    return pick(arrival, engines.size());
  }
  BlindRouter* blind() final { return this; }
};

// One entry of routers.def.
struct RouterKind {
  std::string_view name, doc;
  std::unique_ptr<Router> (*make)(std::uint64_t seed);
};
const std::vector<RouterKind>& router_kinds();
// A new router. Throws InputError with the nearest name.
std::unique_ptr<Router> make_router(std::string_view name, std::uint64_t seed);

}  // namespace orrery
