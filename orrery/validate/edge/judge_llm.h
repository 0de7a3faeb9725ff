// The tables of `orrery validate edge` for LLMs (llm_rows.h): each row is predicted by a law that
// was fitted without it.
//
//   llm                    a tenth of the pairs of device and model at a time is left out
//   llm, device left out   a tenth of the chips, with all backends and sources
//   llm, model left out    a tenth of the models, on all devices
//   llm, roofline          by the data sheet alone: bytes over bandwidth, multiply-adds over rate
//
// The metrics are prefill and decode, in tokens a second. Rows that should not fit into the
// device's memory are counted as refused, with the rates that were measured nevertheless.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "orrery/validate/edge/llm_rows.h"

namespace orrery {

std::vector<std::string> llm_tables();

// Adds the rows of a table of llm_tables().
void judge_llm(const std::vector<LlmRow>& rows, std::string_view table, ValidationReport& report);

// The laws fitted on all rows, with the deviations that rows left out have: of a pair of device and
// model, of a chip.
LlmLaws fit_llm_laws(const std::vector<LlmRow>& rows);

}  // namespace orrery
