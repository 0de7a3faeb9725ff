// The energy of moving a bit over the links of GPUs, by fabric.
//
//   energy of a bit = sum over the parts on its way     catalog/plant/links.yaml
//
// A part is a pair of serialisers, a switch chip, the transceivers at both ends of a fibre. Its
// energy is its power while it carries its full rate, over that rate, as data sheets and papers
// state it. Links draw nearly as much while they are idle: an idle link's power belongs to the
// boards and the nodes (plant.h), whose rest holds network cards and switches within a node, so
// that this energy is a part of theirs and not to be added to it.
//
// A part whose energy nobody states is named and left out.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/base/estimate.h"
#include "orrery/base/units.h"

namespace orrery {

struct LinkPart {
  std::string name;                // "NVLink across a board"
  std::optional<double> pj_a_bit;  // on its whole way over the fabric; absent: not known
  double error = 0;                // deviation of its logarithm
  std::string source;
  std::vector<std::string> fabrics;  // ids of those that have it
};

// The way of a bit over a fabric.
struct LinkWay {
  std::optional<Estimate<Joules>> bit;  // absent: no part is known
  std::vector<std::string> without;     // the names of parts that are not known
};

class LinkEnergies {
 public:
  // Reads catalog/plant/links.yaml. InputError: it is malformed.
  explicit LinkEnergies(const Bundle& bundle);

  const std::vector<LinkPart>& parts() const { return parts_; }
  // The errors of parts are independent of each other.
  LinkWay way(std::string_view fabric) const;

 private:
  std::vector<LinkPart> parts_;
};

}  // namespace orrery
