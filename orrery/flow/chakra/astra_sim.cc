#include "orrery/flow/chakra/astra_sim.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <queue>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/base/index.h"

namespace orrery {
namespace {

using CollectiveKind = Collective::Kind;
using Ticks = std::int64_t;  // ns

constexpr double kGiga = 1024.0 * 1024 * 1024;
constexpr std::int64_t kMostSteps = 200'000'000;

// The messages of one chunk, one after the other.
class ChunkPlan {
 public:
  ChunkPlan(CollectiveKind kind, CollectiveAlgorithm algorithm, int npus, std::int64_t bytes)
      : algorithm_(algorithm) {
    const std::int64_t n = npus;
    const std::int64_t share = kind == CollectiveKind::kAllGather ? bytes : bytes / n;
    if (algorithm == CollectiveAlgorithm::kHalvingDoubling) {
      const int log = std::bit_width(static_cast<unsigned>(npus)) - 1;
      // Reduce-scatter: half, a quarter, ...; all-gather: whole inputs, twice, ...
      std::int64_t size = kind == CollectiveKind::kAllGather ? bytes : bytes / 2;
      for (int i = 0; i < log; ++i) {
        sizes_.push_back(size);
        size = kind == CollectiveKind::kAllGather ? size * 2 : size / 2;
      }
      for (int i = 0; kind == CollectiveKind::kAllReduce && i < log; ++i) {
        size *= 2;
        sizes_.push_back(size);
      }
      steps_ = static_cast<std::int64_t>(sizes_.size());
      reduced_ = kind == CollectiveKind::kAllGather ? 0 : log - 1;
      return;
    }
    sizes_ = {share};
    if (algorithm == CollectiveAlgorithm::kDirect) {
      steps_ = kind == CollectiveKind::kAllReduce ? 2 : 1;
      reduced_ =
          kind == CollectiveKind::kAllReduce || kind == CollectiveKind::kReduceScatter ? 1 : 0;
      return;
    }
    steps_ = kind == CollectiveKind::kAllReduce  ? 2 * (n - 1)
             : kind == CollectiveKind::kAllToAll ? n * (n - 1) / 2
                                                 : n - 1;
    reduced_ =
        kind == CollectiveKind::kAllReduce || kind == CollectiveKind::kReduceScatter ? n - 1 : 0;
  }

  std::int64_t steps() const { return steps_; }
  std::int64_t size(std::int64_t step) const {
    return sizes_.size() > 1 ? sizes_[index(step)] : sizes_[0];
  }
  // Bytes that are reduced after the message of a step has arrived. Halving-doubling counts the
  // bytes of its next message.
  std::int64_t reduces(std::int64_t step) const {
    if (step >= reduced_) return 0;
    return algorithm_ == CollectiveAlgorithm::kHalvingDoubling
               ? size(std::min(step + 1, steps_ - 1))
               : size(step);
  }

 private:
  CollectiveAlgorithm algorithm_;
  std::vector<std::int64_t> sizes_;
  std::int64_t steps_ = 0, reduced_ = 0;
};

struct Event {
  Ticks time;
  std::int64_t number;
  enum class What { kSend, kForward, kReceived, kReady } what;
  int chunk;
  std::int64_t step;
  bool operator>(const Event& o) const {
    return time != o.time ? time > o.time : number > o.number;
  }
};

void check(CollectiveKind kind, CollectiveAlgorithm algorithm, const AstraSimDimension& d,
           Bytes bytes, const AstraSimSystem& s) {
  const bool ring = algorithm == CollectiveAlgorithm::kRing && d.wiring != Wiring::kMesh;
  const bool direct = algorithm == CollectiveAlgorithm::kDirect && d.wiring == Wiring::kMesh;
  const bool halving =
      algorithm == CollectiveAlgorithm::kHalvingDoubling && d.wiring == Wiring::kSwitch;
  const bool known = kind == CollectiveKind::kAllReduce || kind == CollectiveKind::kAllGather ||
                     kind == CollectiveKind::kReduceScatter ||
                     (kind == CollectiveKind::kAllToAll && !halving);
  if (d.wiring == Wiring::kLine || !(ring || direct || halving) || !known) {
    throw InputError(
        fmt::format("as ASTRA-sim: {} by {} is not supported here; a ring runs on Ring or Switch, "
                    "direct on FullyConnected, "
                    "halving-doubling (but no all-to-all) on Switch",
                    to_text(kind), to_text(algorithm)));
  }
  if (halving && !std::has_single_bit(static_cast<unsigned>(d.npus))) {
    throw InputError(
        fmt::format("halving-doubling needs a power of two NPUs, the dimension has {}", d.npus));
  }
  if (!(bytes >= Bytes(0)) || bytes > Bytes(1e18) || d.npus < 1 || !(d.bandwidth > 0) ||
      !(d.latency >= 0) || s.splits < 1 || s.active < 1 || s.endpoint_delay < 0 ||
      !(s.memory_bandwidth > 0)) {
    throw InputError("as ASTRA-sim: bytes of 0 to 1e18, and a bandwidth above zero");
  }
}

}  // namespace

Seconds astra_sim_time(CollectiveKind kind, CollectiveAlgorithm algorithm,
                       const AstraSimDimension& d, Bytes bytes, const AstraSimSystem& system) {
  check(kind, algorithm, d, bytes, system);
  if (d.npus == 1) return Seconds(0);
  const ChunkPlan plan(kind, algorithm, d.npus,
                       static_cast<std::int64_t>(bytes.value()) / system.splits);
  if (plan.steps() > kMostSteps / system.splits) {
    throw InputError(fmt::format("as ASTRA-sim: {} steps a chunk are too many", plan.steps()));
  }
  const double rate = d.bandwidth * kGiga / 1e9;  // bytes/ns
  const int links = d.wiring == Wiring::kSwitch ? 2 : 1;
  Ticks free[2] = {0, 0};
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events;
  std::int64_t number = 0;
  const auto push = [&](Ticks at, Event::What what, int chunk, std::int64_t step) {
    events.push({at, number++, what, chunk, step});
  };
  int begun = 0;
  Ticks end = 0;
  for (; begun < std::min(system.active, system.splits); ++begun) {
    push(system.endpoint_delay, Event::What::kSend, begun, 0);
  }
  while (!events.empty()) {
    const Event e = events.top();
    events.pop();
    switch (e.what) {
      case Event::What::kSend:
      case Event::What::kForward: {
        const int link = e.what == Event::What::kSend ? 0 : 1;
        const double transfer = static_cast<double>(plan.size(e.step)) / rate;
        const Ticks start = std::max(e.time, free[link]);
        free[link] = start + static_cast<Ticks>(transfer);
        push(start + static_cast<Ticks>(d.latency + transfer),
             link + 1 < links ? Event::What::kForward : Event::What::kReceived, e.chunk, e.step);
        break;
      }
      case Event::What::kReceived: {
        const auto pass =
            static_cast<Ticks>(static_cast<double>(plan.reduces(e.step)) / system.memory_bandwidth);
        push(e.time + system.endpoint_delay + 3 * pass, Event::What::kReady, e.chunk, e.step);
        break;
      }
      case Event::What::kReady:
        if (e.step + 1 < plan.steps()) {
          push(e.time, Event::What::kSend, e.chunk, e.step + 1);
        } else {
          end = std::max(end, e.time);
          if (begun < system.splits) {
            push(e.time + system.endpoint_delay, Event::What::kSend, begun++, 0);
          }
        }
        break;
    }
  }
  return Seconds(static_cast<double>(end) * 1e-9);
}

}  // namespace orrery
