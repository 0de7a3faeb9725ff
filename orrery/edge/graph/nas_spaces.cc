#include "orrery/edge/graph/nas_spaces.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/base/kinds.h"
#include "orrery/edge/graph/graph_builder.h"
#include "orrery/edge/graph/shape_math.h"

namespace orrery {
namespace {

using Convolution = GraphBuilder::Convolution;

// ---- NAS-Bench-201

// The value of an edge; none where it is zero and zeros are left out.
using Edge = std::optional<int>;

int relu_convolution_norm(GraphBuilder& b, int x, std::int64_t kernel) {
  return b.batch_norm(b.convolution(b.relu(x), {b.channels(x), kernel, 1, 1}));
}

struct EdgeKind {
  std::string_view name;
  Edge (*apply)(GraphBuilder&, int x, NasZeros zeros);
};

constexpr std::string_view kNone = "none", kConvolutions = "nor_conv";

const std::vector<EdgeKind>& edge_kinds() {
  static const std::vector<EdgeKind> kKinds = {
      {kNone,
       [](GraphBuilder& b, int x, NasZeros zeros) {
         return zeros == NasZeros::kExecuted ? Edge(b.zero(x)) : Edge();
       }},
      {"skip_connect", [](GraphBuilder&, int x, NasZeros) { return Edge(x); }},
      {"nor_conv_1x1",
       [](GraphBuilder& b, int x, NasZeros) { return Edge(relu_convolution_norm(b, x, 1)); }},
      {"nor_conv_3x3",
       [](GraphBuilder& b, int x, NasZeros) { return Edge(relu_convolution_norm(b, x, 3)); }},
      {"avg_pool_3x3",
       [](GraphBuilder& b, int x, NasZeros) { return Edge(b.average_pool(x, 3, 1)); }},
  };
  return kKinds;
}

constexpr std::size_t kCellNodes = 4;  // with the input
// By node behind the input: the kind of the edge from each node before it.
using Cell = std::array<std::vector<const EdgeKind*>, kCellNodes - 1>;

Cell parse_cell(std::string_view text) {
  const std::string shown = shown_name(text);
  const auto refuse = [&](std::string_view why) {
    return InputError(fmt::format("'{}' is no architecture of NAS-Bench-201: {}", shown, why));
  };
  Cell cell;
  for (std::size_t node = 0; node < cell.size(); ++node) {
    if (node > 0) {
      if (!text.starts_with('+')) throw refuse("expected '+' between its three nodes");
      text.remove_prefix(1);
    }
    for (std::size_t from = 0; from <= node; ++from) {
      const std::size_t tilde = text.find('~');
      if (!text.starts_with('|') || tilde == std::string_view::npos) {
        throw refuse(fmt::format("expected '|operation~{}'", from));
      }
      cell[node].push_back(&kind_named(edge_kinds(), "operation of NAS-Bench-201",
                                       shown_name(text.substr(1, tilde - 1))));
      const std::string index = std::to_string(from);
      if (!text.substr(tilde + 1).starts_with(index)) {
        throw refuse(fmt::format("expected an edge from node {}", from));
      }
      text.remove_prefix(tilde + 1 + index.size());
    }
    if (!text.starts_with('|')) throw refuse("expected '|' behind the edges of a node");
    text.remove_prefix(1);
  }
  if (!text.empty()) throw refuse("there is text behind its six edges");
  return cell;
}

// Whether the output of the cell depends on its input.
bool passes(const Cell& cell) {
  std::array<bool, kCellNodes> reached = {true};
  for (std::size_t node = 0; node < cell.size(); ++node) {
    for (std::size_t from = 0; from <= node; ++from)
      reached.at(node + 1) |= reached.at(from) && cell.at(node)[from]->name != kNone;
  }
  return reached.back();
}

Edge add_cell(GraphBuilder& b, const Cell& cell, int x, NasZeros zeros) {
  if (zeros == NasZeros::kLeftOut && !passes(cell)) return {};
  std::array<Edge, kCellNodes> values = {x};
  for (std::size_t node = 0; node < cell.size(); ++node) {
    Edge sum;
    for (std::size_t from = 0; from <= node; ++from) {
      const EdgeKind& kind = *cell.at(node)[from];
      Edge value = values.at(from);
      // A convolution of zeros has a bias, and is executed.
      if (!value && kind.name.starts_with(kConvolutions)) value = b.zero(x);
      if (!value) continue;
      const Edge edge = kind.apply(b, *value, zeros);
      if (edge) sum = sum ? b.add(*sum, *edge) : *edge;
    }
    values.at(node + 1) = sum;
  }
  return values.back();
}

// ResNetBasicblock with stride 2: two convolutions, and a pooled shortcut.
int add_reduction(GraphBuilder& b, int x, std::int64_t channels) {
  int y = b.batch_norm(b.convolution(b.relu(x), {channels, 3, 2, 1}));
  y = b.batch_norm(b.convolution(b.relu(y), {channels, 3, 1, 1}));
  const int shortcut = b.convolution(b.average_pool(x, 2, 2), {channels, 1, 1, 1});
  return b.add(shortcut, y);
}

// ---- FBNet

struct BlockKind {
  std::int64_t kernel = 0, expansion = 0, groups = 1;  // kernel 0: skip
};
constexpr std::array<BlockKind, 9> kBlocks = {
    {{3, 1, 1}, {3, 1, 2}, {3, 3, 1}, {3, 6, 1}, {5, 1, 1}, {5, 1, 2}, {5, 3, 1}, {5, 6, 1}, {}}};
constexpr std::size_t kFbnetLayers = 22;

std::vector<BlockKind> parse_blocks(std::string_view text) {
  std::vector<BlockKind> blocks;
  std::string_view rest = text;
  while (true) {
    const std::string_view word = rest.substr(0, rest.find('.'));
    if (word.size() != 1 || word[0] < '0' || word[0] > '8' || blocks.size() == kFbnetLayers) {
      break;
    }
    blocks.push_back(kBlocks.at(static_cast<std::size_t>(word[0] - '0')));
    rest.remove_prefix(word.size());
    if (rest.empty()) {
      if (blocks.size() == kFbnetLayers) return blocks;
      break;
    }
    rest.remove_prefix(1);
  }
  throw InputError(fmt::format(
      "'{}' is no architecture of FBNet: expected {} numbers from 0 to 8 with '.' between",
      shown_name(text), kFbnetLayers));
}

int convolution_norm(GraphBuilder& b, int x, const Convolution& c, bool relu = true) {
  const int y = b.batch_norm(b.convolution(x, c));
  return relu ? b.relu(y) : y;
}

int add_block(GraphBuilder& b, int x, const BlockKind& kind, std::int64_t channels,
              std::int64_t stride) {
  const bool same = stride == 1 && b.channels(x) == channels;
  if (kind.kernel == 0) return same ? x : convolution_norm(b, x, {channels, 1, stride, 1});
  const std::int64_t width = b.channels(x) * kind.expansion;
  int y = convolution_norm(b, x, {width, 1, 1, kind.groups});
  if (kind.groups > 1) y = b.shuffle(y, kind.groups);
  y = convolution_norm(b, y, {width, kind.kernel, stride, width});
  y = convolution_norm(b, y, {channels, 1, 1, kind.groups}, false);
  return same ? b.add(y, x) : y;
}

struct NasSpace {
  std::string_view name;
  EdgeGraph (*graph)(std::string_view, NasZeros);
};

}  // namespace

EdgeGraph nas_bench_201_graph(std::string_view architecture, NasZeros zeros) {
  constexpr std::array<std::int64_t, 3> kChannels = {16, 32, 64};
  constexpr int kCells = 5;
  constexpr std::int64_t kSide = 32, kClasses = 10;  // CIFAR-10
  const Cell cell = parse_cell(architecture);
  GraphBuilder b{std::string(architecture)};
  Edge x = b.input(3, kSide, kSide);
  const int input = *x;
  x = b.batch_norm(b.convolution(*x, {kChannels[0], 3, 1, 1}));
  for (const std::int64_t channels : kChannels) {
    if (channels != kChannels[0]) x = add_reduction(b, *x, channels);
    for (int i = 0; i < kCells; ++i) {
      x = add_cell(b, cell, *x, zeros);
      // All that follows is constant.
      if (!x) return std::move(b).finish(input);
    }
  }
  const int pooled = b.global_pool(b.relu(b.batch_norm(*x)));
  return std::move(b).finish(b.inner_product(pooled, kClasses));
}

EdgeGraph fbnet_graph(std::string_view architecture, FbnetImages images) {
  constexpr std::array<std::int64_t, 7> kChannels = {16, 24, 32, 64, 112, 184, 352};
  constexpr std::array<int, 7> kLayers = {1, 4, 4, 4, 4, 4, 1};
  const bool large = images == FbnetImages::kImageNet;
  const std::array<std::int64_t, 7> strides = {1, large ? 2 : 1, 2, 2, 1, 2, 1};
  const std::vector<BlockKind> blocks = parse_blocks(architecture);
  GraphBuilder b{std::string(architecture)};
  const std::int64_t side = large ? 224 : 32;
  int x = b.input(3, side, side);
  x = convolution_norm(b, x, {kChannels[0], 3, large ? 2 : 1, 1});
  std::size_t layer = 0;
  for (std::size_t stage = 0; stage < kChannels.size(); ++stage) {
    for (int i = 0; i < kLayers.at(stage); ++i) {
      const std::int64_t stride = i == 0 ? strides.at(stage) : 1;
      x = add_block(b, x, blocks[layer++], kChannels.at(stage), stride);
    }
  }
  x = convolution_norm(b, x, {large ? 1984 : 1504, 1, 1, 1});
  return std::move(b).finish(b.inner_product(b.global_pool(x), large ? 1000 : 100));
}

EdgeGraph nas_graph(std::string_view space, std::string_view architecture, NasZeros zeros) {
  static const std::vector<NasSpace> kSpaces = {
      {"nasbench201", nas_bench_201_graph},
      {"fbnet", [](std::string_view text, NasZeros) { return fbnet_graph(text); }}};
  return kind_named(kSpaces, "search space", space).graph(architecture, zeros);
}

}  // namespace orrery
