// Groups of measured collectives that are faster than the wires of the machine that they name.
//
// No program moves the bytes of a collective faster than the links that the data sheet gives the
// machine (NetworkModel::bound). A group of which several rows do is of another machine, and none
// of its rows says anything about the named one. Rows are judged and reported all the same, as
// "distrusted".
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "orrery/validate/report/report.h"

namespace orrery {

class WireLimit {
 public:
  // Rows [first, last) of a report are of this group; `faster`: than the wires.
  void note(const std::string& group, std::size_t first, std::size_t last, bool faster);

  // Writes `trusted` = "distrusted" into the rows of groups with at least kFewest faster rows.
  // A single one may be a slip of the clock.
  void mark(ValidationReport& report) const;

  static constexpr int kFewest = 3;

 private:
  struct Group {
    int faster = 0;
    std::map<std::size_t, std::size_t> rows;  // ends of ranges of rows, by their beginnings
  };
  std::map<std::string, Group> groups_;
};

}  // namespace orrery
