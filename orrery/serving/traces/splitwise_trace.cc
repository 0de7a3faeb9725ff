// Traces of the Splitwise simulator (github.com/Mutinifni/splitwise-sim; Patel et al. 2024,
// arXiv:2311.18677). Times are seconds.
#include "orrery/serving/traces/trace_format.h"

namespace orrery {

CsvTraceFormat splitwise_trace() { return {"arrival_timestamp", "prompt_size", "token_size"}; }

}  // namespace orrery
