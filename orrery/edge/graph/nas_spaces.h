// The networks of two search spaces of neural architectures, from the strings that tables of
// measured latencies name them by (HELP, github.com/HayeonLee/HELP).
//
// NAS-Bench-201: "|nor_conv_3x3~0|+|none~0|skip_connect~1|+|...~0|...~1|...~2|" gives the
// operations of the six edges of a cell. Three stacks of five cells, with a residual block between
// stacks, read 32x32 images (Dong and Yang, ICLR 2020; github.com/D-X-Y/AutoDL-Projects).
//
// FBNet: "8.1.1.0. ..." gives the choice of each of 22 layers. The choices are those of Wu et al.
// (CVPR 2019, table 2) in the order of HW-NAS-Bench (Li et al., ICLR 2021): k3_e1, k3_e1_g2, k3_e3,
// k3_e6, k5_e1, k5_e1_g2, k5_e3, k5_e6, skip. HW-NAS-Bench has a network for ImageNet and one for
// CIFAR-100 (32x32 images, stem and second stage without stride, 1504 channels in the head). HELP
// does not say which one it measured. Its times fit the smaller images: 32 of them take 10 ms on a
// Titan RTX, and the early layers cost no more than their widths at one resolution explain.
#pragma once

#include <string_view>

#include "orrery/edge/graph/graph.h"

namespace orrery {

// The operation "none" of an edge: PyTorch multiplies by zero, where a converter for phones leaves
// the edge out with all that only it needs. It keeps a convolution of a node that is zero, whose
// bias is not: the times of HW-NAS-Bench's columns show it, whose architectures of equal work then
// take equal times (docs/lab/2026-11-edge.md). A network that does not depend on its input is
// constant, and nothing of it is left.
enum class NasZeros { kExecuted, kLeftOut };

// InputError where the string names no architecture of the space. With zeros left out, a network in
// which a cell does not depend on its input has no nodes.
EdgeGraph nas_bench_201_graph(std::string_view architecture, NasZeros zeros = NasZeros::kExecuted);

enum class FbnetImages { kCifar100, kImageNet };
EdgeGraph fbnet_graph(std::string_view architecture, FbnetImages images = FbnetImages::kCifar100);

// By the name of the space: "nasbench201" or "fbnet".
EdgeGraph nas_graph(std::string_view space, std::string_view architecture,
                    NasZeros zeros = NasZeros::kExecuted);

}  // namespace orrery
