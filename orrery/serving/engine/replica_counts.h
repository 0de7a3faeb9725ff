// The sums that a replica counts over its life.
#pragma once

#include <cstdint>

#include "orrery/base/units.h"

namespace orrery {

struct ReplicaCounts {
  std::int64_t steps = 0, decode_steps = 0;
  std::int64_t prompt_tokens = 0;  // computed, those computed again after evictions included
  std::int64_t output_tokens = 0;
  std::int64_t evictions = 0, stalls = 0;
  std::int64_t cached_tokens = 0;  // prompt tokens found in the prefix cache
  // Speculative decoding: steps of sequences with drafts, drafts verified, drafts accepted (those
  // beyond the end of the output included).
  std::int64_t verifications = 0, drafts = 0, accepted = 0;
  std::int64_t adapter_loads = 0;
  std::int64_t sequence_steps = 0;  // sequences that got a token, summed over steps
  Seconds busy;  // sum of the steps' durations; of a fleet it may exceed SimTime's range
  // Integrals over busy time: blocks in use, room in them in tokens (EngineState::slack), free
  // blocks that a waiting sequence could not use (KvMemory::stranded).
  double used_block_seconds = 0, slack_token_seconds = 0, stranded_block_seconds = 0;
  std::int64_t host_fetches = 0, host_keeps = 0;  // KV blocks copied from and to the host
  std::int64_t disk_fetches = 0, disk_keeps = 0;  // KV blocks copied from and to the disk
  Seconds disk_waits;                             // time that steps waited for the disk

  bool operator==(const ReplicaCounts&) const = default;
  ReplicaCounts& operator+=(const ReplicaCounts& other);
};

}  // namespace orrery
