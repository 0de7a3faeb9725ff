// The registry of batch schedulers: their names, their parameters, and what the rest of Orrery must
// know of each.
//
// Other rooms never compare a scheduler's name. They ask for its traits, so that a new scheduler is
// one source file and one line of schedulers.def (docs/serving.md, section Adding). The parameters
// that a scheduler has for itself are a struct in its source. They are keys of the group
// `scheduler` of an engine's profile, and have an effect under this scheduler alone.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/fields.h"
#include "orrery/base/node.h"
#include "orrery/workload/plan/engine.h"

namespace orrery {

class Scheduler;

// How the scheduler counts KV blocks of layers with a sliding window (orrery/memory/kv_groups.h).
enum class WindowPools : std::uint8_t {
  kNone,      // every layer keeps the whole context
  kShared,    // blocks outside of a window go back to the one pool
  kSeparate,  // layers with a window have a pool of their own
};

// Properties of a scheduler. The defaults hold for a scheduler whose line in the registry names
// none: a prompt takes all of its blocks at admission, and no further technique is simulated.
struct SchedulerTraits {
  // Admission takes the KV blocks of a whole prompt, though the prompt is computed in chunks.
  bool takes_whole_prompts = true;
  WindowPools windows = WindowPools::kNone;
  // The scheduler implements QueueOrder::kLpm: it sorts the queue by the length of the cached
  // prefix.
  bool sorts_by_prefix = false;
  // The weight of a waiting request, where a running one has 1, when a request goes to the rank of
  // least load among those of attention data parallelism: vLLM's balancer has 4.
  std::int64_t waiting_weight = 4;
  // Techniques that can be simulated under the scheduler, because its engine has them.
  bool drafts = false;         // speculative decoding: steps of several tokens a sequence
  bool cache_tiers = false;    // KV blocks kept in host memory or on a disk
  bool adapter_slots = false;  // LoRA adapters in slots of their own
  bool adapter_pages = false;  // LoRA adapters in blocks of the KV pool (S-LoRA)
  bool beam_search = false;
  bool contiguous_kv = false;  // KV memory reserved in one piece for each sequence
};

// The setup that a scheduler is made for. A scheduler reads its parameters when it is made.
struct SchedulerSetup {
  const EngineProfile::Scheduler& profile;
  std::int32_t ranks = 1;  // of attention data parallelism
};

// One line of schedulers.def.
struct SchedulerKind {
  std::string_view name, doc;
  std::unique_ptr<Scheduler> (*make)(const SchedulerSetup&);
  void (*declare)(Fields&, OwnParameters&);  // its own parameters
  SchedulerTraits traits;
};

// All schedulers, in the order of schedulers.def.
const std::vector<SchedulerKind>& scheduler_kinds();
// Throws InputError with the nearest name if no scheduler is called `name`.
const SchedulerKind& scheduler_kind(std::string_view name);
// Names of all schedulers with a trait that is a technique, in the order of schedulers.def.
std::vector<std::string> schedulers_with(bool SchedulerTraits::* technique);

std::string_view to_text(EngineProfile::Scheduler::Order order);

// Declares the keys that all schedulers have, and among them those that each has for itself.
void declare(Fields& fields, EngineProfile::Scheduler& scheduler);
// Throws InputError for the first of the `keys`, which turned `before` into `after`, that sets a
// parameter of other schedulers only. A value in a file that equals the one before sets nothing,
// because a resolved configuration states every value.
void check_policy_keys(const Node& keys, const EngineProfile::Scheduler& before,
                       const EngineProfile::Scheduler& after);
// Throws NoData if the scheduler has no speculative decoding with its parameters.
void check_drafts(const EngineProfile::Scheduler& scheduler);

}  // namespace orrery
