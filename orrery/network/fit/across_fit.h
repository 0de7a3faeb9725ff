// Fits the library's factors over several nodes (library_curve.h) to measured rows.
//
// Rows of one network are fitted in classes of GPUs, since the software differs: racks ("gb"),
// MI300X and MI325X ("mi3"), MI350X and MI355X ("mi35"), all others (""). Racks are few and depend
// little on their ports: their factors are fitted to the rows of all networks together. Three
// numbers a class, by the least Huber loss of ln(predicted/measured), held to what most networks
// have: by less, the more a factor differs between networks (kPrior). What most have is the
// geometric mean of the densest half of the classes (LibraryCurve's defaults).
//
// Kept back in turn: each group (GPU, ranks, collective), predicted by the factors fitted to the
// class's other groups, held to the densest half of the other classes; or by the latter alone where
// there are no others.
//
// Intervals. A prediction's relative error has three parts: that of the start (all of a time that
// is not transfer), that of the width (the transfer), and what a class's own curve misses at single
// sizes. Its tails are heavy (estimate.h): most networks lie close to what most have, some far off.
// The first two parts are those of groups kept back, never of the rows that a fit has seen:
//   start, elsewhere   how far the start of a class is from the densest half of the others, root
//                      mean square
//   start, seen        the deviation within the densest half
//   width, elsewhere   the mean error of a group's transfers, rows of which no other group of its
//                      class was seen; root mean square over groups
//   width, seen        the same, with the class's other groups seen
// A class has seen a part when a group of its rows spends half of its time there.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "orrery/network/collectives/network_constants.h"
#include "orrery/network/fit/measured_collectives.h"

namespace orrery {

// Errors of one group by the factors that did not see it, in percent, and how many rows lie in
// their 50 % and 90 % intervals; by size below 1 MiB, below 128 MiB, and from there on. n = 0: no
// rows of that size.
struct KeptBackGroup {
  std::string fabric, group;
  bool alone = false;  // no other group of its class
  struct Class {
    std::size_t n = 0, in50 = 0, in90 = 0;
    double mape = 0;
  };
  Class small, middle, large;
};

struct AcrossFit {
  std::map<std::string, std::vector<FittedAcross>> classes;  // by fabric
  std::vector<KeptBackGroup> kept_back;
  LibraryCurve most;  // the densest half of the classes
};
// The sigma between those whose 50 % and 90 % intervals hold 50 % and 90 % of the residuals, given
// without sign. REQUIRES some.
double sigma_of(std::vector<double> residuals);

// `rows`: by fabric.
AcrossFit fit_across(const std::map<std::string, std::vector<MeasuredAcross>>& rows);

}  // namespace orrery
