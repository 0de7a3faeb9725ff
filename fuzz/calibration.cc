// parse_calibration on any bytes: a file that is written as text reads back the same, and its
// factors are bounded.
#include "orrery/kernel/tiers/calibration.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "fuzz/refusal.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::string written;
  orrery::read_or_refuse([&] {
    const orrery::CalibrationFile file = orrery::parse_calibration(text, "fuzz.txt");
    for (const orrery::Calibration& c : file.classes) {
      if (!(c.factor({1, 2, 3}) > 0 && c.factor({1, 2, 3}) < 10)) std::abort();
    }
    written = orrery::to_text(file);
  });
  if (!written.empty()) orrery::parse_calibration(written, "written.txt");
  return 0;
}
