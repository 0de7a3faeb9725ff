// read_hf_config on any JSON: an Architecture with parameter counts that are no nonsense, and a
// checkpoint whose stored matrices are part of it.
#include "orrery/model/families/hf_config.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "fuzz/bundled_seeds.h"
#include "fuzz/refusal.h"
#include "orrery/model/architecture/parameters.h"

const std::string_view orrery::kSeedFolder = "models/";

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  orrery::read_or_refuse([&] {
    const orrery::Architecture model =
        orrery::read_hf_config(orrery::parse_json(text, "config.json"), "fuzz");
    const orrery::ParameterCounts counts = orrery::count_parameters(model);
    if (counts.total() <= 0 || counts.mtp < 0) std::abort();
    if (counts.active() <= 0 || counts.active() > counts.total()) std::abort();
    if (counts.active_without_embedding() < 0) std::abort();
    std::int64_t stored = 0;
    for (const orrery::StoredPart& part : model.quantization.parts) stored += part.elements;
    if (stored > orrery::checkpoint_parameters(model)) std::abort();
    if (!(orrery::checkpoint_bytes(model).value() > 0)) std::abort();
  });
  return 0;
}
