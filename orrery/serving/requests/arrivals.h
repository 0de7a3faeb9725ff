// Arrival processes: the times at which requests arrive.
//
// Adding one: a class in a file of its own, and an entry of arrivals.def (docs/serving.md).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/random.h"
#include "orrery/base/units.h"

namespace orrery {

struct ArrivalParameters {
  double rate = 1;        // mean requests a second; of ramp: at the start
  double burstiness = 1;  // shape of gamma's gaps, as in vLLM: 1 is Poisson, below 1 is burstier
  double end_rate = 1;    // requests a second at the end of ramp's period and after it
  Seconds period = Seconds(3600);  // length of diurnal's wave or of ramp's rise
  double amplitude = 0.5;          // swing of diurnal's rate relative to the rate, 0 to 1
};

class ArrivalProcess {
 public:
  virtual ~ArrivalProcess() = default;
  // Time of the arrival after one at `now`, in seconds since the start. Never before `now`.
  virtual double next(double now, RandomStream& random) = 0;
};

// The members of ArrivalParameters that a process reads. The others have no effect on it.
struct ArrivalReads {
  bool rate = true, burstiness = false, end_rate = false, period = false, amplitude = false;
};

// One line of arrivals.def.
struct ArrivalKind {
  std::string_view name, doc;
  std::unique_ptr<ArrivalProcess> (*make)(const ArrivalParameters&);
  ArrivalReads reads;
};

// All processes, in the order of arrivals.def.
const std::vector<ArrivalKind>& arrival_kinds();
// Throws InputError with the nearest name if no process is called `name`.
const ArrivalKind& arrival_kind(std::string_view name);
// Names of all processes that read a parameter (or, with `reads` false, that do not).
std::vector<std::string> arrivals_that_read(bool ArrivalReads::* parameter, bool reads = true);
// A new process. Throws InputError with the nearest name, or with the parameter that is out of its
// range.
std::unique_ptr<ArrivalProcess> make_arrivals(std::string_view name, const ArrivalParameters& p);

}  // namespace orrery
