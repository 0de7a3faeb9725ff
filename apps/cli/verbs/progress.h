// A line on the terminal about work of more than a second: its verb, how much of it is done where
// that is known, and for how long it has run. Nothing where standard error is no terminal.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "orrery/serving/requests/work_meter.h"

namespace orrery::cli {

// Output to standard output is kept back until the line is gone, which it is after the destructor.
class Progress {
 public:
  // Does nothing until begin().
  Progress() = default;
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Begins to look at the clock. `what`: the verb.
  void begin(const std::string& what);
  // The parts of the work, for verbs that know them.
  PartMeter& parts() { return parts_; }
  // The meter that answering a question is given (RunOptions::meter). Where the work has no parts,
  // the line shows the points of the sweep, or the simulated requests of a single point.
  WorkMeter& meter() { return meter_; }

 private:
  using Clock = std::chrono::steady_clock;
  void draw();

  std::string what_;
  PartMeter parts_;
  WorkMeter meter_;
  Clock::time_point began_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false, drawn_ = false;
  std::thread drawer_;
};

// "validate [##########----------] 6/12, 34 s" with the unit, if any, behind the counts; "fit, 3 s"
// where the number of parts is not known.
std::string progress_text(const std::string& what, const PartMeter& parts, const std::string& unit,
                          std::chrono::seconds time);
// The same of what a meter says: "simulate [#####---------------] 262144/1000000 requests, 3 s".
std::string progress_text(const std::string& what, const WorkMeter& meter,
                          std::chrono::seconds time);

}  // namespace orrery::cli
