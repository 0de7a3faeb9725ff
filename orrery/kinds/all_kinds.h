// The kinds of questions of this program: those of kinds.def.
//
//   Runner runner{Bundle()};
//   Answer answer = runner.run(read_scenario(all_kinds(), parse_yaml(text, "question.yaml")));
#pragma once

#include "orrery/scenario/kind/kinds.h"

namespace orrery {

const Kinds& all_kinds();

}  // namespace orrery
