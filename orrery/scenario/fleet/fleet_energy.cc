#include "orrery/scenario/fleet/fleet_energy.h"

#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <unordered_map>

#include "orrery/base/quantile.h"
#include "orrery/energy/power/clock_power.h"
#include "orrery/energy/power/held_parts.h"
#include "orrery/scenario/setup/board_governor.h"
#include "orrery/step/step_memory.h"

namespace orrery {
namespace {

// The parts of an energy, in the order in which they are stated.
constexpr struct {
  const char* name;
  Joules EnergyParts::* energy;
} kParts[] = {{"idle", &EnergyParts::idle},           {"awake", &EnergyParts::awake},
              {"kernels", &EnergyParts::kernels},     {"arithmetic", &EnergyParts::arithmetic},
              {"memory", &EnergyParts::memory},       {"collectives", &EnergyParts::collectives},
              {"node_rest", &EnergyParts::node_rest}, {"power_supplies", &EnergyParts::supplies},
              {"cooling", &EnergyParts::cooling}};

// Whole numbers up to 16, then 16 an octave: the work of a step is within 3 %.
// REQUIRES 0 <= x < 2^62.
std::int64_t coarse(double x) {
  if (x <= 16) return static_cast<std::int64_t>(x + 0.5);
  // The first four bits of the fraction are kept, and halves go up.
  constexpr std::uint64_t kUnit = std::uint64_t{1} << (52 - 4);
  const std::uint64_t bits = (std::bit_cast<std::uint64_t>(x) + kUnit / 2) & ~(kUnit - 1);
  return static_cast<std::int64_t>(std::bit_cast<double>(bits));
}

double mean(std::int64_t sum, std::int64_t n) { return n > 0 ? real(sum) / real(n) : 0; }

// The work of the mean of some steps. Each mean step is asked of the step room once.
class MeanSteps {
 public:
  // `by_kernel`: with their kernels by kind, on `gpu`.
  MeanSteps(const StepModel& steps, const Gpu& gpu, bool by_kernel)
      : asked_(steps),
        memory_(steps.memories().take(steps.kernels())),
        steps_(steps.with(*memory_)),
        gpu_(gpu),
        by_kernel_(by_kernel) {}
  ~MeanSteps() { asked_.memories().give_back(std::move(memory_)); }

  // Adds their kernels to `kinds`. REQUIRES steps.
  ClockedSteps all(const StepCounts& counts, WorkOfKinds& kinds) {
    const Mean& mean = one(counts);
    ClockedSteps sum = mean.step;
    sum.reference = sum.reference.scaled(real(counts.steps));
    sum.time *= real(counts.steps);
    if (by_kernel_) kinds.add(mean.kinds, real(counts.steps));
    return sum;
  }

 private:
  using Key = std::array<std::int64_t, 5>;  // decodes, past, prompts, tokens and past of each
  struct HashOfKey {
    std::size_t operator()(const Key& key) const {
      std::uint64_t hash = 0;
      for (const std::int64_t part : key)
        hash = std::rotl(hash ^ static_cast<std::uint64_t>(part), 29) * 0x9E3779B97F4A7C15u;
      return static_cast<std::size_t>(hash ^ (hash >> 32));
    }
  };

  static std::int64_t at_least_one(double x) { return std::max<std::int64_t>(1, coarse(x)); }

  struct Mean {
    ClockedSteps step;
    WorkOfKinds kinds;
  };

  const Mean& one(const StepCounts& c) {
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
      batch_.groups.clear();
      if (key[2] > 0) batch_.groups.push_back({key[2], key[3], real(key[4])});
      if (key[0] > 0) batch_.groups.push_back({key[0], 1, real(key[1])});
      const StepTime step = by_kernel_ ? steps_.time_by_kind(batch_) : steps_.time(batch_);
      at->second = {clocked_steps(step, 1), by_kernel_ ? WorkOfKinds(step, gpu_) : WorkOfKinds()};
    }
    return at->second;
  }

  const StepModel& asked_;
  std::unique_ptr<StepMemory> memory_;
  const StepModel steps_;  // asked_ with memory_
  const Gpu& gpu_;
  const bool by_kernel_;
  Batch batch_;
  std::unordered_map<Key, Mean, HashOfKey> known_;
};

// The same constants with those of one GPU and one engine alone, which are then not looked for
// among all in every window. REQUIRES that only values are read, and not their errors.
StepPowerConstants only(const StepPowerConstants& all, const std::string& gpu,
                        const std::string& engine) {
  StepPowerConstants own = all;
  own.boards = {{gpu, all.board(gpu)}};
  own.engines = {{engine, all.engine(engine)}};
  return own;
}

// The power of the boards of one pool.
class PoolBoards {
 public:
  PoolBoards(const StepPowerConstants& constants, const ServedModel& served, bool by_kernel)
      : served_(served),
        gpu_(served.deployment.gpu),
        constants_(only(constants, gpu_.id, served.deployment.engine.id)),
        board_(constants.board(gpu_.id)),
        gain_(constants.engine(served.deployment.engine.id)),
        awake_(*gpu_.power * board_.awake),
        steps_(*served.steps, gpu_, by_kernel) {}

  // The energy of one GPU of each engine in a window.
  PoolEnergy energy(const StepWindow& w) {
    const Seconds present = SimTime{w.present}.time();
    const Seconds busy = std::min(SimTime{w.busy}.time(), present);
    if (w.started > 0) work(w, SimTime{w.started}.time());
    PoolEnergy e;
    e.gpu_time = present;
    e.boards = e.plant = busy_ * busy + awake_ * (present - busy);
    e.parts.idle = awake_ * (present - busy);
    const PowerParts spent = held_parts(spent_, busy_ / *gpu_.power);
    const Joules all = *gpu_.power * busy;
    e.parts.awake = all * spent.awake, e.parts.kernels = all * spent.kernels;
    e.parts.arithmetic = all * spent.compute, e.parts.memory = all * spent.memory;
    e.parts.collectives = all * spent.links;
    kinds_.divide({e.parts.kernels, e.parts.arithmetic, e.parts.memory}, e.kinds);
    if (!served_.steps->governed()) return e;
    e.governed = busy;
    e.cycles = (*gpu_.boost_clock * busy) * clock_;
    return e;
  }

 private:
  // The steps that start in a window take `time`.
  void work(const StepWindow& w, Seconds time) {
    std::array<ClockedSteps, 2> both;
    std::size_t n = 0;
    kinds_ = WorkOfKinds();
    for (const StepCounts* c : {&w.decoding, &w.prefilling})
      if (c->steps > 0) both[n++] = steps_.all(*c, kinds_);
    const std::span<const ClockedSteps> kinds(both.data(), n);
    ClockedSteps all;
    Seconds predicted;
    for (const ClockedSteps& k : kinds) all.reference += k.reference, predicted += k.time;
    const double slowed = predicted / all.reference.time;
    all.reference = all.reference.stretched(time / slowed, 1);
    all.time = time;
    spent_ = power_parts(constants_, board_, gain_, all.reference);
    const std::string& engine = served_.deployment.engine.id;
    // Steps that run at the reference clock keep their power.
    if (all.reference.time == all.time && !served_.steps->governed()) {
      busy_ = *gpu_.power * spent_.drawn;
      return;
    }
    if (served_.steps->governed()) {
      all.power = power_left(constants_, gpu_, engine, kinds), all.clock = mean_clock(kinds);
    }
    busy_ = clocked_step_power(constants_, gpu_, engine, served_.knobs, std::span(&all, 1)).value;
    clock_ = all.clock;
  }

  const ServedModel& served_;
  const Gpu& gpu_;
  const StepPowerConstants constants_;
  const StepPowerConstants::Board board_;
  const double gain_;  // of the engine
  Watts awake_;
  MeanSteps steps_;
  // The power of a busy board in the last window in which steps started, and its clock as a share
  // of the boost clock.
  Watts busy_;
  WorkOfKinds kinds_;  // of the steps of that window
  PowerParts spent_;   // what the law ascribes that power to at the reference clock
  double clock_ = 1;
};

}  // namespace

EnergyParts& EnergyParts::operator+=(const EnergyParts& more) {
  for (const auto part : kParts) this->*part.energy += more.*part.energy;
  return *this;
}

std::vector<EnergyRow> EnergyParts::rows() const {
  std::vector<EnergyRow> rows;
  for (const auto part : kParts)
    if (this->*part.energy > Joules(0)) rows.push_back({part.name, this->*part.energy});
  return rows;
}

PoolEnergy& PoolEnergy::operator+=(const PoolEnergy& more) {
  parts += more.parts;
  for (const KindEnergy& k : more.kinds) {
    const auto at = std::find_if(kinds.begin(), kinds.end(),
                                 [&](const KindEnergy& own) { return own.kind == k.kind; });
    if (at == kinds.end()) {
      kinds.push_back(k);
    } else {
      at->energy += k.energy;
    }
  }
  boards += more.boards, plant += more.plant, gpu_time += more.gpu_time;
  most_gpus = std::max(most_gpus, more.most_gpus);
  cycles += more.cycles, governed += more.governed;
  return *this;
}

Boards PoolEnergy::boards_over(Seconds run) const {
  Boards b;
  if (gpu_time <= Seconds(0) || run <= Seconds(0)) return b;
  b.running.value = boards / gpu_time;
  b.run = gpu_time / run;
  return b;
}

PoolEnergy FleetEnergy::total() const {
  PoolEnergy sum;
  for (const PoolEnergy& p : pools) sum += p;
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

namespace {

// The energy in a window of `length` of engines with `gpus` GPUs each, from that of one GPU each.
PoolEnergy of_engines(const PoolEnergy& one, double gpus, Seconds length) {
  PoolEnergy all{.boards = one.boards * gpus,
                 .plant = one.plant * gpus,
                 .parts = {},
                 .kinds = one.kinds,
                 .gpu_time = one.gpu_time * gpus,
                 .most_gpus = one.gpu_time * gpus / length,
                 .cycles = one.cycles * gpus,
                 .governed = one.governed * gpus};
  for (KindEnergy& k : all.kinds) k.energy *= gpus;
  for (const auto part : kParts) all.parts.*part.energy = one.parts.*part.energy * gpus;
  return all;
}

// Adds to the energy of a window of `length` what the account counts besides the boards.
void count_plant(const PlantAccount& account, Seconds length, PoolEnergy& window) {
  const Boards boards = window.boards_over(length);
  window.plant = account.power(boards).value * length;
  if (account.scope() == "gpu") return;
  const PlantAccount::Parts parts = account.parts(boards);
  window.parts.node_rest = parts.rest * length;
  window.parts.supplies = parts.supplies * length;
  window.parts.cooling = parts.cooling * length;
}

}  // namespace

FleetEnergy fleet_energy(const StepPowerConstants& constants, const std::vector<PoweredPool>& pools,
                         const SimulationResult& result, bool by_kernel) {
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
    PoolBoards boards(constants, *pool.served, by_kernel);
    const double gpus = pool.served->plan.devices();
    PoolEnergy& sum = fleet.pools.emplace_back();
    const std::size_t n = std::min(fleet.series.size(), windows.windows().size());
    for (std::size_t i = 0; i < n; ++i) {
      const StepWindow& w = windows.windows()[i];
      if (w.present <= 0) continue;
      const Seconds length = fleet.length(i);
      const PoolEnergy one = boards.energy(w);
      PoolEnergy part = of_engines(one, gpus, length);
      if (pool.account) count_plant(*pool.account, length, part);
      sum += part;
      fleet.series[i] += part.plant / length;
    }
  }
  return fleet;
}

}  // namespace orrery
