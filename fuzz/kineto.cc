// parse_kineto on any bytes: read or refused in one line; what is read is in order and every index in
// it leads somewhere.
#include "orrery/training/kineto.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "fuzz/refusal.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  orrery::read_or_refuse([&] {
    const orrery::KinetoTrace t = orrery::parse_kineto(text, "fuzz.json");
    const orrery::KinetoEvent* last = nullptr;
    for (const orrery::KinetoEvent& e : t.events) {
      if (last != nullptr && e.start < last->start) std::abort();
      if (e.duration.count() < 0 || e.name >= t.names.size() || e.lane >= t.lanes.size() ||
          e.detail >= t.details.size()) {
        std::abort();
      }
      last = &e;
    }
  });
  return 0;
}
