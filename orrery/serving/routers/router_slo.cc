// SLO-aware: the engine that promises the first token soonest (Engine::predicted_ttft), what its
// prefix cache holds not counted as work. Among equals the one with the fewest unfinished requests.
#include "orrery/serving/routers/router.h"

namespace orrery {
namespace {

class Slo : public Router {
 public:
  std::size_t route(const Arrival& arrival, std::span<const EngineView> engines) override {
    std::size_t best = 0;
    SimTime soonest = kNever;
    for (std::size_t i = 0; i < engines.size(); ++i) {
      const EngineView& e = engines[i];
      const SimTime t =
          e.predicted_ttft(arrival.request.input - e.cached_prompt(arrival.index), arrival.now);
      if (t < soonest || (t == soonest && e.outstanding() < engines[best].outstanding()))
        best = i, soonest = t;
    }
    return best;
  }
};

}  // namespace

std::unique_ptr<Router> make_slo_router(std::uint64_t) { return std::make_unique<Slo>(); }

}  // namespace orrery
