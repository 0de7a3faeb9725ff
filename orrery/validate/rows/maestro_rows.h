// Recorded results of MAESTRO: a layer, its dataflow and every figure that the tool reported
// (measured/accelerator/maestro_layers.csv and maestro_dataflows.json).
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "orrery/accelerator/dataflow/directives.h"

namespace orrery {

struct MaestroRow {
  std::string id;  // mapping/layer
  DirectiveLayer layer;
  std::int64_t units = 0;
  std::map<std::string, double> figures;  // by column
  bool clustered = false;                 // the dataflow has more than one level
  // The place among the rows of the layer that stands before this one in the mapping file: the row
  // whose name has the same words and a last number that is one less. -1: not among the rows.
  int before = -1;
};

// The rows of both files in `dir`. A layer whose record has no directives (files of the style nlr
// that use another notation) takes those of the first layer of its kind in another mapping of the
// same style, the part of the name behind the network's. Calls of `failed` name rows that cannot be
// read, with the reason.
std::vector<MaestroRow> read_maestro_rows(
    const std::filesystem::path& dir,
    const std::function<void(const std::string& id, const std::string& why)>& failed);

}  // namespace orrery
