// The tables of `orrery validate edge` for LLMs (llm_rows.h): each row is predicted by a law that
// was fitted without it.
//
//   llm                    a tenth of the pairs of device and model at a time is left out
//   llm, settings by fold  the same, and the settings of the fit are chosen anew for each tenth of
//                          the pairs, by what fits on the other nine miss of each other
//                          (llm_settings.h); it takes a minute or two, so that it is no part of
//                          all tables
//   llm, device left out   a tenth of the chips, with all backends and sources
//   llm, model left out    a tenth of the models, on all devices
//   llm, roofline          by the data sheet alone: bytes over bandwidth, multiply-adds over rate
//
// The metrics are prefill and decode, in tokens a second. Rows that should not fit into the
// device's memory are counted as refused, with the rates that were measured nevertheless.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/validate/edge/llm_rows.h"
#include "orrery/validate/edge/llm_settings.h"

namespace orrery {

std::vector<std::string> llm_tables();
// Whether a table is judged only where it is asked for by its name.
bool is_slow_llm_table(std::string_view table);

// A function that names the choices of a phase.
using LlmChoicesOf = std::function<std::vector<LlmChoice>(LlmPhase)>;

// Adds the rows of a table of llm_tables(). `choices_of` is for "llm, settings by fold".
void judge_llm(const std::vector<LlmRow>& rows, std::string_view table, ValidationReport& report,
               const LlmChoicesOf& choices_of = llm_choices);

// The laws fitted on all rows, with the deviations that rows left out have: of a pair of device and
// model, of a chip.
LlmLaws fit_llm_laws(const std::vector<LlmRow>& rows);

}  // namespace orrery
