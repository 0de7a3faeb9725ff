// Parts of a search for layouts: the layouts of one type and number of GPUs in one format with one
// tp, cp and pp. A part does not depend on the others, so that parts can be kept, and be computed
// by other ranks; the search is their sum in the order of the space.
#pragma once

#include <string>

#include "orrery/planner/question/plan_question.h"
#include "orrery/planner/runs/run_search.h"
#include "orrery/planner/space/question_keys.h"

namespace orrery {

// The key of the part in which `layout` is.
std::string part_key(QuestionKeys& keys, const GpuStock& stock, const RunLayout& layout);

// A part as bytes, without nearest_memory. Its plans are on `stock`.
std::string part_bytes(const RunSearch& part);
RunSearch read_part(const std::string& bytes, const GpuStock& stock);

// Adds a part to a search, but for its plans (best) and its nearest layout.
void add_part(const RunSearch& part, RunSearch& search);

}  // namespace orrery
