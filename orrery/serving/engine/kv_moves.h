// The requests of disaggregated prefill at one rank whose KV cache moves from the engine that
// prefills to the one that decodes.
//
//   held       where the prompt is computed: until the KV cache was fetched;
//              where the request decodes: it has blocks, and its KV cache is on the way
//   expected   it will decode here, and waits for blocks
//   arrived    its KV cache is here, and it waits for max_num_seqs
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "orrery/serving/state/engine_state.h"

namespace orrery {

class KvMoves {
 public:
  // Holds the KV cache of a request whose prompt was computed here.
  void hold(std::uint32_t request, Slot slot) { held_.push_back({request, slot}); }
  // An adopted sequence waits for blocks.
  void expect(Slot slot) { expected_.push_back(slot); }

  // Gives blocks to the next expected request, which is held from then on, and returns it. Nothing:
  // none is expected, too few blocks are free, or an evicted request waits. Expected ones would
  // otherwise take the blocks that evicted ones gave up, for ever.
  std::optional<Slot> allocate(EngineState& state);
  // The KV cache of a held request has arrived. REQUIRES holds(request).
  void arrive(std::uint32_t request);
  // The KV cache of a held request was fetched; EngineState::leave. REQUIRES holds(request).
  void release(std::uint32_t request, bool may_return, EngineState& state);
  // A request that is expected or held gives back what it has here and is forgotten. False if it is
  // neither. `decodes`: held requests decode here, so that their blocks hold nothing yet.
  bool abandon(std::uint32_t request, bool decodes, EngineState& state);

  bool holds(std::uint32_t request) const;
  bool holds_any() const { return !held_.empty(); }

  // Whether a request has arrived that does not run.
  bool any_arrived() const { return !arrived_.empty(); }
  // Runs requests that have arrived, up to max_num_seqs. They run before any newcomer. Those whose
  // adapter would be more than adapter_slots among the running are passed over.
  void run_arrived(EngineState& state);

  // Appends all these requests.
  void list_requests(const EngineState& state, std::vector<std::uint32_t>& out) const;

 private:
  struct Held {
    std::uint32_t request;
    Slot slot;
  };
  std::vector<Held>::const_iterator find(std::uint32_t request) const;

  std::vector<Held> held_;
  std::deque<Slot> expected_, arrived_;
};

}  // namespace orrery
