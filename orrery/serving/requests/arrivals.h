// When requests arrive.
//
// Adding a process: a class in a file of its own and a line in arrivals.def (docs/serving.md).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/random.h"
#include "orrery/base/units.h"

namespace orrery {

struct ArrivalParameters {
  double rate = 1;        // requests a second, in the mean (ramp: at the start)
  double burstiness = 1;  // of gamma: 1 is Poisson, below 1 burstier (shape of the gaps; vLLM's)
  double end_rate = 1;    // of ramp: after `period`, and from then on
  Seconds period = Seconds(3600);  // of diurnal's wave, of ramp's rise
  double amplitude = 0.5;          // of diurnal: the rate swings by so much of itself, 0 to 1
};

class ArrivalProcess {
 public:
  virtual ~ArrivalProcess() = default;
  // The arrival after one at `now`, seconds.
  virtual double next(double now, RandomStream& random) = 0;
};

struct ArrivalKind {
  std::string_view name, doc;
  std::unique_ptr<ArrivalProcess> (*make)(const ArrivalParameters&);
};
const std::vector<ArrivalKind>& arrival_kinds();
// InputError naming the nearest, or saying which parameter is out of range.
std::unique_ptr<ArrivalProcess> make_arrivals(std::string_view name, const ArrivalParameters& p);

}  // namespace orrery
