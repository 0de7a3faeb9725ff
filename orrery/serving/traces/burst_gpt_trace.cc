// BurstGPT (github.com/HPMLL/BurstGPT; Wang et al. 2024, arXiv:2401.17644): requests to ChatGPT and
// GPT-4 through Azure. Times are seconds.
#include "orrery/serving/traces/trace_format.h"

namespace orrery {

CsvTraceFormat burst_gpt_trace() { return {"Timestamp", "Request tokens", "Response tokens"}; }

}  // namespace orrery
