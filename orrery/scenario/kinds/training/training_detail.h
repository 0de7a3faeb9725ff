// The part of a point that questions about training own.
#pragma once

#include <string>

#include "orrery/scenario/answer/answer.h"

namespace orrery {

struct TrainingDetail : PointDetail {
  std::string pipeline;  // the passes of every micro-batch, as a timeline

  Timeline timeline() const override { return {"Timeline of an iteration", pipeline}; }
};

}  // namespace orrery
