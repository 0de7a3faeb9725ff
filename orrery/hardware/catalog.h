// Finds GPUs, fabrics and node types by id, by alias or by the path of a file.
//
//   Catalog catalog;                        // Catalog(Bundle("my-facts")) for --catalog my-facts
//   Gpu gpu = catalog.gpu("H100_SXM");      // an id or alias; case and '_' do not matter
//   Gpu mine = catalog.gpu("./mine.yaml");  // with '/', or ending in .yaml, .yml, .json
//
// Only the requested file is parsed, and the file of the architecture that a GPU names: that of the
// catalog, or for a GPU file with a path one in the folder `architectures` beside it or beside its
// folder. Aliases are found in the text of the files, so they are written on one line: "aliases:
// [h100, h100-80gb]". A file of the overlay replaces the bundled file of the same path.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/hardware/fabric.h"
#include "orrery/hardware/gpu.h"
#include "orrery/hardware/node_type.h"

namespace orrery {

class Catalog {
 public:
  Catalog() = default;
  explicit Catalog(Bundle bundle) : bundle_(std::move(bundle)) {}

  // InputError: no such name (the message has the nearest one), or a malformed file.
  Gpu gpu(std::string_view name) const;
  Fabric fabric(std::string_view name) const;
  NodeType node_type(std::string_view name) const;

  // All ids, sorted.
  std::vector<std::string> gpu_ids() const;
  std::vector<std::string> fabric_ids() const;
  std::vector<std::string> node_type_ids() const;

 private:
  Bundle bundle_;
};

}  // namespace orrery
