// How a checkpoint stores the weights of a model: the number format of each part, with its scales.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/units.h"
#include "orrery/model/layers/layer_weights.h"

namespace orrery {

enum class WeightFormat {
  kPlain,  // Architecture::dtype
  kFp8,
  kInt8,
  kInt4,
  kMxfp4,
  kNvfp4,
};

// A number format with its scales. One scale serves `group` inputs of one output; or a block of
// block_rows outputs x block_columns inputs; or, where both are 0, one output (scale_per_row) or
// the whole matrix.
struct StoredFormat {
  WeightFormat format = WeightFormat::kPlain;
  int group = 0;
  int block_rows = 0;
  int block_columns = 0;
  bool scale_per_row = false;
  double scale_bytes = 0;     // of one scale
  bool zero_points = false;   // each scale has a zero, as wide as a weight
  double column_bytes = 0;    // further bytes for each input (the order of inputs in GPTQ)
  double matrix_bytes = 0;    // further bytes for each matrix (a scale of weights or of inputs)
  bool weights_only = false;  // activations stay at Architecture::dtype
  bool operator==(const StoredFormat&) const = default;
};

// Bytes of a matrix of `rows` outputs and `columns` inputs. REQUIRES format.format != kPlain.
Bytes stored_bytes(const StoredFormat& format, std::int64_t rows, std::int64_t columns);

// The matrices of one part that share a format.
struct StoredPart {
  WeightPart part = WeightPart::kMixers;
  StoredFormat format;
  std::int64_t elements = 0;
  Bytes bytes;     // with scales and zeros
  int layers = 0;  // the number of layers that have them; 0: they are beside the layers
  bool operator==(const StoredPart&) const = default;
};

// The format of the KV cache that a checkpoint asks for.
enum class KvFormat { kFp8, kNvfp4 };

// The quantisation of a checkpoint. The format itself is that of most quantised weights.
struct CheckpointQuantization : StoredFormat {
  std::string method;  // as written: "fp8", "gptq", "awq", "mxfp4", "compressed-tensors", ...
  std::vector<std::string> skipped;  // modules that are not quantised, as written
  std::optional<KvFormat> kv_cache;  // absent: the file names none
  // Every matrix of the model in the formats of the file, sorted by part and then by bytes, the
  // most first. Empty where nothing is quantised.
  std::vector<StoredPart> parts;
  bool operator==(const CheckpointQuantization&) const = default;
};

// The format in which most bytes of a part are stored; plain if nothing is quantised or the model
// has no such part.
StoredFormat format_of(const CheckpointQuantization& quantization, WeightPart part);

}  // namespace orrery
