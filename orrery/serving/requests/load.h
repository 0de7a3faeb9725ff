// The load of a service: generated, or read from a trace.
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
  // The first tokens of every prompt are those of one of `prefix_groups` prefixes, drawn at random
  // (a system prompt, the documents of RAG); prompts are at least one token longer.
  std::int32_t shared_prefix = 0;
  std::int64_t prefix_groups = 1;
  // Answers sampled for each prompt (`n` of the API): so many requests at once, each with an output
  // of its own, that share the whole prompt. vLLM V1 runs them so, and the prefix cache does the
  // sharing.
  std::int32_t samples = 1;
  // Conversations of so many turns, until there are `requests` of them in all. `input` is what a
  // turn adds: its prompt is all that was said before, outputs too, and that. A turn is sent
  // `tool_time` after the one before it has ended; arrivals are those of conversations.
  Lengths turns;
  std::optional<Lengths> tool_time;  // milliseconds; none: 0
  std::uint64_t seed = 0;

  bool converses() const { return !turns.always(1); }
};

// Each property has random numbers of its own: changing the rate leaves the lengths as they are.
// InputError as make_arrivals; conversations longer than 2^24 tokens, or with `samples`.
RequestLoad make_load(const LoadSpec& spec);

// Arrivals of `spec` for a trace that has lengths only; requests that follow others have none.
void set_arrivals(const LoadSpec& spec, RequestLoad& load);

// Requests get priority 0, 1, ... at random, in proportion to `shares`; turns of a conversation the
// same. InputError: shares whose sum is 0.
void assign_priorities(RequestLoad& load, const std::vector<double>& shares, std::uint64_t seed);

}  // namespace orrery
