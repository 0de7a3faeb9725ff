// Fits the library's factors over several nodes (library_curve.h) to measured rows.
//
// Rows of one network are fitted in classes of GPUs, since the software differs: racks ("gb"),
// MI300X and MI325X ("mi3"), MI350X and MI355X ("mi35"), all others (""). Three numbers a class, by
// the least Huber loss of ln(predicted/measured), a little held to the defaults (kPrior) so that a
// class of few sizes stays physical.
//
// Kept back in turn: each group (GPU, ranks, collective), predicted by the factors fitted to the
// class's other groups, or by the defaults where no other covers its sizes (within a factor of 16).
#pragma once

#include <string>
#include <vector>

#include "orrery/network/measured_collectives.h"
#include "orrery/network/network_constants.h"

namespace orrery {

// Errors of one group by the factors that did not see it, in percent; by size below 1 MiB, below
// 128 MiB, and from there on. n = 0: no rows of that size.
struct KeptBackGroup {
  std::string fabric, group;
  bool alone = false;  // no other group of the class covers its sizes
  struct Class {
    std::size_t n = 0;
    double mape = 0;
  };
  Class small, middle, large;
};

struct AcrossFit {
  std::vector<FittedAcross> classes;
  std::vector<KeptBackGroup> kept_back;
};
// `all`: the rows of all networks. Racks are few and depend little on their ports: their factors
// are fitted to the rows of all networks together.
AcrossFit fit_across(const std::string& fabric, const std::vector<MeasuredAcross>& rows,
                     const std::vector<MeasuredAcross>& all);

}  // namespace orrery
