// The load of a service: requests that are generated, or read from a trace (traces/trace.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "orrery/serving/requests/arrivals.h"
#include "orrery/serving/requests/lengths.h"
#include "orrery/serving/requests/request.h"

namespace orrery {

struct LoadSpec {
  std::int64_t requests = 1000;
  std::string arrivals = "poisson";
  ArrivalParameters parameters;
  Lengths input, output;
  // Shared prefixes, such as a system prompt or documents of RAG: the first `shared_prefix` tokens
  // of every prompt are those of one of `prefix_groups` prefixes, drawn at random. Prompts are at
  // least one token longer.
  std::int32_t shared_prefix = 0;
  std::int64_t prefix_groups = 1;
  // Answers sampled for each prompt (`n` of the API). Each is a request of its own with the same
  // prompt and arrival, as in vLLM V1, and the prefix cache shares the prompt.
  std::int32_t samples = 1;
  // Conversations: the distribution of their numbers of turns. Conversations are added until they
  // have `requests` turns in all. `input` is what a turn adds; its prompt also holds all prompts
  // and outputs before it. A turn is sent `tool_time` after the turn before has ended, and arrivals
  // are those of conversations.
  Lengths turns;
  std::optional<Lengths> tool_time;  // milliseconds; absent: 0
  std::uint64_t seed = 0;

  bool converses() const { return !turns.always(1); }
};

// Generates the requests. Each property has random numbers of its own, so that a change of the rate
// leaves the lengths as they are. Throws InputError as make_arrivals does, for conversations longer
// than 2^24 tokens, and for conversations with several samples.
RequestLoad make_load(const LoadSpec& spec);

// Gives the requests of a trace without arrivals those of `spec`. Requests that follow others keep
// none.
void set_arrivals(const LoadSpec& spec, RequestLoad& load);

// Gives requests priority 0, 1, ... at random, in proportion to `shares`; turns of one conversation
// have one priority. Throws InputError if the shares sum to 0.
void assign_priorities(RequestLoad& load, const std::vector<double>& shares, std::uint64_t seed);

}  // namespace orrery
