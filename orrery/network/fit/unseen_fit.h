// Finds the errors of unseen servers (unseen_servers.h) from the groups that a fit left out.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "orrery/network/fit/measured_collectives.h"

namespace orrery {

class UnseenFit {
 public:
  // Adds the errors of a group's rows of the library, as `without`, the catalog that was fitted
  // without the group, predicts them. Rows that beat the nominal bandwidth of their link are not of
  // the machine that the table names, and are not counted.
  void add(const std::string& fabric, const std::string& gpu,
           const std::vector<MeasuredCollective>& rows, const Bundle& without, NodeOf& node_of);

  // The text of catalog/network/unseen-servers.yaml from all groups but those on `fabric`: the
  // errors, and the start of the groups' sends.
  //
  // An error is the root mean square over groups of the group's own root mean square, widened for
  // the small number of groups (Student's t, to first order in 1/n). A class of sizes without two
  // groups has the error of all sizes.
  std::string text_without(const std::string& fabric) const;

 private:
  struct Group {
    std::string fabric;
    bool same_fabric = false;  // other GPUs were left on the fabric
    std::array<double, 3> squares{}, rows{};
    std::vector<MeasuredCollective> sends;
  };
  std::array<double, 3> errors(const std::string& without, bool same_fabric,
                               std::size_t& groups) const;

  std::vector<Group> groups_;
};

}  // namespace orrery
