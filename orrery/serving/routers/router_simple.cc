// Routers of a few lines: in turn, at random, by session, and by the number of unfinished requests.
#include <algorithm>

#include "orrery/serving/routers/router.h"

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

// Requests of one session go to one engine; requests without a session go to engines in turn.
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

}  // namespace

std::unique_ptr<Router> make_round_robin_router(std::uint64_t) {
  return std::make_unique<RoundRobin>();
}
std::unique_ptr<Router> make_random_router(std::uint64_t seed) {
  return std::make_unique<Random>(seed);
}
std::unique_ptr<Router> make_least_outstanding_router(std::uint64_t) {
  return std::make_unique<LeastOutstanding>();
}
std::unique_ptr<Router> make_power_of_two_router(std::uint64_t seed) {
  return std::make_unique<PowerOfTwo>(seed);
}
std::unique_ptr<Router> make_session_router(std::uint64_t) {
  return std::make_unique<SessionAffinity>();
}

}  // namespace orrery
