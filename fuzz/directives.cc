// The reader of mapping files of directives on any text, and the evaluation of the layers that it
// accepts: figures that are no nonsense, in bounded time.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "fuzz/refusal.h"
#include "orrery/accelerator/dataflow/directive_model.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace orrery;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  read_or_refuse([&] {
    for (const DirectiveLayer& layer : read_directive_layers(text, "map.m")) {
      const DirectiveCost cost = evaluate_directives(layer, {});
      if (!(cost.cycles > 0) || !std::isfinite(cost.mean_bandwidth)) std::abort();
    }
  });
  return 0;
}
