// read_onnx on any bytes: read or refused. What is read has sound shapes, and every runtime's
// kernels make the work of the graph.
#include "orrery/edge/graph/onnx_model.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "fuzz/edge_graph.h"
#include "fuzz/refusal.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  orrery::read_or_refuse([&] {
    orrery::OnnxOptions options;
    options.dimensions = {{"S", 16}, {"sequence", 16}};
    orrery::check_edge_graph(orrery::read_onnx(bytes, "fuzz.onnx", options));
  });
  return 0;
}
