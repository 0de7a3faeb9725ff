// Which engine a request goes to. A router sees the engines that take requests, as they are or as
// they were at its last look (engine_view.h); it reads no clock.
//
// Adding one: a class in a file of its own and a line in routers.def (docs/serving.md).
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

struct Arrival {
  const Request& request;
  std::uint32_t index;  // of the request in the load
  SimTime now;
};

class BlindRouter;

class Router {
 public:
  virtual ~Router() = default;
  // The place in `engines` of the one chosen. REQUIRES at least one engine. Engines come and go,
  // but keep their order.
  virtual std::size_t route(const Arrival& arrival, std::span<const EngineView> engines) = 0;
  // Itself, if it does not look at engines; else null.
  virtual BlindRouter* blind() { return nullptr; }
};

// One that needs to know no more of the engines than how many they are: what one engine does never
// bears on another, so that they can be simulated side by side (independent_engines.h).
class BlindRouter : public Router {
 public:
  virtual std::size_t pick(const Arrival& arrival, std::size_t engines) = 0;
  std::size_t route(const Arrival& arrival, std::span<const EngineView> engines) final {
    return pick(arrival, engines.size());
  }
  BlindRouter* blind() final { return this; }
};

struct RouterKind {
  std::string_view name, doc;
  std::unique_ptr<Router> (*make)(std::uint64_t seed);
};
const std::vector<RouterKind>& router_kinds();
// InputError naming the nearest.
std::unique_ptr<Router> make_router(std::string_view name, std::uint64_t seed);

}  // namespace orrery
