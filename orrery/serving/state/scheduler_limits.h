// The limits that a batch scheduler works under.
#pragma once

#include <cstdint>
#include <string_view>

namespace orrery {

// Order of the waiting sequences. Ties are broken by arrival. An evicted sequence goes to the head
// of the queue under kFcfs and kLpm, and to its place in the order otherwise.
enum class QueueOrder : std::uint8_t {
  kFcfs,      // by arrival
  kPriority,  // lowest Request::priority first
  kSjf,       // fewest tokens to compute first
  kLpm,       // by arrival, re-sorted by the scheduler: longest cached prefix first (SGLang)
};
// The order called "fcfs", "priority", "sjf" or "lpm". Throws InputError with the nearest name.
QueueOrder queue_order(std::string_view name);

// Names and meaning are vLLM's unless said otherwise.
struct SchedulerLimits {
  std::int64_t max_num_batched_tokens = 8192;
  std::int64_t max_num_seqs = 1024;
  std::int64_t max_model_len = 0;                 // tokens; 0: no limit
  std::int64_t long_prefill_token_threshold = 0;  // tokens of one prompt a step; 0: no limit
  std::int32_t block_size = 16;                   // tokens of a KV block
  bool chunked_prefill = true;
  bool reserve_full = true;  // a sequence is admitted only if all of its tokens fit in free blocks
  bool mixed_chunk = false;  // SGLang: steps that carry prompts also carry decodes
  // SGLang: a step takes prompts until they have used this up; 0: no limit.
  std::int64_t max_prefill_tokens = 0;
  std::int64_t recv_interval = 1;  // SGLang: decode steps between two looks at the queue
  // TensorRT-LLM: decode steps for which prompts wait for a step of batch_wait_tokens tokens.
  std::int64_t batch_wait_steps = 0, batch_wait_tokens = 0;
  QueueOrder order = QueueOrder::kFcfs;
  std::int64_t max_loras = 0;  // different adapters in one step; 0: there are no adapters
};

}  // namespace orrery
