// The readers of SCALE-Sim's configurations and topologies and of MAESTRO's hardware files on any
// text.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "fuzz/refusal.h"
#include "orrery/accelerator/dataflow/directive_hardware.h"
#include "orrery/accelerator/systolic/scalesim_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace orrery;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  read_or_refuse([&] {
    const SystolicArray a = read_scalesim_config(text, "a.cfg").array;
    if (a.rows < 1 || a.columns < 1 || a.input_words < 1024) std::abort();
    // A small product takes bounded time on any array.
    if (a.rows * a.columns <= 4096) run_systolic(a, {9, 7, 5});
  });
  read_or_refuse([&] {
    for (const ScaleSimLayer& l : read_scalesim_topology(text, "t.csv")) {
      if (l.product.m < 1 || l.product.n < 1 || l.product.k < 1 || l.times < 1) std::abort();
    }
  });
  read_or_refuse([&] {
    if (read_directive_hardware(text, "hw.m").machine.units < 1) std::abort();
  });
  return 0;
}
