// Reads a mapping as AccelForge's YAML files have it:
//
//   mapping:
//     nodes:
//     - !Storage {tensors: [T0, W0, T1], component: MainMemory}
//     - !Temporal {rank_variable: m, tile_shape: 16}
//     - !Sequential
//       nodes:
//       - !Nested
//         nodes:
//         - !Spatial {name: X, component: PE, rank_variable: n0, tile_shape: 1}
//         - !Compute {einsum: Matmul0, component: MAC}
//
// A loop is given by the tile that it leaves. Pipeline nodes are refused: einsums that run at the
// same time are not counted.
//
// Source: the documented input format of AccelForge (Accelergy-Project/accelforge, docs and
// examples, 1c1929c2).
#pragma once

#include "orrery/accelerator/mapping/cascade_mapping.h"
#include "orrery/base/node.h"

namespace orrery {

// `root` is the document of parse_accelforge. InputError as of read_looptree_text, with the line of
// the node, and of unknown keys and tags.
CascadeMapping read_accelforge_mapping(const Node& root, const Cascade& cascade, const Chip& chip);

}  // namespace orrery
