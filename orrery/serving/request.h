// What clients send, and what became of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "orrery/serving/sim_time.h"

namespace orrery {

struct Request {
  SimTime arrival;
  std::int32_t input = 1, output = 1;  // tokens; output is produced in full (no stop token)
  std::int32_t session = -1;           // requests of one conversation share it; -1: none
  std::int32_t priority = 0;           // lower goes first
  std::int32_t adapter = -1;           // that answers it; -1: the base model
  // Identity of its prompt: ids [first_id, first_id + ids) of the load, one for each
  // RequestLoad::id_tokens tokens. Two prompts share as many leading tokens as they share leading
  // ids; what has no id is shared with nobody.
  std::uint32_t first_id = 0, ids = 0;
};

// Requests in order of arrival.
struct RequestLoad {
  std::vector<Request> requests;
  std::vector<std::uint64_t> ids;
  std::int32_t id_tokens = 16;
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
