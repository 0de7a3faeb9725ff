// Integrals of what the KV memory of a rank holds over the time of its steps. They are whole
// numbers times picoseconds, so that they have no rounding errors and do not depend on the order in
// which steps are added, or on how many are added at once.
#pragma once

#include <cstdint>
#include <span>

#include "orrery/serving/requests/sim_time.h"
#include "orrery/serving/state/engine_state.h"

namespace orrery {

// The KV memory that is held while a step runs.
struct KvHeld {
  std::int64_t used = 0;      // blocks in use
  std::int64_t slack = 0;     // room in them, in tokens (EngineState::slack)
  std::int64_t stranded = 0;  // free blocks that a waiting sequence could not use
};
inline KvHeld kv_held(const EngineState& state) {
  const BlockPool& pool = state.kv.pool();
  return {pool.size() - pool.free(), state.slack(), state.kv.stranded()};
}

class HeldTime {
 public:
  void add(SimTime duration, const KvHeld& held) {
    busy_ += duration;
    used_ += of(duration.ps, held.used);
    slack_ += of(duration.ps, held.slack);
    stranded_ += of(duration.ps, held.stranded);
  }
  // `blocks` further blocks, with room for `tokens` tokens, are held for `duration` of the time
  // that was added.
  void gain(SimTime duration, std::int64_t blocks, std::int64_t tokens) {
    used_ += of(duration.ps, blocks);
    slack_ += of(duration.ps, tokens);
  }
  // Takes away what was added too much if consecutive steps, the first of which starts at
  // `ends.front()` and which end at the others, were all added with the slack of the first, and
  // each has `lost` tokens less than the one before.
  void lose_slack(std::span<const SimTime> ends, std::int64_t lost) {
    const std::span<const SimTime> starts = ends.subspan(1, ends.size() - 2);  // but the first
    const SimTime end = ends.back();
    Integral after = 0;  // sum of the times from each start to the end
    if ((end - ends.front()).ps < INT64_MAX / static_cast<std::int64_t>(ends.size())) {
      // The sum fits, so that its parts may wrap around.
      std::uint64_t sum = 0;
      for (const SimTime start : starts) sum += static_cast<std::uint64_t>(start.ps);
      after = static_cast<std::int64_t>(static_cast<std::uint64_t>(end.ps) * starts.size() - sum);
    } else {
      for (const SimTime start : starts) after += (end - start).ps;
    }
    slack_ -= after * lost;
  }

  SimTime busy() const { return busy_; }
  double used_block_seconds() const { return seconds(used_); }
  double slack_token_seconds() const { return seconds(slack_); }
  double stranded_block_seconds() const { return seconds(stranded_); }

 private:
  using Integral = __int128;
  static Integral of(std::int64_t ps, std::int64_t amount) {
    return static_cast<Integral>(ps) * amount;
  }
  static double seconds(Integral ps) { return static_cast<double>(ps) * 1e-12; }

  SimTime busy_;
  Integral used_ = 0, slack_ = 0, stranded_ = 0;
};

}  // namespace orrery
