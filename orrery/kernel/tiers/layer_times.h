// Times of layers of models as an engine ran them on one GPU: exact shapes instead of surfaces.
//
// If the file of a GPU has the shape of an op (n and k of a projection, the heads of an attention),
// the op takes the measured time, interpolated between the measured sizes. All other ops are left
// to the kernel families. A GPU without a sweep thus answers at the measured tier for the models
// that were measured on it.
//
// catalog/layers/<gpu>.txt, made by `orrery fit layers`:
//   orrery-layers 1
//   # recipe, for people
//   gemm bf16 6144 4096 points 3         number format, n, k
//   1 52.1 2 52.3 4 52.9                 rows and us, increasing
//   rows 1 8192 24576 points ...         kind of elementwise work, width, bytes a row
//   embedding 4096 0 0 points ...        width
//   decode 32 8 128 grid 9 11            heads, kv heads, head size; sequences, keys
//   1 2 4 ...                            sequences
//   16 32 ...                            keys of each
//   9.3 9.3 ...                          us, by sequences
//   prefill 32 8 128 grid 8 12           new tokens, past tokens of one sequence
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/estimate.h"
#include "orrery/base/units.h"
#include "orrery/workload/ops/op.h"

namespace orrery {

struct LayerShape {
  enum class Kind { kGemm, kRows, kEmbedding, kDecode, kPrefill };
  Kind kind = Kind::kGemm;
  std::array<std::int64_t, 3> sizes{};
  bool operator==(const LayerShape&) const = default;
};

// The curve or grid of an op, and its place there: rows; or sequences and keys; or new and past
// tokens.
struct LayerPlace {
  LayerShape shape;
  double x = 1, y = 0;
};
// The place of an op. Nothing for ops that are not measured as layers: attention with a window or
// in formats other than 16 bits, gradients, several prompts in one call.
std::optional<LayerPlace> layer_place(const Op& op);

struct MeasuredLayer {
  LayerShape shape;
  std::vector<double> x, y;  // y empty: a curve
  std::vector<double> us;    // row-major, x first
};

class LayerTimes {
 public:
  std::string comment;  // lines that begin with '#'
  std::vector<MeasuredLayer> layers;

  // The measured time of an op; nothing if its shape was not measured or its sizes are outside the
  // measured ones.
  std::optional<Estimate<Seconds>> time(const Op& op) const;
};

std::string layer_times_path(std::string_view gpu);  // below catalog/
// InputError with the line: the text is malformed.
LayerTimes parse_layer_times(std::string_view text, const std::string& name);
std::string to_text(const LayerTimes& times);

}  // namespace orrery
