// Constants of networks that were fitted without one group of measured rows.
//
// A row that takes part in a fit is no judge of it. A group is one GPU on one fabric with one
// library: "nvlink4-nvswitch h100-sxm nccl". `orrery fit network` fits the constants once more
// without each group, and writes the files of catalog/network that this changes to
// catalog/network/folds/<group>.txt:
//
//   --- # network/nvlink4-nvswitch.yaml
//   fabrics: [nvlink4-nvswitch]
//   ...
//   --- # network/unseen-servers.yaml
//   ...
//
// An empty text stands for a file that no other group has rows for. The fabric then takes the
// constants of the fabric that stands for it. The frameworks' own all-reduces are not part of a
// fold, because `orrery validate network` judges the libraries alone.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "orrery/base/bundle.h"

namespace orrery {

struct NetworkGroup {
  std::string fabric, gpu;  // ids
  std::string library;      // "nccl", "rccl" or "deepep"

  auto operator<=>(const NetworkGroup&) const = default;
  std::string name() const;
};

// The path of a group's fold below catalog/.
std::string network_fold_path(const NetworkGroup& group);

// `bundle` with these files of network/; an empty text removes the file.
Bundle with_network_files(const Bundle& bundle, const std::map<std::string, std::string>& files);

// `bundle` with the constants that were fitted without `group`. Nothing if the fit has no such
// group: then the constants of `bundle` did not see it.
std::optional<Bundle> bundle_without(const Bundle& bundle, const NetworkGroup& group);

}  // namespace orrery
