// read_core_chip on any YAML: a chip with a product that takes a finite time above its roofline, or
// NoData.
#include "orrery/accelerator/chip/core_chip.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "fuzz/bundled_seeds.h"
#include "fuzz/refusal.h"
#include "orrery/accelerator/chip/chip_area.h"
#include "orrery/accelerator/chip/chip_products.h"

const std::string_view orrery::kSeedFolder = "accelerators/";

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  orrery::read_or_refuse([&] {
    const orrery::CoreChip chip = orrery::read_core_chip(orrery::parse_yaml(text, "fuzz.yaml"));
    if (!(orrery::area_of(chip).total() >= 0)) std::abort();
    try {
      orrery::ChipProduct p;
      p.m = 100, p.n = 300, p.k = 77;
      const orrery::ChipProductTime t = orrery::product_time(chip, p);
      if (!std::isfinite(t.time.value()) || t.time < t.roofline) std::abort();
    } catch (const orrery::NoData&) {
    }
  });
  return 0;
}
