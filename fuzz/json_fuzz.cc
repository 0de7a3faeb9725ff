// parse_json on any bytes: a document, or an InputError and nothing else.
#include <cstddef>
#include <cstdint>

#include "orrery/base/node.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    orrery::parse_json(text, "fuzz.json");
  } catch (const orrery::InputError&) {
  }
  return 0;
}
