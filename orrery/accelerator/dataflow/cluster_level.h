// A level of a dataflow's clusters: the directives between two Clusters, completed, with what a
// sub-cluster holds of every dimension.
#pragma once

#include <cstdint>
#include <vector>

#include "orrery/accelerator/dataflow/directives.h"
#include "orrery/base/index.h"

namespace orrery {

struct LevelMap {
  LayerDim dim = LayerDim::kC;
  bool spatial = false;
  std::int64_t size = 1, offset = 1;
};

// Indices of a dimension in a sub-cluster: all that it holds, and those that it did not hold one
// step before (in space: that its neighbour does not hold); the same where the dimension ends.
struct HeldIndices {
  std::int64_t all = 0, fresh = 0, last_all = 0, last_fresh = 0;
};

struct ClusterLevel {
  std::vector<LevelMap> maps;      // outermost first
  DimSizes sizes;                  // of the level's tile, at full size
  std::int64_t clusters = 1;       // sub-clusters
  std::int64_t last_clusters = 1;  // sub-clusters in use in the last step along the spatial map
  std::array<HeldIndices, kLayerDims> held;

  const HeldIndices& of(LayerDim d) const { return held[index(d)]; }
  // Whether the map is one of this level's and is spatial.
  bool is_spatial(LayerDim d) const;
};

// The dimensions of the layer's tensors. The output of a convolution is indexed by X and Y: it has
// the indices of X' and Y' that they give.
struct LayerTensors {
  std::vector<LayerDim> input, filter, output;
};
LayerTensors tensors_of(const DirectiveLayer& layer);

// The levels, outermost first, for a machine of `units` units. A level inherits maps that it does
// not name from the level above, in time; a dimension that no level names is held in full. Maps of
// a strided input are adjusted to whole outputs. InputError: a level without a spatial map or with
// more than two, a dimension that the layer does not have or that a level maps twice, more than
// four levels, clusters larger than the machine, a filter larger than the input, more than 2^53
// points.
std::vector<ClusterLevel> cluster_levels(const DirectiveLayer& layer, std::int64_t units);

// The filter's dimension that slides along X or Y (S, R), and the output's that results (X', Y').
bool slides(LayerDim input_dim);
LayerDim sliding_dim(LayerDim input_dim);
LayerDim output_dim(LayerDim input_dim);  // `input_dim` itself where nothing slides

}  // namespace orrery
