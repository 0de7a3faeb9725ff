// read_scenario on any YAML: points that can be asked, and a resolved document that can be
// written.
#include "orrery/kinds/all_kinds.h"
#include "orrery/scenario/document/scenario_sweep.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "fuzz/refusal.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  orrery::read_or_refuse([&] {
    const orrery::ScenarioSweep sweep =
        orrery::read_scenario(orrery::all_kinds(), orrery::parse_yaml(text, "fuzz.yaml"));
    if (sweep.points.empty()) std::abort();
    for (const orrery::Scenario& s : sweep.points)
      if (s.parallel.tp < 1 || s.parallel.pp < 1) std::abort();
    to_json(sweep).dump();
  });
  return 0;
}
