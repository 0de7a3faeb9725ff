// Rows of measured services that contradict what else is known of the same system, by rules in
// words. No constant is fitted on them; the errors of first tokens are asked of them too, and
// `orrery validate serving` judges them as all others.
//
//   - SGLang with 512 users and more: its one front end limits them, not the engine.
//   - DeepSeek-R1 under SGLang on B300: a prompt of 8,192 tokens takes four to ten times as long as
//     on B200, and the more so the longer it is.
//   - DeepSeek-R1 under SGLang, servers that had just started and whose first prompts are more than
//     one step takes: these prompts wait 9 to 80 s while kernels are compiled.
//
// docs/reference/composition.md, section Rows that are not trusted, has their figures.
#pragma once

#include "orrery/validate/rows/inference_rows.h"

namespace orrery {

bool distrusted(const MeasuredRow& row);

}  // namespace orrery
