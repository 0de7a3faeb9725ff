// read_gpu on any YAML: a GPU of positive size whose formats are multiplied in some format, or
// NoData.
#include "orrery/hardware/gpu.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "fuzz/bundled_seeds.h"
#include "fuzz/refusal.h"

const std::string_view orrery::kSeedFolder = "gpus/";

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  orrery::read_or_refuse([&] {
    const orrery::Gpu gpu = orrery::read_gpu(orrery::parse_yaml(text, "fuzz.yaml"));
    if (!(gpu.usable_memory() > orrery::Bytes(0))) std::abort();
    if (!(gpu.memory.bandwidth > orrery::BytesPerSecond(0))) std::abort();
    for (std::size_t i = 0; i < orrery::kDtypeCount; ++i) {
      try {
        const orrery::Dtype used = gpu.compute_dtype(static_cast<orrery::Dtype>(i));
        if (!(gpu.peak(used) > orrery::FlopsPerSecond(0))) std::abort();
      } catch (const orrery::NoData&) {
      }
    }
  });
  return 0;
}
