// The readers of scalars on any text: a finite value or nothing. The first byte chooses the
// dimension.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

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
  const orrery::Node node = orrery::scalar_node(text, "--flag");
  try {
    if (!std::isfinite(node.as_double())) std::abort();
    node.as_int();
  } catch (const orrery::InputError&) {
  }
  orrery::Node root;
  try {
    orrery::set_path(root, text, node);
  } catch (const orrery::InputError&) {
  }
  return 0;
}
