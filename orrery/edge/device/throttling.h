// The part of a device's speed that heat leaves in a load of minutes
// (catalog/edge/throttling.yaml).
//
// Measured times and rates are those of short loads. In a long one a device without enough cooling
// lowers its clocks: its speed lies between the part `least` of that of a short load and all of it.
// No more is known, so that a prediction for such a load is an interval.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/bundle.h"

namespace orrery {

struct EdgeThrottling {
  std::vector<std::string> devices;  // ids of devices of networks and of LLMs
  double least = 1;                  // part of the speed, above 0
  std::string source;
};

class EdgeThrottlings {
 public:
  // InputError: malformed, a device that two entries name.
  explicit EdgeThrottlings(const Bundle& bundle);

  // nullptr where no source says what heat does.
  const EdgeThrottling* of(std::string_view device) const;

 private:
  std::vector<EdgeThrottling> all_;
};

}  // namespace orrery
