// CsvReader on any bytes: rows as wide as the header, or an InputError and nothing else.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "orrery/base/csv.h"
#include "orrery/base/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    orrery::CsvReader csv(text, "fuzz.csv");
    std::size_t bytes = 0;
    while (csv.next()) {
      for (std::size_t c = 0; c < csv.header().size(); ++c)
        bytes += csv.text(static_cast<int>(c)).size();
      try {
        csv.integer(0);
      } catch (const orrery::InputError&) {
      }
    }
    if (bytes > size) std::abort();
  } catch (const orrery::InputError&) {
  }
  return 0;
}
