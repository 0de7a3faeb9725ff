// Measured closed loops as questions: the layout that serves with most tokens a second per GPU
// within a limit of TPOT.
//
// A question is a group of rows of inference/serving_steady.csv with one model, number format,
// system, framework, version and nominal lengths, and with three or more layouts. Rows that the
// data set marks as suspect, pools for prefill and decode, more than 8 GPUs, and racks (GB200,
// GB300), whose rows count the GPUs of whole deployments, are left out. So are rows whose layout
// cannot be what ran: attention and experts on different numbers of GPUs, or fewer GPUs than hold
// the weights.
//
// The throughput follows from the figures of a request: users x output tokens / (TTFT + TPOT x
// (output tokens - 1)) / GPUs. It is the same formula for measured and predicted figures.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/validate/choices/regret.h"
#include "orrery/validate/report/constants_choice.h"
#include "orrery/validate/report/report.h"
#include "orrery/validate/rows/inference_rows.h"

namespace orrery {

inline constexpr double kTpotLimits[] = {10, 15, 20, 30, 50, 100};  // ms

struct ServingChoice {
  std::string row;   // the table, the line of its first row: "serving_steady.csv:57"
  std::string name;  // "qwen3-32b fp8 on h200-sxm-141gb, vllm 0.12.0, 1024 in, 1024 out"
  MeasuredRow like;  // its first row: system, engine, family
  // TPOT in ms is what limits bound; the predictions are ours.
  std::vector<LayoutPoint> points;
  // The points that AIConfigurator predicts, with our predictions and with its own. Empty: they
  // have fewer than three layouts.
  std::vector<LayoutPoint> shared, peer;
};

// The questions of `dir` (data/inference), predicted as `validate serving` does: by constants that
// were fitted without the rows' model and system. Rows without a prediction stay in the questions
// and go to `refused`, as do rows that are left out for their layout.
std::vector<ServingChoice> serving_choices(const std::filesystem::path& dir, const Bundle& bundle,
                                           ConstantsChoice constants,
                                           std::vector<RefusedRow>& refused);

}  // namespace orrery
