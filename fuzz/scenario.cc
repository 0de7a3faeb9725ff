// read_scenario on any YAML: sweeps that hold something, and a resolved document that can be
// written.
#include "orrery/scenario/question/scenario.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "fuzz/refusal.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  orrery::read_or_refuse([&] {
    orrery::Scenario scenario = orrery::read_scenario(orrery::parse_yaml(text, "fuzz.yaml"));
    for (const orrery::Sweep* sweep :
         {&scenario.parallel.tp, &scenario.parallel.pp, &scenario.workload.isl,
          &scenario.workload.osl, &scenario.workload.batch}) {
      if (sweep->empty() || sweep->front() < 1) std::abort();
    }
    orrery::Fields fields;
    declare(fields, scenario);
    fields.json().dump();
  });
  return 0;
}
