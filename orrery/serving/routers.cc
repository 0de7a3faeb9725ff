#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "orrery/base/error.h"
#include "orrery/base/kinds.h"
#include "orrery/serving/router.h"

namespace orrery {
namespace {

class RoundRobin : public BlindRouter {
 public:
  std::size_t pick(const Arrival&, std::size_t engines) override { return next_++ % engines; }

 private:
  std::size_t next_ = 0;
};

class Random : public BlindRouter {
 public:
  explicit Random(std::uint64_t seed) : stream_(seed, "router") {}
  std::size_t pick(const Arrival&, std::size_t engines) override {
    return static_cast<std::size_t>(stream_.below(engines));
  }

 private:
  RandomStream stream_;
};

class LeastOutstanding : public Router {
 public:
  std::size_t route(const Arrival&, std::span<const EngineView> engines) override {
    const auto least = std::min_element(
        engines.begin(), engines.end(),
        [](const EngineView& a, const EngineView& b) { return a.outstanding() < b.outstanding(); });
    return static_cast<std::size_t>(least - engines.begin());
  }
};

// The less loaded of two drawn at random (Mitzenmacher 2001).
class PowerOfTwo : public Router {
 public:
  explicit PowerOfTwo(std::uint64_t seed) : stream_(seed, "router") {}
  std::size_t route(const Arrival&, std::span<const EngineView> engines) override {
    const auto a = static_cast<std::size_t>(stream_.below(engines.size()));
    const auto b = static_cast<std::size_t>(stream_.below(engines.size()));
    return engines[b].outstanding() < engines[a].outstanding() ? b : a;
  }

 private:
  RandomStream stream_;
};

// Requests of one session stay together; those without one go round.
class SessionAffinity : public BlindRouter {
 public:
  std::size_t pick(const Arrival& a, std::size_t engines) override {
    return static_cast<std::size_t>(
               a.request.session >= 0 ? static_cast<std::uint64_t>(a.request.session) : next_++) %
           engines;
  }

 private:
  std::uint64_t next_ = 0;
};

template <class R>
std::unique_ptr<Router> plain(std::uint64_t) {
  return std::make_unique<R>();
}
template <class R>
std::unique_ptr<Router> seeded(std::uint64_t seed) {
  return std::make_unique<R>(seed);
}

}  // namespace

const std::vector<RouterKind>& router_kinds() {
  static const std::vector<RouterKind> kinds = {
      {"round-robin", "one after the other", plain<RoundRobin>},
      {"random", "any", seeded<Random>},
      {"least-outstanding", "fewest unfinished requests", plain<LeastOutstanding>},
      {"power-of-two", "the less loaded of two drawn at random", seeded<PowerOfTwo>},
      {"session", "requests of one session stay together", plain<SessionAffinity>},
      {"prefix", "the longest cached prefix; among equals the fewest requests", make_prefix_router},
      {"slo", "the least predicted time to the first token", make_slo_router},
      {"weighted", "the least (4 * waiting + running) / KV memory", make_weighted_router},
  };
  return kinds;
}

std::unique_ptr<Router> make_router(std::string_view name, std::uint64_t seed) {
  return kind_named(router_kinds(), "router", name).make(seed);
}

}  // namespace orrery
