// Reads ONNX models (onnx.proto3, ModelProto; opset 7 to 21) of inference: CNNs and transformers.
// Weights are skipped where they lie: only names, shapes and formats of initializers are kept, and
// the values of small integer tensors that shapes are computed from. External data need not be
// there.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "orrery/edge/graph/graph.h"

namespace orrery {

struct OnnxOptions {
  // For a first dimension of an input that the model leaves symbolic.
  std::int64_t batch = 1;
  // Values of other symbolic dimensions, by the name that the model gives them: {"sequence", 128}.
  // A dimension without a name is called "<input>[<axis>]".
  std::map<std::string, std::int64_t> dimensions;
};

// The graph of a model. Nodes of unknown types stay in it as kUnknown (unknown_ops_note()), with
// dynamic outputs unless the model states their shapes. Constants that only shapes need leave no
// nodes. InputError, one message that begins with `name`: bytes that are no ONNX model, a file that
// is cut short, opsets out of range, a cycle, a tensor that nothing writes, a symbolic dimension
// without a value, shapes that do not fit, and sizes beyond 2^53 elements.
EdgeGraph read_onnx(std::string_view bytes, const std::string& name,
                    const OnnxOptions& options = {});

// The same of a file, which is mapped into memory: pages of weights are not read. InputError also
// for a zip or gzip archive, which is not unpacked.
EdgeGraph read_onnx_file(const std::filesystem::path& path, const OnnxOptions& options = {});

}  // namespace orrery
