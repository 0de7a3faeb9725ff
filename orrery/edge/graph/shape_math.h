// Arithmetic of shapes that a file claims. All of it refuses what no machine holds, so that sums
// and products behind it cannot overflow. Its InputErrors say what is wrong and not where: readers
// add that.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/edge/graph/graph.h"

namespace orrery {

using EdgeDims = std::vector<std::int64_t>;

// No tensor has more elements and no node more multiply-adds: 2^53, which doubles hold exactly.
inline constexpr std::int64_t kMostElements = std::int64_t{1} << 53;
inline constexpr std::size_t kMostDimensions = 8;

// The product; InputError unless all factors are in 0 ... kMostElements, and the product too.
std::int64_t checked_product(std::span<const std::int64_t> factors);
std::int64_t checked_product(std::initializer_list<std::int64_t> factors);

// "1x64x56x56"
std::string shape_text(std::span<const std::int64_t> dims);

// Refuses tensors of more than kMostDimensions, with a dimension below 0, or too large.
void check_dims(std::span<const std::int64_t> dims);

// How a window moves along one axis.
struct WindowAxis {
  std::int64_t kernel = 1, stride = 1, dilation = 1;
  std::int64_t pads = 0;  // on both sides together
};
// Positions of a window over `size`; with `ceil` the last one may begin inside and reach beyond.
std::int64_t window_positions(std::int64_t size, const WindowAxis& axis, bool ceil = false);
// The size that a transposed convolution makes of `size`.
std::int64_t transposed_size(std::int64_t size, const WindowAxis& axis, std::int64_t output_pad);

// The shape of an element-wise operation, as numpy and ONNX broadcast.
EdgeDims broadcast(const EdgeDims& a, const EdgeDims& b);

// An axis of a tensor of that rank, counted from the end where negative.
std::size_t axis_of(std::int64_t axis, std::size_t rank);

// A name out of a file for messages: at most 80 characters, '?' for bytes that a terminal does not
// show.
std::string shown_name(std::string_view name);

// InputError "<name>: ..." if the sums over the graph are beyond kMostElements.
void check_totals(const EdgeGraph& graph, const std::string& name);

}  // namespace orrery
