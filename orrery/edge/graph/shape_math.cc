#include "orrery/edge/graph/shape_math.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "orrery/base/error.h"

namespace orrery {

std::int64_t checked_product(std::span<const std::int64_t> factors) {
  std::int64_t product = 1;
  bool zero = false;
  for (const std::int64_t f : factors) {
    if (f < 0) throw InputError(fmt::format("a size of {}", f));
    if (f == 0) {
      zero = true;
    } else if (__builtin_mul_overflow(product, f, &product) || product > kMostElements) {
      throw InputError("a size beyond 2^53");
    }
  }
  return zero ? 0 : product;
}

std::int64_t checked_product(std::initializer_list<std::int64_t> factors) {
  return checked_product(std::span<const std::int64_t>(factors.begin(), factors.size()));
}

std::string shape_text(std::span<const std::int64_t> dims) {
  return dims.empty() ? "scalar" : fmt::format("{}", fmt::join(dims, "x"));
}

void check_dims(std::span<const std::int64_t> dims) {
  if (dims.size() > kMostDimensions) {
    throw InputError(fmt::format("a tensor of {} dimensions; at most {} are read", dims.size(),
                                 kMostDimensions));
  }
  checked_product(dims);
}

namespace {

void check_axis(std::int64_t size, const WindowAxis& axis) {
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  for (const std::int64_t v : {axis.kernel, axis.stride, axis.dilation}) {
    if (v < 1 || v > kMost) {
      throw InputError(fmt::format("a window with kernel {}, stride {} and dilation {}",
                                   axis.kernel, axis.stride, axis.dilation));
    }
  }
  if (axis.pads < -kMost || axis.pads > kMost) {
    throw InputError(fmt::format("a padding of {}", axis.pads));
  }
  if (size < 0 || size > kMost) throw InputError(fmt::format("an axis of {} positions", size));
}

}  // namespace

std::int64_t window_positions(std::int64_t size, const WindowAxis& axis, bool ceil) {
  check_axis(size, axis);
  const std::int64_t extent = (axis.kernel - 1) * axis.dilation + 1;
  const std::int64_t room = size + axis.pads - extent;
  if (room < 0) {
    throw InputError(fmt::format("a window of {} positions on an axis of {} with padding {}",
                                 extent, size, axis.pads));
  }
  return (ceil ? (room + axis.stride - 1) / axis.stride : room / axis.stride) + 1;
}

std::int64_t transposed_size(std::int64_t size, const WindowAxis& axis, std::int64_t output_pad) {
  check_axis(size, axis);
  if (output_pad < 0 || output_pad >= std::max(axis.stride, axis.dilation)) {
    throw InputError(fmt::format("an output padding of {}", output_pad));
  }
  const std::int64_t extent = (axis.kernel - 1) * axis.dilation + 1;
  const std::int64_t result = (size - 1) * axis.stride + extent - axis.pads + output_pad;
  if (size < 1 || result < 1) {
    throw InputError("a transposed convolution whose result is empty");
  }
  return result;
}

EdgeDims broadcast(const EdgeDims& a, const EdgeDims& b) {
  const EdgeDims& longer = a.size() >= b.size() ? a : b;
  const EdgeDims& shorter = a.size() >= b.size() ? b : a;
  EdgeDims result = longer;
  const std::size_t offset = longer.size() - shorter.size();
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    std::int64_t& d = result[offset + i];
    if (d == 1) {
      d = shorter[i];
    } else if (shorter[i] != 1 && shorter[i] != d) {
      throw InputError(
          fmt::format("the shapes {} and {} do not fit together", shape_text(a), shape_text(b)));
    }
  }
  check_dims(result);
  return result;
}

std::size_t axis_of(std::int64_t axis, std::size_t rank) {
  const std::int64_t signed_rank = static_cast<std::int64_t>(rank);
  if (axis < -signed_rank || axis >= signed_rank) {
    throw InputError(fmt::format("axis {} of a tensor of {} dimensions", axis, rank));
  }
  return static_cast<std::size_t>(axis < 0 ? axis + signed_rank : axis);
}

std::string shown_name(std::string_view name) {
  constexpr std::size_t kMostCharacters = 80;
  std::string shown(name.substr(0, kMostCharacters));
  for (char& c : shown) {
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7F) c = '?';
  }
  return name.size() > kMostCharacters ? shown + "..." : shown;
}

void check_totals(const EdgeGraph& graph, const std::string& name) {
  double macs = 0, parameters = 0, elements = 0;
  for (const EdgeNode& n : graph.nodes) {
    macs += static_cast<double>(n.macs);
    parameters += static_cast<double>(n.parameters);
  }
  for (const EdgeTensor& t : graph.tensors) elements += static_cast<double>(t.elements());
  if (std::max({macs, parameters, elements}) > static_cast<double>(kMostElements)) {
    throw InputError(fmt::format("{}: the sizes of the graph add up to more than 2^53", name));
  }
}

}  // namespace orrery
