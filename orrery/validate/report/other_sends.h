// How near the measured sends of one GPU can be told by those of another.
//
// A send is predicted without any row of its own group, a GPU. Beside that stands the closest row
// of the same size of another group, taken as it is. The row is chosen with the measured time in
// sight, so that it is no prediction. Where it is far off, nothing in the table is like the group.
#pragma once

#include <cstddef>
#include <string>

#include "orrery/base/units.h"
#include "orrery/validate/report/report.h"

namespace orrery {

class OtherSends {
 public:
  // A send of `group`, whose measured time and prediction without the group are those of row `row`
  // of a report. Both are above 0.
  void add(const std::string& group, Bytes bytes, std::size_t row);

  // A sentence for all sends of the report and a line for each group: median and mean of the error
  // in percent, of the predictions and of the closest rows. Sizes that no other group has are left
  // out of both. If some rows are distrusted (wire_limit.h), a line has the errors of the others;
  // their closest rows are those of all groups. Empty: no two groups have a size in common.
  std::string text(const ValidationReport& report) const;

 private:
  struct Send {
    std::string group;
    Bytes bytes;
    std::size_t row = 0;
  };
  std::vector<Send> sends_;
};

}  // namespace orrery
