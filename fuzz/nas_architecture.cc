// The architecture strings of search spaces: read or refused.
#include <cstddef>
#include <cstdint>

#include "fuzz/edge_graph.h"
#include "fuzz/refusal.h"
#include "orrery/edge/graph/nas_spaces.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const char* space : {"nasbench201", "fbnet"}) {
    orrery::read_or_refuse([&] {
      orrery::check_edge_graph(orrery::nas_graph(space, text, orrery::NasZeros::kLeftOut));
    });
  }
  return 0;
}
