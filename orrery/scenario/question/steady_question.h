// A question about a fixed batch, or about a closed loop of users of which each has one request
// under way at a time.
//
//   workload: {isl: 1024, osl: 128, batch: 16}
//
// A document without the group of another kind asks it. Its keys lie in the group `workload`, which
// documents of services and plans have, too.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace orrery {

struct QuestionKind;

struct SteadyQuestion {
  std::int64_t isl = 1024, osl = 128;   // tokens of a prompt, of an output
  std::int64_t batch = 1;               // requests of the batch; of a closed loop its users
  std::int64_t requests_per_user = 10;  // closed loop: requests of each user; 0: unlimited
  bool closed_loop = false;  // a request that ends is replaced at once by the user's next
  bool equal_lengths =
      true;               // closed loop: all requests have these lengths; false: lengths scatter
  std::int64_t past = 0;  // tokens of the prompt that the prefix cache already holds
};

// Defined by the kind (kinds/steady/steady_kind.cc).
const QuestionKind& kind_of(const SteadyQuestion& question);

// The keys of `workload` that this question alone has.
const std::vector<std::string>& steady_keys();

}  // namespace orrery
