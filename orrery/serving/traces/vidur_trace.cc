// VIDUR's processed traces (github.com/microsoft/vidur, data/processed_traces). Times are seconds;
// VIDUR's files of lengths have no column of arrivals.
#include "orrery/serving/traces/trace_format.h"

namespace orrery {

CsvTraceFormat vidur_trace() { return {"arrived_at", "num_prefill_tokens", "num_decode_tokens"}; }

}  // namespace orrery
