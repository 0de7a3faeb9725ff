// The breakdown of a replayed trace, class by class.
#pragma once

#include <string>

#include "orrery/scenario/answer/answer.h"

namespace orrery::cli {

// 80 columns wide: kernels, then the busy, exposed and critical time of the replay; with what was
// asked beside it where that differs. Empty: the answer is not that of a replay.
std::string replay_table(const Point& point);
// The same as a Markdown table.
std::string replay_markdown(const Point& point);

}  // namespace orrery::cli
