#include "orrery/scenario/fleet/fleet_energy.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "orrery/base/quantile.h"
#include "orrery/serving/steps/step_work.h"

namespace orrery {
namespace {

// Whole numbers up to 16, then 16 an octave: the work of a step is within 3 %.
std::int64_t coarse(double x) {
  constexpr double kSteps = 16;
  if (x <= kSteps) return std::llround(x);
  const double unit = std::ldexp(1, std::ilogb(x)) / kSteps;
  return std::llround(std::round(x / unit) * unit);
}

double mean(std::int64_t sum, std::int64_t n) { return n > 0 ? real(sum) / real(n) : 0; }

// The work of the mean of some steps. Each mean step is asked of the step room once.
class MeanSteps {
 public:
  explicit MeanSteps(const StepModel& steps) : steps_(steps) {}

  StepWork all(const StepCounts& counts) {
    return counts.steps > 0 ? one(counts).scaled(real(counts.steps)) : StepWork();
  }

 private:
  using Key = std::array<std::int64_t, 5>;  // decodes, past, prompts, tokens and past of each

  static std::int64_t at_least_one(double x) { return std::max<std::int64_t>(1, coarse(x)); }

  const StepWork& one(const StepCounts& c) {
    Key key{};
    if (c.decodes > 0)
      key[0] = at_least_one(mean(c.decodes, c.steps)),
      key[1] = at_least_one(mean(c.decode_past, c.decodes));
    if (c.prompts > 0)
      key[2] = at_least_one(mean(c.prompts, c.steps)),
      key[3] = at_least_one(mean(c.prompt_tokens, c.steps * key[2])),
      key[4] = coarse(mean(c.prompt_past, c.prompts));
    const auto [at, added] = known_.try_emplace(key);
    if (added) {
      Batch batch;
      if (key[2] > 0) batch.groups.push_back({key[2], key[3], real(key[4])});
      if (key[0] > 0) batch.groups.push_back({key[0], 1, real(key[1])});
      at->second = work_of(steps_.time(batch));
    }
    return at->second;
  }

  const StepModel& steps_;
  std::map<Key, StepWork> known_;
};

// The power of the boards of one pool.
class PoolBoards {
 public:
  PoolBoards(const StepPowerConstants& constants, const ServedModel& served)
      : constants_(constants),
        board_(constants.board(served.deployment.gpu.id)),
        gain_(constants.engine(served.deployment.engine.id)),
        limit_(*served.deployment.gpu.power),
        steps_(*served.steps) {}

  // Of one GPU of each engine in a window.
  Joules energy(const StepWindow& w) {
    const Seconds present = SimTime{w.present}.time();
    const Seconds busy = std::min(SimTime{w.busy}.time(), present);
    if (w.started > 0) {
      StepWork work = steps_.all(w.decoding);
      work += steps_.all(w.prefilling);
      share_ =
          share_of_limit(constants_, board_, gain_, work.stretched(SimTime{w.started}.time(), 1));
    }
    return limit_ * (busy * share_ + (present - busy) * board_.awake);
  }

 private:
  const StepPowerConstants& constants_;
  StepPowerConstants::Board board_;
  double gain_;
  Watts limit_;
  MeanSteps steps_;
  double share_ = 0;  // of the limit, of the last window in which steps started
};

}  // namespace

Boards PoolEnergy::boards_over(Seconds run) const {
  Boards b;
  if (gpu_time <= Seconds(0) || run <= Seconds(0)) return b;
  b.running.value = boards / gpu_time;
  b.run = gpu_time / run;
  return b;
}

PoolEnergy FleetEnergy::total() const {
  PoolEnergy sum;
  for (const PoolEnergy& p : pools)
    sum.boards += p.boards, sum.plant += p.plant, sum.gpu_time += p.gpu_time;
  return sum;
}

Seconds FleetEnergy::length(std::size_t i) const {
  return std::min(window, end - window * static_cast<double>(i));
}

Watts FleetEnergy::quantile(double p) const {
  std::vector<double> whole;
  for (const Watts w : series) whole.push_back(w.value());
  if (whole.size() > 1 && length(whole.size() - 1) < window) whole.pop_back();
  return Watts(orrery::quantile(std::move(whole), p));
}

FleetEnergy fleet_energy(const StepPowerConstants& constants, const std::vector<PoweredPool>& pools,
                         const SimulationResult& result) {
  FleetEnergy fleet;
  fleet.end = result.end.time();
  SimTime width;
  for (const StepWindows& w : result.windows) width = std::max(width, w.width());
  fleet.window = width.time();
  fleet.series.resize(static_cast<std::size_t>((result.end.ps + width.ps - 1) / width.ps));
  for (std::size_t p = 0; p < pools.size(); ++p) {
    const PoweredPool& pool = pools[p];
    StepWindows windows(width);
    windows.add(result.windows[p]);
    PoolBoards boards(constants, *pool.served);
    const double gpus = pool.served->plan.devices();
    PoolEnergy& sum = fleet.pools.emplace_back();
    const std::size_t n = std::min(fleet.series.size(), windows.windows().size());
    for (std::size_t i = 0; i < n; ++i) {
      const StepWindow& w = windows.windows()[i];
      if (w.present <= 0) continue;
      const Seconds length = fleet.length(i);
      PoolEnergy part;
      part.boards = boards.energy(w) * gpus;
      part.gpu_time = SimTime{w.present}.time() * gpus;
      part.plant = part.boards;
      if (pool.account)
        part.plant = pool.account->power(part.boards_over(length)).value * length;
      sum.boards += part.boards, sum.plant += part.plant, sum.gpu_time += part.gpu_time;
      fleet.series[i] += part.plant / length;
    }
  }
  return fleet;
}

}  // namespace orrery
