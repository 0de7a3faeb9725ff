// The readers of scalars on any text: a finite value or nothing. The first byte chooses the
// dimension.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "fuzz/refusal.h"
#include "orrery/base/dtype.h"
#include "orrery/base/node.h"
#include "orrery/base/units.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data + 1), size - 1);
  const auto dimension = static_cast<orrery::Dimension>(data[0] % 9);
  if (const auto v = orrery::parse_quantity(dimension, text)) {
    if (!std::isfinite(*v)) std::abort();
    orrery::to_text(orrery::Seconds(*v));
    orrery::to_text(orrery::Bytes(*v));
    orrery::to_text(orrery::FlopsPerSecond(*v));
  }
  orrery::parse_dtype(text);
  orrery::read_or_refuse([&] {
    const orrery::Node node = orrery::scalar_node(text, "--flag");
    orrery::read_or_refuse([&] {
      if (!std::isfinite(node.as_double())) std::abort();
      node.as_int();
    });
    orrery::Node root;
    orrery::set_path(root, text, node);
  });
  return 0;
}
