// The pictures that an answer has: every face that draws one without a browser's help takes it from
// here (--html, --svg, notebooks).
#pragma once

#include <string>
#include <vector>

#include "orrery/hardware/catalog.h"
#include "orrery/scenario/answer/answer.h"

namespace orrery::face {

struct Picture {
  std::string name;  // one of picture_names()
  std::string svg;   // an element of a page
};

// "load", "pareto", "sweep", "timeline", "roofline", "kernels", "breakdown", "memory".
const std::vector<std::string>& picture_names();

// The pictures that the answer has something for: those of its kind of question, then those above
// in the order of their names. The catalog knows the peaks of GPUs.
std::vector<Picture> pictures_of(const Answer& answer, const Catalog& catalog);

// The one of this name as a file of its own; the first one for an empty name. InputError, which
// begins with `flag`: the answer has none, or not this one.
std::string picture_of(const Answer& answer, const Catalog& catalog, const std::string& name,
                       const std::string& flag = "--svg");

}  // namespace orrery::face
