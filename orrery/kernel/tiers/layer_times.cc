#include "orrery/kernel/tiers/layer_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "orrery/base/error.h"
#include "orrery/base/index.h"

namespace orrery {
namespace {

constexpr std::array<std::string_view, 5> kKinds = {"gemm", "rows", "embedding", "decode",
                                                    "prefill"};
// Relative errors: the spread of repeated calls, and the difference of a single layer from one
// within a step.
constexpr double kOwnError = 0.03, kSharedError = 0.02;
constexpr double kPastOffset = 16;  // tokens: past 0 has a logarithm too

bool sixteen_bit(Dtype d) { return d == Dtype::kBf16 || d == Dtype::kFp16; }

struct Cell {
  std::size_t below;
  double share;
};

// The position of `v` between the nodes; empty beyond them.
std::optional<Cell> cell_of(const std::vector<double>& nodes, double v, double offset, bool logs) {
  if (nodes.empty() || v < nodes.front() || v > nodes.back()) return std::nullopt;
  if (nodes.size() == 1) return Cell{0, 0};
  const auto above = std::upper_bound(nodes.begin() + 1, nodes.end() - 1, v);
  const auto i = static_cast<std::size_t>(above - nodes.begin() - 1);
  const double a = nodes[i] + offset, b = nodes[i + 1] + offset, at = v + offset;
  return Cell{i, logs ? std::log(at / a) / std::log(b / a) : (at - a) / (b - a)};
}

}  // namespace

std::optional<LayerPlace> layer_place(const Op& op) {
  using Kind = LayerShape::Kind;
  if (const auto* g = std::get_if<Gemm>(&op)) {
    if (g->batch != 1 || !g->weight || g->gradient) return std::nullopt;
    // 16-bit formats take the same time.
    const Format format = g->format == Format::kFp16 ? Format::kBf16 : g->format;
    return LayerPlace{{Kind::kGemm, {static_cast<std::int64_t>(format), g->n, g->k}},
                      static_cast<double>(g->m)};
  }
  if (const auto* e = std::get_if<Elementwise>(&op)) {
    if (e->gradient || e->rows < 1) return std::nullopt;
    const double bytes_a_row = (e->read + e->written).value() / static_cast<double>(e->rows);
    return LayerPlace{
        {Kind::kRows, {static_cast<std::int64_t>(e->kind), e->width, std::llround(bytes_a_row)}},
        static_cast<double>(e->rows)};
  }
  if (const auto* e = std::get_if<Embedding>(&op))
    return LayerPlace{{Kind::kEmbedding, {e->hidden, 0, 0}}, static_cast<double>(e->tokens)};
  if (const auto* d = std::get_if<DecodeAttention>(&op)) {
    if (d->window > 0 || !sixteen_bit(d->dtype) || !sixteen_bit(d->kv_dtype)) return std::nullopt;
    return LayerPlace{{Kind::kDecode, {d->heads, d->kv_heads, d->head_dim}},
                      static_cast<double>(d->batch),
                      d->context};
  }
  if (const auto* p = std::get_if<PrefillAttention>(&op)) {
    if (p->batch != 1 || p->window > 0 || !p->causal || !sixteen_bit(p->dtype) ||
        !sixteen_bit(p->kv_dtype))
      return std::nullopt;
    return LayerPlace{{Kind::kPrefill, {p->heads, p->kv_heads, p->head_dim}},
                      static_cast<double>(p->new_tokens),
                      static_cast<double>(p->past)};
  }
  return std::nullopt;
}

std::optional<Estimate<Seconds>> LayerTimes::time(const Op& op) const {
  const auto place = layer_place(op);
  if (!place) return std::nullopt;
  const auto layer = std::find_if(layers.begin(), layers.end(),
                                  [&](const MeasuredLayer& l) { return l.shape == place->shape; });
  if (layer == layers.end()) return std::nullopt;
  const bool grid = !layer->y.empty();
  // Times of projections step with the tile; those of attention are powers of its sizes.
  const auto x = cell_of(layer->x, std::max(place->x, layer->x.front()), 0, grid);
  if (!x) return std::nullopt;
  double us = 0;
  if (!grid) {
    const double a = layer->us[x->below],
                 b = layer->us[std::min(x->below + 1, layer->us.size() - 1)];
    us = a + (b - a) * x->share;
  } else {
    const auto y = cell_of(layer->y, std::max(place->y, layer->y.front()), kPastOffset, true);
    if (!y) return std::nullopt;
    const std::size_t columns = layer->y.size();
    const auto log_at = [&](std::size_t i, std::size_t j) {
      return std::log(
          layer->us[std::min(i, layer->x.size() - 1) * columns + std::min(j, columns - 1)]);
    };
    const auto along = [&](std::size_t i) {
      const double a = log_at(i, y->below), b = log_at(i, y->below + 1);
      return a + (b - a) * y->share;
    };
    const double a = along(x->below), b = along(x->below + 1);
    us = std::exp(a + (b - a) * x->share);
  }
  return Estimate<Seconds>{microseconds(us), kSharedError, kOwnError, Origin::kMeasured};
}

std::string layer_times_path(std::string_view gpu) { return fmt::format("layers/{}.txt", gpu); }

LayerTimes parse_layer_times(std::string_view text, const std::string& name) {
  std::istringstream in{std::string(text)};
  LayerTimes times;
  std::string line;
  int number = 0;
  const auto fail = [&](const char* what) {
    throw InputError(fmt::format("{}:{}: {}", name, number, what));
  };
  const auto next = [&]() -> bool {
    while (std::getline(in, line)) {
      ++number;
      if (!line.starts_with('#')) return true;
      times.comment += line + "\n";
    }
    return false;
  };
  if (!next() || line != "orrery-layers 1") fail("expected 'orrery-layers 1'");
  const auto numbers = [&](std::size_t n, std::vector<double>& out) {
    while (out.size() < n) {
      if (!next()) fail("the file ends within a layer");
      std::istringstream values(line);
      for (double v = 0; values >> v;) out.push_back(v);
    }
    if (out.size() != n) fail("too many numbers");
  };
  const auto increasing = [&](const std::vector<double>& x) {
    if (!std::is_sorted(x.begin(), x.end(), std::less_equal<>())) fail("sizes must increase");
  };
  while (next()) {
    std::istringstream head(line);
    std::string kind, first, form;
    MeasuredLayer l;
    head >> kind >> first >> l.shape.sizes[1] >> l.shape.sizes[2] >> form;
    if (const auto format = kind == "gemm" ? parse_format(first) : std::nullopt)
      l.shape.sizes[0] = static_cast<std::int64_t>(*format);
    else if (!(std::istringstream(first) >> l.shape.sizes[0]))
      fail("expected KIND SIZE SIZE SIZE points N, or grid N M");
    std::size_t n = 0, m = 0;
    head >> n;
    const bool grid = form == "grid";
    if (grid) head >> m;
    const auto known = std::find(kKinds.begin(), kKinds.end(), kind);
    if (!head || known == kKinds.end() || (!grid && form != "points") || n < 1 || n > 100000 ||
        (grid && (m < 1 || m > 100000)))
      fail("expected KIND SIZE SIZE SIZE points N, or grid N M");
    l.shape.kind = static_cast<LayerShape::Kind>(known - kKinds.begin());
    std::vector<double> values;
    if (grid) {
      numbers(n, l.x);
      numbers(m, l.y);
      numbers(n * m, l.us);
      increasing(l.y);
    } else {
      numbers(2 * n, values);
      for (std::size_t i = 0; i < n; ++i) {
        l.x.push_back(values[2 * i]);
        l.us.push_back(values[2 * i + 1]);
      }
    }
    increasing(l.x);
    if (std::any_of(l.us.begin(), l.us.end(), [](double us) { return !(us > 0); }))
      fail("a time must be above 0");
    times.layers.push_back(std::move(l));
  }
  return times;
}

std::string to_text(const LayerTimes& times) {
  std::string out = "orrery-layers 1\n" + times.comment;
  const auto put = [&out](const std::vector<double>& values) {
    std::string line;
    for (double v : values) {
      const std::string text = fmt::format("{:.5g}", v);
      if (line.size() + text.size() > 98) out += line + "\n", line.clear();
      line += (line.empty() ? "" : " ") + text;
    }
    out += line + "\n";
  };
  for (const MeasuredLayer& l : times.layers) {
    const auto& s = l.shape.sizes;
    const std::string first = l.shape.kind == LayerShape::Kind::kGemm
                                  ? std::string(properties(static_cast<Format>(s[0])).name)
                                  : std::to_string(s[0]);
    out += fmt::format("{} {} {} {} ", kKinds[index(l.shape.kind)], first, s[1], s[2]);
    if (l.y.empty()) {
      out += fmt::format("points {}\n", l.x.size());
      std::vector<double> pairs;
      for (std::size_t i = 0; i < l.x.size(); ++i) pairs.insert(pairs.end(), {l.x[i], l.us[i]});
      put(pairs);
    } else {
      out += fmt::format("grid {} {}\n", l.x.size(), l.y.size());
      put(l.x), put(l.y), put(l.us);
    }
  }
  return out;
}

}  // namespace orrery
