// Fits the library's factors on several nodes (LibraryCurve) to measured rows.
//
// The rows of one network are fitted in classes of GPUs, since their software differs: racks
// ("gb"), MI300X and MI325X ("mi3"), MI350X and MI355X ("mi35"), A100 ("a100": the generation of
// network cards before that of all others), and all others (""). Racks are few
// and depend little on their ports, so their factors are fitted to the rows of all networks at
// once. A class has three factors, of the least Huber loss of ln(predicted / measured). Each factor
// is held to the value around which most networks lie, the less the more it differs between
// networks (kPrior). That value is the geometric mean of the densest half of the classes;
// LibraryCurve's defaults are these means.
//
// Each group (GPU, ranks, collective) is left out in turn. It is predicted by the factors fitted to
// the other groups of its class, held to the densest half of the other classes, or by that half
// alone if the class has no other group.
//
// The relative error of a prediction has three parts: that of the start (everything in a time that
// is not transfer), that of the width (the transfer), and what the curve of a class misses at a
// single size. Its tails are heavy (estimate.h): most networks lie close to the common values, some
// far off. The first two parts are always those of groups that were left out:
//
//   start, elsewhere   distance of the start of a class from the densest half of the other classes,
//                      root mean square
//   start, seen        deviation within the densest half
//   width, elsewhere   mean error of a group's transfers if no other group of its class was seen,
//                      root mean square over groups
//   width, seen        the same if the other groups of its class were seen
//
// A class has seen a part if some group of its rows spends half of its time there.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "orrery/network/collectives/network_constants.h"
#include "orrery/network/fit/measured_collectives.h"

namespace orrery {

// The errors of one group that was left out, by size of message.
struct KeptBackGroup {
  std::string fabric, group;
  bool alone = false;  // no other group of its class
  struct Class {
    std::size_t n = 0;               // rows
    std::size_t in50 = 0, in90 = 0;  // rows within the 50 % and the 90 % interval
    double mape = 0;                 // mean absolute error, percent
  };
  Class small, middle, large;  // below 1 MiB, below 128 MiB, from there on
};

struct AcrossFit {
  std::map<std::string, std::vector<FittedAcross>> classes;  // by fabric
  std::vector<KeptBackGroup> kept_back;
  LibraryCurve most;     // mean of the densest half of the classes
  PartErrors elsewhere;  // of networks that were not measured; single sizes as in the classes
};
// The classes of GPUs that the rows of one network are fitted in, as FittedAcross::gpus names them,
// without the racks, which are one class on all networks.
extern const std::array<const char*, 4> kAcrossClasses;

// A standard deviation for residuals (absolute values): the mean of the two whose normal intervals
// hold 50 % and 90 % of them. REQUIRES at least one.
double sigma_of(std::vector<double> residuals);

// Fits the factors of all networks. `rows`: measured rows by fabric id.
AcrossFit fit_across(const std::map<std::string, std::vector<MeasuredAcross>>& rows);

}  // namespace orrery
