// read_ncnn_param on any text: read or refused. What is read has sound shapes, and every runtime's
// kernels make the work of the graph.
#include "orrery/edge/graph/ncnn_param.h"

#include "fuzz/bundled_seeds.h"
#include "fuzz/edge_graph.h"
#include "fuzz/refusal.h"

const std::string_view orrery::kSeedFolder = "edge/models/";

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  orrery::read_or_refuse([&] {
    orrery::check_edge_graph(
        orrery::read_ncnn_param(text, "fuzz.param", orrery::NcnnShape{32, 32, 3}));
  });
  return 0;
}
