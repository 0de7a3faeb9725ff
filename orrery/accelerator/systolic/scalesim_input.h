// Reads the inputs of SCALE-Sim: its configuration (.cfg) and its topologies (.csv).
//
// The configuration has the sections general, architecture_presets, run_presets and, of version 3,
// layout and sparsity. Keys that have no effect on the array (offsets, banks, request buffers) are
// read past. With InterfaceBandwidth USER, Bandwidth is that of the results' memory, and the
// operands' is IfmapSRAMBankBandwidth and FilterSRAMBankBandwidth of the layout, 10 without it.
//
// A topology has a layer a line, behind a header:
//
//   Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter,
//       Strides,                      (a line with the one above)
//   Layer, M, N, K,
//
// A convolution is the product of its windows (im2col): M output pixels, N filters, K words of a
// window. The words of the input that windows share are counted for each window. A layer whose name
// has "DP" is depth-wise: a product for each channel. A column behind those above may be a sparsity
// 1:1, or the batch of a product.
//
// Source: SCALE-Sim v3 (scalesim-project/SCALE-Sim, MIT licence), scale_config.py and
// topology_utils.py.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/accelerator/systolic/systolic_array.h"

namespace orrery {

struct ScaleSimConfig {
  std::string run_name;
  SystolicArray array;
};

// InputError with file, line and key: unknown sections and keys, keys that are missing, what is not
// counted (sparsity, custom layouts, Ramulator's traces).
ScaleSimConfig read_scalesim_config(std::string_view text, const std::string& file);

struct ScaleSimLayer {
  std::string name;
  MatrixProduct product;
  std::int64_t times = 1;  // products of this size
  bool windows = false;    // a convolution whose windows share words of the input
};

// InputError with file, line and column: a header of another form, sizes that are no positive
// numbers, filters larger than the input.
std::vector<ScaleSimLayer> read_scalesim_topology(std::string_view text, const std::string& file);

}  // namespace orrery
