#include "orrery/scenario/answer/advice.h"

#include <fmt/format.h>

#include <array>

namespace orrery {
namespace {

// A cause of a step's time, and a change with which a user can reduce it.
enum Limit {
  kWeights,
  kCompute,
  kKvCache,
  kAttentionCompute,
  kNetwork,
  kHost,
  kSmallKernels,
  kLimits
};

struct Cause {
  std::string_view text, help;
};
constexpr std::array<Cause, kLimits> kCauses = {{
    {"reading weights",
     "larger batches share the read; quantised weights or more GPUs (tp) shorten it"},
    {"matrix products at full arithmetic",
     "a lower precision (fp8) or more GPUs shorten it; larger batches do not"},
    {"reading the KV cache",
     "a narrower KV cache (kv_cache_dtype fp8), shorter contexts or more GPUs shorten it"},
    {"attention arithmetic", "shorter prompts, prefix caching or more GPUs shorten it"},
    {"communication between GPUs",
     "fewer GPUs per replica (smaller tp), a faster fabric or larger batches help"},
    {"the host and launches",
     "CUDA graphs, an engine with asynchronous scheduling or larger batches help; a faster GPU "
     "does not"},
    {"small kernels", "fusion (a compiled or graph-replaying engine) or larger batches help"},
}};

Limit limit_of(const KernelRow& k) {
  if (k.part == "host") return kHost;
  if (k.bound == "network") return kNetwork;
  if (k.bound == "launch") return kSmallKernels;
  if (k.bound == "compute") return k.attends ? kAttentionCompute : kCompute;
  if (k.attends) return kKvCache;
  return k.elementwise ? kSmallKernels : kWeights;
}

}  // namespace

std::string advice(const Point& point, std::string_view phase) {
  std::array<double, kLimits> share{};
  double whole = 0;
  for (const KernelRow& k : point.kernels) {
    if (k.phase != phase) continue;
    share[limit_of(k)] += k.time.value.value();
    whole += k.time.value.value();
  }
  if (whole <= 0) return "";
  std::size_t most = 0;
  for (std::size_t i = 1; i < kLimits; ++i) {
    if (share[i] > share[most]) most = i;
  }
  return fmt::format("{} is limited by {} ({:.0f} % of the step): {}.", phase, kCauses[most].text,
                     share[most] / whole * 100, kCauses[most].help);
}

}  // namespace orrery
