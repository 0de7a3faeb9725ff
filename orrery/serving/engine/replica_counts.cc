#include "orrery/serving/engine/replica_counts.h"

namespace orrery {

ReplicaCounts& ReplicaCounts::operator+=(const ReplicaCounts& r) {
  steps += r.steps;
  decode_steps += r.decode_steps;
  prompt_tokens += r.prompt_tokens;
  output_tokens += r.output_tokens;
  evictions += r.evictions;
  stalls += r.stalls;
  cached_tokens += r.cached_tokens;
  verifications += r.verifications;
  drafts += r.drafts;
  accepted += r.accepted;
  busy += r.busy;
  used_block_seconds += r.used_block_seconds;
  slack_token_seconds += r.slack_token_seconds;
  stranded_block_seconds += r.stranded_block_seconds;
  adapter_loads += r.adapter_loads;
  sequence_steps += r.sequence_steps;
  host_fetches += r.host_fetches;
  host_keeps += r.host_keeps;
  disk_fetches += r.disk_fetches;
  disk_keeps += r.disk_keeps;
  disk_waits += r.disk_waits;
  return *this;
}

}  // namespace orrery
