// CsvReader on any bytes: rows as wide as the header, with no more bytes than came in.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "fuzz/refusal.h"
#include "orrery/base/csv.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  orrery::read_or_refuse([&] {
    orrery::CsvReader csv(text, "fuzz.csv");
    std::size_t bytes = 0;
    while (csv.next()) {
      for (std::size_t c = 0; c < csv.header().size(); ++c) {
        bytes += csv.text(static_cast<int>(c)).size();
      }
      orrery::read_or_refuse([&] { csv.integer(0); });
    }
    if (bytes > size) std::abort();
  });
  return 0;
}
