// parse_surfaces on any bytes: a file that is written as text reads back the same.
#include "orrery/kernel/surface/surface.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "fuzz/refusal.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::string written;
  orrery::read_or_refuse([&] {
    const orrery::SurfaceFile file = orrery::parse_surfaces(text, "fuzz.txt");
    for (const orrery::Surface& s : file.surfaces) {
      if (s.values.size() != file.axes.size()) std::abort();
    }
    written = orrery::to_text(file);
  });
  if (!written.empty()) orrery::parse_surfaces(written, "written.txt");
  return 0;
}
