// Distributions of lengths of any text: read or refused; every quantile is a length.
#include "orrery/serving/requests/lengths.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "fuzz/refusal.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  orrery::read_or_refuse([&] {
    const orrery::Lengths l = orrery::Lengths::parse(text);
    for (double u : {0.0, 1e-9, 0.25, 0.5, 0.999, 1 - 0x1p-53}) {
      const std::int32_t n = l.at(u);
      if (n < 1 || n > 1 << 24) std::abort();
    }
    if (!(l.mean() >= 1)) std::abort();
  });
  return 0;
}
