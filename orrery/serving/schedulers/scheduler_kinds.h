// The registry of batch schedulers: their names, and what the rest of Orrery must know of each.
//
// Other rooms never compare a scheduler's name. They ask for its traits, so that a new scheduler is
// one source file and one line of schedulers.def (docs/serving.md, section Adding one).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace orrery {

class Scheduler;

// Whether a step that computes prompts also carries decodes.
enum class PromptSteps : std::uint8_t {
  kWithDecodes,         // prompts and decodes share steps
  kAlone,               // a step with prompts carries no decodes
  kAloneUnlessChunked,  // as kAlone, unless the engine sets mixed_chunk
};

// How the scheduler counts KV blocks of layers with a sliding window (orrery/memory/kv_groups.h).
enum class WindowPools : std::uint8_t {
  kNone,      // every layer keeps the whole context
  kShared,    // blocks outside of a window go back to the one pool
  kSeparate,  // layers with a window have a pool of their own
};

// Properties of a scheduler. The defaults hold for a scheduler whose line in the registry names
// none: prompts join decodes, a prompt takes all of its blocks at admission, and no further
// technique is simulated.
struct SchedulerTraits {
  PromptSteps prompts = PromptSteps::kWithDecodes;
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

// One line of schedulers.def.
struct SchedulerKind {
  std::string_view name, doc;
  std::unique_ptr<Scheduler> (*make)();
  SchedulerTraits traits;
};

// All schedulers, in the order of schedulers.def.
const std::vector<SchedulerKind>& scheduler_kinds();
// Throws InputError with the nearest name if no scheduler is called `name`.
const SchedulerKind& scheduler_kind(std::string_view name);
// Names of all schedulers with a trait that is a technique, in the order of schedulers.def.
std::vector<std::string> schedulers_with(bool SchedulerTraits::* technique);

}  // namespace orrery
