// Prefix-aware: the engine that holds most of the prompt in its prefix cache. Among equals, and for
// prompts that nobody knows, the one with the fewest unfinished requests. An engine that has more
// than kImbalance requests beyond the least loaded one is passed over: a popular prefix would
// otherwise draw all load to one engine (SGLang's router does the same above a threshold).
#include "orrery/serving/routers/router.h"

namespace orrery {
namespace {

constexpr std::int64_t kImbalance = 32;

class Prefix : public Router {
 public:
  std::size_t route(const Arrival& arrival, std::span<const EngineView> engines) override {
    std::int64_t least = INT64_MAX;
    for (const EngineView& e : engines) least = std::min(least, e.outstanding());
    std::size_t best = 0;
    std::int64_t best_load = INT64_MAX;
    std::int32_t best_cached = -1;
    for (std::size_t i = 0; i < engines.size(); ++i) {
      const std::int64_t load = engines[i].outstanding();
      if (load > least + kImbalance) continue;
      const std::int32_t cached = engines[i].cached_prompt(arrival.index);
      if (cached > best_cached || (cached == best_cached && load < best_load))
        best = i, best_cached = cached, best_load = load;
    }
    return best;
  }
};

}  // namespace

std::unique_ptr<Router> make_prefix_router(std::uint64_t) { return std::make_unique<Prefix>(); }

}  // namespace orrery
