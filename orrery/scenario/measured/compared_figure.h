// A measured figure of a real run and the prediction of the same figure.
#pragma once

#include <string>

#include "orrery/scenario/answer/answer.h"

namespace orrery {

struct ComparedFigure {
  std::string name;     // of the answer's metric: "ttft", "iteration_time", ...
  double measured = 0;  // in the unit of `predicted`; above 0
  Metric predicted;
  // How far the prediction lies above the measurement, in percent of the measurement.
  double difference() const { return 100 * (predicted.value / measured - 1); }
  // True if the measurement lies in the 90 % interval of the prediction.
  bool within() const { return measured >= predicted.low90 && measured <= predicted.high90; }
};

}  // namespace orrery
