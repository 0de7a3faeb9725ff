// Requests that clients send, and the record of each.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "orrery/serving/requests/sim_time.h"

namespace orrery {

struct Request {
  SimTime arrival;
  std::int32_t input = 1, output = 1;  // tokens; all of the output is made (no stop token)
  std::int32_t session = -1;           // number of the conversation; -1: none
  std::int32_t priority = 0;           // lower goes first
  std::int32_t adapter = -1;           // LoRA adapter; -1: the base model
  // Identity of the prompt, and with RequestLoad::names_outputs of the output: the ids [first_id,
  // first_id + ids) of the load, one for each RequestLoad::id_tokens tokens. Prompts with equal
  // leading ids have equal leading tokens. Tokens without an id are shared with no other request.
  std::uint32_t first_id = 0, ids = 0;
};

// The next turn of a conversation, which a client sends when a request has ended.
struct FollowUp {
  static constexpr std::uint32_t kNone = UINT32_MAX;
  std::uint32_t next = kNone;  // index of a later request of the load
  bool waits = false;  // this request is the next turn of another, and its arrival is not read
  SimTime delay;       // from the end of this request to the next: tools, typing
};

// Requests in the order of their arrivals.
struct RequestLoad {
  std::vector<Request> requests;
  std::vector<std::uint64_t> ids;
  std::int32_t id_tokens = 16;
  std::vector<FollowUp> follow_ups;  // empty, or one for each request
  // Ids of a request also identify its output, so that the next turn finds it in the prefix cache.
  bool names_outputs = false;

  bool waits(std::size_t request) const { return !follow_ups.empty() && follow_ups[request].waits; }
  // Makes `next` the next turn of `request`, sent `delay` after its end. REQUIRES request < next,
  // both in the load, and that `next` waits for no other request.
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
  kNeverFits,   // its KV cache is larger than the whole pool
  kUnfinished,  // the simulation ended first
};

// The history of one request. Times are simulated times, not durations, unless said otherwise.
struct RequestRecord {
  SimTime arrival, queued, scheduled, first_token, finished;
  std::int32_t input = 0, output = 0;
  std::int32_t cached = 0;     // prompt tokens found in the prefix cache when first scheduled
  std::int32_t evictions = 0;  // times it lost its KV cache, which was computed again
  std::int32_t stalls = 0;     // steps in which it could decode but others' prompts were computed
  std::int32_t priority = 0;
  std::int32_t replica = 0;
  std::int32_t prefill_replica = -1;  // disaggregated: the engine that prefills; `replica` decodes
  std::int32_t retries = 0;           // times its engine failed and it began again
  SimTime transfer;                   // duration from its first token until its KV cache had moved
  Outcome outcome = Outcome::kUnfinished;

  bool operator==(const RequestRecord&) const = default;

  Seconds ttft() const { return (first_token - arrival).time(); }
  Seconds e2e() const { return (finished - arrival).time(); }
  // Mean time between tokens, without the first: (E2E - TTFT) / (output - 1). REQUIRES output > 1.
  Seconds tpot() const { return (finished - first_token).time() / (output - 1); }
};

}  // namespace orrery
