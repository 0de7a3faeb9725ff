// What clients send, and what became of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "orrery/serving/requests/sim_time.h"

namespace orrery {

struct Request {
  SimTime arrival;
  std::int32_t input = 1, output = 1;  // tokens; output is produced in full (no stop token)
  std::int32_t session = -1;           // requests of one conversation share it; -1: none
  std::int32_t priority = 0;           // lower goes first
  std::int32_t adapter = -1;           // that answers it; -1: the base model
  // Identity of its prompt (RequestLoad::names_outputs: and of its output): ids [first_id, first_id
  // + ids) of the load, one for each RequestLoad::id_tokens tokens. Two prompts share as many
  // leading tokens as they share leading ids; what has no id is shared with nobody.
  std::uint32_t first_id = 0, ids = 0;
};

// What a client sends when a request has been answered: the next turn of a conversation.
struct FollowUp {
  static constexpr std::uint32_t kNone = UINT32_MAX;
  std::uint32_t next = kNone;  // a later request of the load
  bool waits = false;          // this one is the next of another: its own arrival is not read
  SimTime delay;               // between the end of this one and the next: a tool, a thought
};

// Requests in order of arrival.
struct RequestLoad {
  std::vector<Request> requests;
  std::vector<std::uint64_t> ids;
  std::int32_t id_tokens = 16;
  std::vector<FollowUp> follow_ups;  // none, or one for each request
  // Ids go on beyond a prompt and name its output too, so that the next turn finds it.
  bool names_outputs = false;

  bool waits(std::size_t request) const { return !follow_ups.empty() && follow_ups[request].waits; }
  // From now on `next` is sent `delay` after the end of `request`. REQUIRES request < next, both
  // there, and `next` waits for no other.
  void follow(std::size_t request, std::size_t next, SimTime delay) {
    follow_ups.resize(requests.size());
    follow_ups[request].next = static_cast<std::uint32_t>(next);
    follow_ups[request].delay = delay;
    follow_ups[next].waits = true;
  }
};

enum class Outcome : std::uint8_t {
  kDone,
  kTooLong,     // prompt and output exceed the model's context
  kNeverFits,   // its KV cache exceeds the whole pool
  kUnfinished,  // the simulation ended first
};

// One request's history. Times are absolute.
struct RequestRecord {
  SimTime arrival, queued, scheduled, first_token, finished;
  std::int32_t input = 0, output = 0;
  std::int32_t cached = 0;     // prompt tokens found in the prefix cache when first scheduled
  std::int32_t evictions = 0;  // times it lost its KV cache and was computed again
  std::int32_t stalls = 0;     // decode steps it waited out while others' prompts were computed
  std::int32_t priority = 0;
  std::int32_t replica = 0;
  std::int32_t prefill_replica = -1;  // where prefill and decode are apart; there `replica` decodes
  std::int32_t retries = 0;           // times its replica failed and it began again
  SimTime transfer;                   // from its first token until its KV cache had moved
  Outcome outcome = Outcome::kUnfinished;

  bool operator==(const RequestRecord&) const = default;

  Seconds ttft() const { return (first_token - arrival).time(); }
  Seconds e2e() const { return (finished - arrival).time(); }
  // Time between later tokens: (E2E - TTFT) / (output - 1). REQUIRES output > 1.
  Seconds tpot() const { return (finished - first_token).time() / (output - 1); }
};

}  // namespace orrery
