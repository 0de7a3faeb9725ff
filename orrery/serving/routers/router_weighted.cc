// Weighted load: the least (4 * waiting + running) / capacity, vLLM's score of a data-parallel rank
// divided by how many tokens the engine's KV memory holds, so that engines of different GPUs or tp
// share the load by their size. The request itself counts as running, so that of idle engines the
// largest is taken.
#include "orrery/serving/routers/router.h"

namespace orrery {
namespace {

class Weighted : public Router {
 public:
  std::size_t route(const Arrival&, std::span<const EngineView> engines) override {
    std::size_t best = 0;
    double least = 0;
    for (std::size_t i = 0; i < engines.size(); ++i) {
      const EngineView& e = engines[i];
      const double score = static_cast<double>(4 * e.waiting() + e.running() + 1) /
                           static_cast<double>(e.kv_tokens());
      if (i == 0 || score < least) best = i, least = score;
    }
    return best;
  }
};

}  // namespace

std::unique_ptr<Router> make_weighted_router(std::uint64_t) { return std::make_unique<Weighted>(); }

}  // namespace orrery
