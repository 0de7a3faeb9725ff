// Orrery's own CSV format.
//
//   arrival_s      seconds since the start of the trace; absent or empty in all rows: lengths only
//   input_tokens   prompt
//   output_tokens  output
//   session_id     requests with the same text belong to one conversation
//   block_ids      identities of the prompt's blocks, such as "12 13-17": equal ids are equal
//                  tokens. The first request with ids tells the size of a block: 16 tokens if the
//                  number of ids is that of its whole blocks of 16, else 512 (the last block may be
//                  shorter).
//   priority       a whole number; the lowest goes first (engine.scheduler.order priority)
#include "orrery/serving/traces/trace_format.h"

namespace orrery {

CsvTraceFormat orrery_trace() { return {"arrival_s", "input_tokens", "output_tokens"}; }

}  // namespace orrery
