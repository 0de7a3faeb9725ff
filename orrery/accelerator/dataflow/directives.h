// Data-centric directives: a dataflow as MAESTRO writes it.
//
// A dataflow is a list of directives, outermost first.
//
//   SpatialMap(size, offset) D   every sub-cluster gets `size` indices of dimension D, and the next
//                                sub-cluster those that begin `offset` later
//   TemporalMap(size, offset) D  a sub-cluster holds `size` indices of D, and goes on by `offset`
//   Cluster(n, P)                groups n of the units below; directives after it describe what
//                                happens inside a group
//
// Each level has one or two SpatialMaps. Source: H. Kwon et al., "Understanding Reuse, Performance,
// and Hardware Cost of DNN Dataflows: A Data-Centric Approach", MICRO 2019.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/index.h"

namespace orrery {

// The dimensions that layers have, in alphabetical order. X and Y are the columns and rows of the
// input, kOutputX and kOutputY (X', Y') those of the output, S and R the filter's.
enum class LayerDim { kC, kG, kK, kM, kN, kR, kS, kX, kY, kOutputX, kOutputY };
inline constexpr std::size_t kLayerDims = 11;
const char* name_of(LayerDim dim);

// A value for every dimension; 0 stands for a dimension that a layer does not have.
class DimSizes {
 public:
  std::int64_t& operator[](LayerDim d) { return values_[index(d)]; }
  std::int64_t operator[](LayerDim d) const { return values_[index(d)]; }
  auto operator<=>(const DimSizes&) const = default;

 private:
  std::array<std::int64_t, kLayerDims> values_ = {};
};

struct Directive {
  enum class Kind { kTemporalMap, kSpatialMap, kCluster } kind = Kind::kTemporalMap;
  std::int64_t size = 1, offset = 1;
  LayerDim dim = LayerDim::kC;  // not of a Cluster
};

// Convolutions: C input and K output channels; depth-wise ones have no K, grouped ones have G
// groups of C and K. Products: [M, N] += [M, K] [K, N].
enum class LayerKind { kConvolution, kDepthwise, kGrouped, kProduct };

struct DirectiveLayer {
  std::string name;
  LayerKind kind = LayerKind::kConvolution;
  DimSizes sizes;
  DimSizes strides;  // of X and Y; 1 where not given
  std::vector<Directive> dataflow;
};

// Named numbers of a mapping file.
using DirectiveConstants = std::map<std::string, std::int64_t, std::less<>>;

// The parts of a layer, from their text. InputError with `place` in front: an unknown word, or a
// size that is not positive. Sizes are sums and differences of numbers, constants and Sz(D), the
// size of the layer's dimension D.
LayerKind read_layer_kind(std::string_view text, const std::string& place);
// "K: 64, C: 3, R: 7"; dimensions that are not named keep their value in `sizes`.
void read_dimensions(std::string_view text, const DirectiveConstants& constants,
                     const std::string& place, DimSizes& sizes);
Directive read_directive(std::string_view text, const DirectiveConstants& constants,
                         const DimSizes& sizes, const std::string& place);

// The layers of a mapping file:
//
//   Constant Tile 100;
//   Network Name {
//     Layer CONV1 {
//       Type: CONV
//       Stride { X: 2, Y: 2 }
//       Dimensions { K: 64, C: 3, R: 7, S: 7, Y: 224, X: 224 }
//       Dataflow { SpatialMap(1,1) K; TemporalMap(64,64) C; Cluster(64, P); ... }
//     }
//   }
//
// "//" begins a comment. Messages name `file` and the line.
std::vector<DirectiveLayer> read_directive_layers(std::string_view text, const std::string& file);

}  // namespace orrery
