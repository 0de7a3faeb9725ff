// The load of a service: generated, or read from a trace.
#pragma once

#include <cstdint>
#include <string>

#include "orrery/serving/arrivals.h"
#include "orrery/serving/lengths.h"
#include "orrery/serving/request.h"

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
  std::uint64_t seed = 0;
};

// Each property has random numbers of its own: changing the rate leaves the lengths as they are.
// InputError as make_arrivals.
RequestLoad make_load(const LoadSpec& spec);

// Arrivals of `spec` for a trace that has lengths only.
void set_arrivals(const LoadSpec& spec, RequestLoad& load);

}  // namespace orrery
