// The state that a batch scheduler sees and changes: the queues of one replica, its KV memory, and
// the group of sequences that decode in step.
//
// A scheduler moves sequences between Queues::waiting and Queues::running and takes and gives back
// KV blocks. The members of this class do what concerns both at once.
#pragma once

#include <cstdint>
#include <vector>

#include "orrery/serving/requests/request.h"
#include "orrery/serving/state/decode_group.h"
#include "orrery/serving/state/kv_memory.h"
#include "orrery/serving/state/queues.h"
#include "orrery/workload/plan/engine.h"

namespace orrery {

class EngineState {
 public:
  // Borrows engine and load.
  EngineState(const EngineProfile& engine, std::int64_t kv_blocks, const RequestLoad& load,
              const KvOptions& kv = {});

  Queues queues;
  KvMemory kv;
  DecodeGroup decode_group;
  bool hold_prompts = false;  // the next step carries no prompts (engine.h, balance_timeout)

  // The token budget of a step, the most sequences, and the other keys that all schedulers have.
  const EngineProfile::Scheduler& limits() const { return limits_; }
  // KvOptions::adapter_slots.
  std::int64_t adapter_slots() const { return adapter_slots_; }
  Sequence& at(Slot slot) { return queues.at(slot); }
  const Sequence& at(Slot slot) const { return queues.at(slot); }

  // ---- sequences come and go ----

  // A request with `output` output tokens becomes a sequence, at its place in `waiting`.
  Slot enter(std::uint32_t request, std::int32_t output);
  // A request whose prompt was computed elsewhere, with its first token made, becomes a sequence in
  // no list.
  Slot adopt(std::uint32_t request);
  // Takes blocks for the prompt of an adopted sequence, and its adapter, and counts the prompt as
  // computed. Sequence::found
  // is the number of tokens that the prefix cache held. False, and nothing is taken, if too few
  // blocks are free. REQUIRES paged memory.
  bool take_prompt_blocks(Slot slot);
  // A sequence gives everything back and is forgotten. `may_return`: its request has not ended, so
  // that it may come again.
  void leave(Slot slot, bool may_return);

  // Gives numbers to all blocks (KvMemory::number_blocks).
  void number_blocks();
  // A sequence has all its tokens in the KV cache again, and decodes.
  void recovered(Sequence& s) {
    if (!s.lost || s.leaves_rows) return;
    s.lost = false;
    --lost_;
  }
  // Counts blocks again (KvMemory::count_again) where every sequence that lost its blocks has
  // recovered, and none did so in the last steps: going to and fro costs as much as some steps
  // with numbers.
  void count_blocks_again() {
    if (kv.counting() || !may_count_ || lost_ > 0) return;
    if (decode_group.planned() - last_lost_ >= kQuietSteps)
      kv.count_again(queues.running, queues.all());
  }

  // ---- what schedulers do ----

  // Admits the head of `waiting`: it runs, takes what KvMemory::cached_prefix found last, its
  // adapter and blocks for `new_tokens` tokens more. REQUIRES that these are free.
  Slot admit(std::int32_t new_tokens);
  // Appends the sequence to `running`.
  void run(Slot slot);
  // Takes back the KV cache of a sequence, which is computed again later. It waits at its place in
  // the queue, at once or when the steps that carry it have ended (Sequence::parked).
  void evict(Slot slot);
  // A parked sequence waits in the queue.
  void unpark(Slot slot);
  // Evicts the i-th of `running` and appends it to `evicted`. Returns it.
  Slot evict_running(std::size_t i, std::vector<Slot>& evicted);
  // KvMemory::grow for the i-th of `running`. While too few blocks are free, the last one of
  // `running` is evicted. False if the i-th itself was evicted.
  bool grow_evicting(std::size_t i, std::int32_t new_tokens, std::vector<Slot>& evicted);

  // KvMemory::slack of all sequences.
  std::int64_t slack() const { return kv.slack(decode_group.uncounted()); }

 private:
  static constexpr std::int64_t kQuietSteps = 32;

  const EngineProfile::Scheduler& limits_;
  const std::int64_t adapter_slots_;
  const RequestLoad& load_;
  // Nobody looks in the prefix cache but sequences that lost their blocks, of which there are
  // `lost_` (Sequence::lost), the last one since step `last_lost_`.
  bool may_count_ = false;
  std::int64_t lost_ = 0, last_lost_ = 0;
};

}  // namespace orrery
