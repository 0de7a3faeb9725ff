// Arrival processes: the times at which requests arrive.
//
// Adding one: a class in a file of its own, and an entry of arrivals.def (docs/serving.md).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/fields.h"
#include "orrery/base/own_parameters.h"
#include "orrery/base/random.h"
#include "orrery/base/units.h"

namespace orrery {

struct ArrivalParameters {
  double rate = 1;    // mean requests a second; of ramp: at the start
  OwnParameters own;  // of each process, which declares them in its source
};

class ArrivalProcess {
 public:
  virtual ~ArrivalProcess() = default;
  // Time of the arrival after one at `now`, in seconds since the start. Never before `now`.
  virtual double next(double now, RandomStream& random) = 0;
};

// The parameters that a process reads, other than its own.
struct ArrivalReads {
  bool rate = true;
};

// One line of arrivals.def.
struct ArrivalKind {
  std::string_view name, doc;
  std::unique_ptr<ArrivalProcess> (*make)(const ArrivalParameters&);
  void (*declare)(Fields&, OwnParameters&);  // its own parameters
  ArrivalReads reads;
};

// All processes, in the order of arrivals.def.
const std::vector<ArrivalKind>& arrival_kinds();
// Throws InputError with the nearest name if no process is called `name`.
const ArrivalKind& arrival_kind(std::string_view name);
// Names of all processes that read a parameter (or, with `reads` false, that do not).
std::vector<std::string> arrivals_that_read(bool ArrivalReads::* parameter, bool reads = true);
// Declares the parameters that processes have for themselves, as keys of the group `load`. Those of
// other processes than the one called `process` are refused (Field::needs).
void declare_arrivals(Fields& fields, OwnParameters& own, const std::string& process);
// Sets a parameter that a process has for itself, as a scenario does. Throws InputError if it has
// no such parameter, or for a value out of its range.
void set_arrival_parameter(OwnParameters& own, std::string_view process, const std::string& key,
                           const std::string& value);
// A new process. Throws InputError with the nearest name, or with the parameter that is out of its
// range.
std::unique_ptr<ArrivalProcess> make_arrivals(std::string_view name, const ArrivalParameters& p);

}  // namespace orrery
