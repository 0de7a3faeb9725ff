// The fleets of one kind, by their size: what a plan that divides GPUs chooses from.
//
// A kind is an engine option, or a pair of options with a pool for prefill and one for decode. The
// size of a fleet is what it takes of the stock. Engines that do both have one fleet of each size,
// n engines. Of two pools, x and y engines, a size has several fleets: for each x, the most y that
// the GPUs of the size allow, both with their spare ones. A size that no fleet takes up entirely is
// left out, because a smaller one serves as much.
//
// A fleet serves at most what its engines are bound to (bound/engine_bound.h); of two pools, the
// one that serves less:
//
//   n most      min(x prefill, y decode)         requests/s
#pragma once

#include <cstdint>
#include <vector>

#include "orrery/planner/question/plan_question.h"
#include "orrery/planner/search/first_stage.h"

namespace orrery {

// Engines that work, without spare ones.
struct PoolCounts {
  std::int64_t engines = 1;   // of prefill, where there is a pool for decode
  std::int64_t decoders = 0;  // 0: the engines do both
};

class FleetSizes {
 public:
  // Borrows everything. Sizes go up to `kMostTimes` times what the load is likely to need, as far
  // as the question's stock, GPUs and budget allow.
  FleetSizes(const PlanChoice& plan, const PlannedLoad& load, const RatedOption& engine,
             const RatedOption* decode);

  // Sizes are numbered 1, 2, ..., each larger than the one before.
  std::int64_t sizes() const { return static_cast<std::int64_t>(gpus_.size()); }
  // With spare engines. The value is that of the objective; money is in USD an hour.
  std::int64_t gpus(std::int64_t n) const { return gpus_[at(n)]; }
  double value(std::int64_t n) const;
  double money(std::int64_t n) const;
  // The fleets of a size, those first that may serve most.
  std::vector<PoolCounts> fleets(std::int64_t n) const;

  // Requests/s that a fleet serves at most, and those that it is likely to serve.
  double most(const PoolCounts& fleet) const;
  double likely(const PoolCounts& fleet) const;
  FleetPlan plan(const PoolCounts& fleet) const;

  const GpuStock& gpu() const { return engine_.option.gpu; }
  bool apart() const { return decode_ != nullptr; }

  static constexpr std::int64_t kMostTimes = 8, kMostTimesApart = 3;

 private:
  static std::size_t at(std::int64_t n) { return static_cast<std::size_t>(n - 1); }
  void size_engines(double rate);
  void size_pools(double rate);
  // The numbers of engines for decode that each number of engines for prefill leaves of `gpus`.
  std::vector<PoolCounts> splits(std::int64_t gpus) const;
  double hour_of_gpu() const;

  const PlanChoice& plan_;
  const RatedOption& engine_;
  const RatedOption* decode_;
  std::vector<std::int64_t> gpus_;
  // By the number of engines, from 1: GPUs of a pool with its spare ones.
  std::vector<std::int64_t> engine_gpus_, decode_gpus_;
};

// All kinds of PlanChoice::modes: the options, and the pairs of options of one GPU with the same
// board settings, engine and format. Pairs are left out where prompts may be in the prefix cache,
// since prefill is not bounded then.
std::vector<FleetSizes> fleet_kinds(const PlanChoice& plan, const PlannedLoad& load,
                                    const FirstStage& first);

}  // namespace orrery
