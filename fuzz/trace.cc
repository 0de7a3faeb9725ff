// Request traces of any bytes: read or refused; what is read is in order, with lengths in range.
// The first byte chooses the form.
#include "orrery/serving/traces/trace.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "fuzz/refusal.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  orrery::read_or_refuse([&] {
    const orrery::Trace t = orrery::parse_trace(text, data[0] & 1 ? "fuzz.jsonl" : "fuzz.csv");
    orrery::SimTime last;
    for (const orrery::Request& r : t.load.requests) {
      if (r.arrival < last || r.input < 1 || r.output < 1) std::abort();
      if (r.first_id + r.ids > t.load.ids.size()) std::abort();
      last = r.arrival;
    }
  });
  return 0;
}
