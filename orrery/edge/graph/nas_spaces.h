// The networks of two search spaces of neural architectures, from the strings that tables of measured
// latencies name them by (HELP, github.com/HayeonLee/HELP).
//
//   NAS-Bench-201  "|nor_conv_3x3~0|+|none~0|skip_connect~1|+|...~0|...~1|...~2|": the operations of the six
//                  edges of a cell, which is stacked 3 x 5 times between two residual blocks for 32x32
//                  images (Dong and Yang, ICLR 2020; github.com/D-X-Y/AutoDL-Projects).
//   FBNet          "8.1.1.0. ...": the choice of each of 22 layers, of nine blocks (Wu et al., CVPR 2019,
//                  table 2), for 224x224 images.
#pragma once

#include <string_view>

#include "orrery/edge/graph/graph.h"

namespace orrery {

// Both: InputError where the string names no architecture of the space.
EdgeGraph nas_bench_201_graph(std::string_view architecture, int classes = 10);
EdgeGraph fbnet_graph(std::string_view architecture, int classes = 1000);

// By the name of the space: "nasbench201" or "fbnet".
EdgeGraph nas_graph(std::string_view space, std::string_view architecture);

}  // namespace orrery
