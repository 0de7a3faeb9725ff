// How near the measured sends of one GPU can be told by those of another.
//
// A send is predicted without any row of its own group, a GPU. Beside that stands the closest row
// of the same size of another group, taken as it is. The row is chosen with the measured time in
// sight, so that it is no prediction. Where it is far off, nothing in the table is like the group.
#pragma once

#include <string>
#include <vector>

#include "orrery/base/units.h"

namespace orrery {

class OtherSends {
 public:
  // A send of `group`: its measured time, and the time that was predicted without the group. Both
  // are in microseconds and above 0.
  void add(const std::string& group, Bytes bytes, double measured, double predicted);

  // A sentence for all sends and a line for each group: median and mean of the error in percent,
  // of the predictions and of the closest rows. Sizes that no other group has are left out of
  // both. Empty: no two groups have a size in common.
  std::string text() const;

 private:
  struct Send {
    std::string group;
    Bytes bytes;
    double measured = 0, predicted = 0;
  };
  std::vector<Send> sends_;
};

}  // namespace orrery
