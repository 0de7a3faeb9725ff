// parse_json on any bytes.
#include <cstddef>
#include <cstdint>

#include "fuzz/refusal.h"
#include "orrery/base/node.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  orrery::read_or_refuse([&] { orrery::parse_json(text, "fuzz.json"); });
  return 0;
}
