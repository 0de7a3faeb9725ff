// Reads ncnn's .param text: magic 7767517, counts, then one layer a line (type, name, input and
// output blobs, key=value pairs; github.com/Tencent/ncnn,
// docs/developer-guide/param-and-model-file-structure.md and operation-param-weight-table.md).
// Shapes are propagated from the Input layers; the batch is 1. A layer with scales of bytes makes
// the graph one of bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/edge/graph/graph.h"

namespace orrery {

// The shape of an input as ncnn counts it: channels, height and width. A vector has its length as
// w.
struct NcnnShape {
  std::int64_t w = 0, h = 0, c = 0;
};

// `name` is what messages call the text. `input` is the shape of Input layers that declare none.
// InputError with name:line: no such format, counts that do not fit, a blob that is read before it
// is written or written twice, a shape that is missing, does not fit or is absurdly large.
EdgeGraph read_ncnn_param(std::string_view text, const std::string& name,
                          std::optional<NcnnShape> input = std::nullopt);

}  // namespace orrery
