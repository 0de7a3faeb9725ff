#include "orrery/edge/graph/onnx_model.h"

#include "orrery/base/error.h"

namespace orrery {

EdgeGraph read_onnx(std::string_view, const std::string& name, const OnnxOptions&) {
  throw InputError(name + ": ONNX is not read yet");
}
EdgeGraph read_onnx_file(const std::filesystem::path& path, const OnnxOptions&) {
  throw InputError(path.string() + ": ONNX is not read yet");
}

}  // namespace orrery
