// Reads request traces. The format is told by the header (CSV) or by the keys of the first line
// (JSONL):
//
//   ours           arrival_s,input_tokens,output_tokens[,session_id][,images]
//                  [,block_ids][,priority]; the lowest priority goes first (order priority)
//   Azure          TIMESTAMP,ContextTokens,GeneratedTokens; times as 2023-11-16 18:17:03.9799600
//   BurstGPT       Timestamp,...,Request tokens,Response tokens,...; seconds
//   VIDUR          arrived_at,num_prefill_tokens,num_decode_tokens
//   Splitwise      ...,arrival_timestamp,...,prompt_size,token_size
//   Mooncake       {"timestamp": ms, "input_length", "output_length", "hash_ids": [of 512 tokens]};
//                  with a "session_id" seen before a line may have a "delay" (ms) in place of its
//                  timestamp: it is sent so long after the one before it has ended (AIPerf)
//   Bailian        {"chat_id", "parent_chat_id", "timestamp": s, "input_length", "output_length",
//                  "hash_ids": [of 16]}
//   LLMServingSim  {"input_toks", "output_toks", "arrival_time_ns"[, "input_tok_ids"]
//                  [, "output_tok_ids"]}, or a session: {"session_id", "arrival_time_ns",
//                  "sub_requests": [{"input_toks", "output_toks", "tool_duration_ns", ...}]}, each
//                  sent the tool's time of the one before it after that has ended
//
// CSV may be gzip. The first arrival becomes time 0.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "orrery/serving/requests/request.h"

namespace orrery {

struct TraceOptions {
  double time_scale = 1;    // arrivals are multiplied by it: 0.5 doubles the rate; tools' times not
  double length_scale = 1;  // prompts and outputs likewise, rounded, at least 1
  std::int64_t requests = 0;  // the first so many; 0: all
};

struct Trace {
  RequestLoad load;
  bool has_arrivals = true;       // false: lengths only, all arrivals 0
  std::int64_t zero_lengths = 0;  // requests without prompt or output, left out
};

// InputError with file and line: no known format, a time that is negative, not a number or before
// the one above it, a length that is no whole number or above 2^24, token ids that are not as many
// as the tokens.
Trace read_trace(const std::filesystem::path& path, const TraceOptions& options = {});
// The same from a text; `name` is what messages call it, and its ending (.jsonl, .csv) its form.
Trace parse_trace(std::string_view text, const std::string& name, const TraceOptions& options = {});

}  // namespace orrery
