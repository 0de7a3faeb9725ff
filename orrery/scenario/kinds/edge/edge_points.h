// The answers to a question about the edge (edge_question.h): a point for the device, or for each
// one where it asks for all.
//
// Metrics of a network: latency, throughput, macs, parameters, kernels, and energy_per_inference
// where the power of the board was measured; its rows are the kernels that the runtime makes of
// it. Metrics of an LLM: ttft, tpot, prefill_throughput, output_throughput, memory, max_context,
// energy_per_token_limit; its rows are what the time of the prompt and of a token goes to. What
// does not fit has its memory, and no times.
//
// A sustained load widens intervals of times and rates to what heat leaves (edge/device/
// throttling.h), and puts values into their geometric middle. With device: all, devices of which
// no source says that are left out.
#pragma once

#include <vector>

#include "orrery/scenario/answer/answer.h"
#include "orrery/scenario/answer/run_options.h"
#include "orrery/scenario/kinds/edge/edge_question.h"
#include "orrery/scenario/kinds/edge/edge_tables.h"
#include "orrery/scenario/setup/facts.h"

namespace orrery {

// InputError: an unknown network, device, runtime, format or backend, with the nearest name; a
// device without what is asked of it. NoData: the GPU does not multiply the number format, or
// nothing was measured on the NPU, or no source says what heat leaves of the device's speed.
std::vector<Point> answer_edge(Facts& facts, const EdgeQuestion& question,
                               const RunOptions& options);

// The two kinds that answer_edge chooses from.
std::vector<Point> answer_edge_network(EdgeTables& tables, const EdgeQuestion& question,
                                       bool breakdown);
std::vector<Point> answer_edge_llm(Facts& facts, EdgeTables& tables, const EdgeQuestion& question,
                                   bool breakdown);

// Refuses values that only networks or only LLMs have, where no point is of that kind. A value's
// `need` is kNeedsNetwork or kNeedsLlm.
void check_edge_needs(const std::vector<Fields::Undecided>& values, bool networks, bool llms);

}  // namespace orrery
