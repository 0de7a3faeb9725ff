// How far the work on a question is, for a face that shows it. Threads that work add to it while
// another one looks.
#pragma once

#include <cstdint>

#include "orrery/base/part_meter.h"

namespace orrery {

class WorkMeter {
 public:
  PartMeter points;    // of a sweep
  PartMeter requests;  // of the simulations that have begun

  // Counts requests one by one, and tells a meter (which may be null) of every thousand or so.
  class Requests {
   public:
    explicit Requests(WorkMeter* meter) : meter_(meter) {}
    void count() {
      if (meter_ != nullptr && (++counted_ & (kOften - 1)) == 0) meter_->requests.done += kOften;
    }

   private:
    static constexpr std::int64_t kOften = 1024;
    WorkMeter* meter_;
    std::int64_t counted_ = 0;
  };
};

}  // namespace orrery
