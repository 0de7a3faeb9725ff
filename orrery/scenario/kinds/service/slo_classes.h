// The requests of each class of slo.classes, and the limits of the class.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "orrery/scenario/kinds/service/service_question.h"
#include "orrery/serving/requests/request.h"

namespace orrery {

class ClassTimes {
 public:
  // Borrows the classes.
  explicit ClassTimes(const std::vector<SloClass>& classes)
      : classes_(classes), of_(classes.size()) {}

  // Adds a request that is done to the first class that it fits, if there is one. Returns whether
  // it keeps the limits of that class.
  bool add(const RequestRecord& request);
  // Whether the percentiles of each class keep its limits.
  bool kept() const;
  // Each sample that a limit bounds, in ms, and the percentile at which it does:
  // "ttft_class_chat".
  using See = std::function<void(FigureRef figure, const std::string& name,
                                 const std::vector<double>& sample, double percentile)>;
  void each(const See& see) const;

 private:
  struct Times {
    std::vector<double> ttft, tpot, e2e;
  };
  const std::vector<SloClass>& classes_;
  std::vector<Times> of_;
};

}  // namespace orrery
