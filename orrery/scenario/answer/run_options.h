// Options of answering a scenario: the quantities to compute, and the parts of the answer to fill.
#pragma once

#include "orrery/scenario/answer/search_watcher.h"
#include "orrery/serving/requests/request.h"
#include "orrery/serving/requests/work_meter.h"

namespace orrery {

struct RunOptions {
  bool breakdown = true;     // fill Point::kernels
  bool memory_only = false;  // memory and feasibility alone, no times
  bool intervals = true;     // intervals of simulated services: two more simulations
  // Every simulated step at this many standard deviations above its predicted time.
  double deviations = 0;
  bool requests = false;  // fill the requests of a simulated service
  bool steps = false;     // fill what Point::timeline shows
  bool bounds = false;    // fill Point::bounds
  bool chakra =
      false;  // fill Point::files with Chakra traces; needs `breakdown`, except in training
  bool resolved = true;               // fill Answer::resolved
  WorkMeter* meter = nullptr;         // is told how far the work is; null: nobody looks
  SearchWatcher* watcher = nullptr;   // the same of a search, which it may end; null: nobody looks
  const RequestLoad* load = nullptr;  // the requests to simulate in place of the scenario's own
};

}  // namespace orrery
