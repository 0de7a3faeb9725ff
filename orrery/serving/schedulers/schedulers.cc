#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <deque>
#include <nlohmann/json.hpp>

#include "orrery/base/index.h"
#include "orrery/base/kinds.h"
#include "orrery/serving/schedulers/scheduler.h"

namespace orrery {

#define KIND(name, make, declare, ...)                    \
  std::unique_ptr<Scheduler> make(const SchedulerSetup&); \
  void declare(Fields&, OwnParameters&);
#include "orrery/serving/schedulers/schedulers.def"
#undef KIND

const std::vector<SchedulerKind>& scheduler_kinds() {
  static const std::vector<SchedulerKind> kinds = {
#define KIND(name, make, declare, doc, ...) {name, doc, make, declare, {__VA_ARGS__}},
#include "orrery/serving/schedulers/schedulers.def"
#undef KIND
  };
  return kinds;
}

const SchedulerKind& scheduler_kind(std::string_view name) {
  return kind_named(scheduler_kinds(), "scheduler", name);
}

std::vector<std::string> schedulers_with(bool SchedulerTraits::* technique) {
  std::vector<std::string> names;
  for (const SchedulerKind& k : scheduler_kinds()) {
    if (k.traits.*technique) names.emplace_back(k.name);
  }
  return names;
}

std::unique_ptr<Scheduler> make_scheduler(const SchedulerSetup& setup) {
  return scheduler_kind(setup.profile.policy).make(setup);
}

void check_drafts(const EngineProfile::Scheduler& scheduler) {
  make_scheduler({scheduler})->check_drafts();
}

namespace {

// Calls `of` for each way to declare parameters; several policies may share one.
template <class Of>
void each_declaration(const Of& of) {
  std::vector<decltype(SchedulerKind::declare)> seen;
  for (const SchedulerKind& k : scheduler_kinds()) {
    if (std::find(seen.begin(), seen.end(), k.declare) != seen.end()) continue;
    seen.push_back(k.declare);
    of(k.declare);
  }
}

// The policies that have a parameter for themselves.
std::vector<std::string_view> owners(std::string_view key) {
  std::vector<std::string_view> names;
  for (const SchedulerKind& k : scheduler_kinds()) {
    OwnParameters own;
    Fields fields;
    k.declare(fields, own);
    if (fields.find(key) != nullptr) names.push_back(k.name);
  }
  return names;
}

// In the order of the enum.
const std::vector<std::string>& orders() {
  static const std::vector<std::string> names = {"fcfs", "priority", "sjf", "lpm"};
  return names;
}

std::string value_of(std::string_view key, EngineProfile::Scheduler scheduler) {
  Fields fields;
  declare(fields, scheduler);
  return fields.find(key)->json().dump();
}

}  // namespace

std::string_view to_text(EngineProfile::Scheduler::Order order) { return orders()[index(order)]; }

void declare(Fields& f, EngineProfile::Scheduler& s) {
  f.add("policy", s.policy, "batch scheduler of simulations (docs/serving.md, Schedulers)")
      .alias("scheduler");
  f.add_enum("order", s.order, orders(),
             "order of the queue: arrival, priority, shortest prompt, or (SGLang) longest cached "
             "prefix")
      .alias("scheduling_policy");
  f.add("async_scheduling", s.async_scheduling, "the next step is planned while one runs");
  f.add("prefix_caching", s.prefix_caching, "later prompts reuse the KV blocks of earlier ones")
      .alias("enable_prefix_caching");
  f.add("continuous", s.continuous, "continuous batching; false: a static batch");
  f.add("chunked_prefill", s.chunked_prefill, "prompts are computed in chunks")
      .alias("enable_chunked_prefill");
  each_declaration([&](auto declare_own) { declare_own(f, s.own); });
  f.add("max_num_batched_tokens", s.max_num_batched_tokens, "most tokens in a step")
      .unit("tokens")
      .range(1, 1e7);
  f.add("max_num_seqs", s.max_num_seqs, "most sequences that run at the same time").range(1, 1e6);
  f.add("batched_tokens_by_memory", s.batched_tokens_by_memory,
        "most tokens in a step by the memory of the device, written as "
        "graph_tokens_by_memory; empty: max_num_batched_tokens")
      .verbatim();
  f.add("pipelined_tokens", s.pipelined_tokens,
        "tokens of prompts whose steps follow one another through pipeline stages; 0: all")
      .unit("tokens")
      .range(0, 1e7);
  f.add("small_gpu_below", s.small_gpu_below,
        "devices with less memory take the two defaults below; 0 B: no device does");
  f.add("small_gpu_batched_tokens", s.small_gpu_batched_tokens,
        "most tokens in a step on those devices")
      .unit("tokens")
      .range(1, 1e7);
  f.add("small_gpu_num_seqs", s.small_gpu_num_seqs, "most running sequences on those devices")
      .range(1, 1e6);
}

void check_policy_keys(const Node& keys, const EngineProfile::Scheduler& before,
                       const EngineProfile::Scheduler& after) {
  for (std::size_t i = 0; i < keys.keys().size(); ++i) {
    const std::string& key = keys.keys()[i];
    const Node& value = keys.items()[i];
    const auto known = owners(key);
    if (known.empty() || std::find(known.begin(), known.end(), after.policy) != known.end())
      continue;
    const bool of_a_file = value.line() > 0;
    if (of_a_file && value_of(key, before) == value_of(key, after)) continue;
    Fields::Undecided{value, key,
                      fmt::format("engine.scheduler.policy {}", fmt::join(known, " or "))}
        .refuse();
  }
}

}  // namespace orrery
