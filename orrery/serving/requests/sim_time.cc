#include "orrery/serving/requests/sim_time.h"

#include "orrery/base/error.h"

namespace orrery {

void refuse_sim_time() {
  throw InputError("simulated time ends at 106 days: a given time, or the load, is longer");
}

}  // namespace orrery
