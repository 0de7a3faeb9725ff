#include "orrery/serving/engine/kv_room.h"

namespace orrery {

KvRoom::KvRoom(const ReplicaConfig& engine)
    : engine_(engine),
      in_chunks_(engine.engine.scheduler.chunked_prefill &&
                 (!scheduler_kind(engine.engine.scheduler.policy).traits.takes_whole_prompts ||
                  engine.kv.groups.separate_pools())) {}

bool KvRoom::takes(const Request& r) const {
  const KvOptions& kv = engine_.kv;
  std::int64_t tokens =
      engine_.role == Role::kPrefill ? r.input : std::int64_t{r.input} + r.output - 1;
  if (kv.reserve == KvOptions::Reserve::kMaxModelLen) tokens = kv.max_model_len;
  const std::int64_t adapter = r.adapter < 0 ? 0 : kv.adapter_blocks;
  const std::int64_t step = in_chunks_ ? engine_.engine.scheduler.max_num_batched_tokens : tokens;
  return kv.groups.enough(tokens, step, engine_.engine.memory.block_size) + adapter <=
         engine_.kv_blocks;
}

}  // namespace orrery
