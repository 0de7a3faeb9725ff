#include "orrery/accelerator/cost/mapping_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

namespace orrery {
namespace {

constexpr int kLine = 20, kStep = 12, kMargin = 16, kTitle = 34, kLetter = 8;

// Colours that differ for colour-blind readers too (Okabe and Ito, Color Universal Design, 2008).
constexpr std::array<const char*, 6> kColours = {"#0072b2", "#d55e00", "#009e73",
                                                 "#cc79a7", "#e69f00", "#56b4e9"};

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else {
      out += c;
    }
  }
  return out;
}

struct Line {
  std::string text;
  int tensor = -1;  // whose colour stands before it; -1: none
};

// A box, inside of which all later ones stand.
struct Box {
  enum class Kind { kLevel, kTime, kSpace, kCompute } kind = Kind::kLevel;
  std::vector<Line> lines;
};

std::string instances_text(double n) {
  return n == 1 ? "1 instance" : fmt::format("{:.6g} instances", n);
}

Box level_box(const StorageLevel& level, const LevelCounts& counts, const Einsum& problem) {
  Box box;
  box.lines.push_back({fmt::format("{}, {} in use", level.name, instances_text(counts.active))});
  for (std::size_t t = 0; t < problem.tensors.size(); ++t) {
    const TensorCounts& c = counts.tensors[t];
    if (!c.kept) continue;
    std::string text =
        fmt::format("{}: tile {:.0f}, reads {:.0f}", problem.tensors[t].name, c.tile, c.reads);
    if (c.fills > 0) text += fmt::format(", fills {:.0f}", c.fills);
    if (c.updates > 0) text += fmt::format(", updates {:.0f}", c.updates);
    box.lines.push_back({std::move(text), static_cast<int>(t)});
  }
  return box;
}

Box loop_box(const StorageLevel& level, const Einsum& problem, const MappingNode& n) {
  Box box;
  box.kind = n.time() ? Box::Kind::kTime : Box::Kind::kSpace;
  std::string text = fmt::format("{} {} in {}", n.time() ? "for" : "parallel",
                                 problem.dims[static_cast<std::size_t>(n.index)], n.size);
  if (n.last != n.size) text += fmt::format(", last {}", n.last);
  if (!n.time() && n.axis < level.array.size()) text += " along " + level.array[n.axis].name;
  box.lines.push_back({std::move(text)});
  return box;
}

std::vector<Box> boxes_of(const Chip& chip, const Einsum& problem, const Mapping& mapping,
                          const NestCounts& counts) {
  std::vector<Box> boxes;
  for (std::size_t l = 0; l < chip.levels.size(); ++l) {
    const StorageLevel& level = chip.levels[l];
    const bool holds = std::any_of(counts.levels[l].tensors.begin(), counts.levels[l].tensors.end(),
                                   [](const TensorCounts& c) { return c.kept; });
    if (level.kind == StorageLevel::Kind::kMemory || holds) {
      boxes.push_back(level_box(level, counts.levels[l], problem));
    }
    for (const MappingNode& n : mapping.nodes) {
      if (n.level == static_cast<int>(l) && !n.hold()) {
        boxes.push_back(loop_box(level, problem, n));
      }
    }
  }
  Box compute;
  compute.kind = Box::Kind::kCompute;
  compute.lines.push_back(
      {fmt::format("{}, {} in use", chip.compute.name, instances_text(counts.active_units))});
  boxes.push_back(std::move(compute));
  return boxes;
}

const char* style_of(Box::Kind kind) {
  switch (kind) {
    case Box::Kind::kLevel:
      return "fill='#ffffff' stroke='#222222' stroke-width='1.6'";
    case Box::Kind::kTime:
      return "fill='#fafafa' stroke='#bbbbbb'";
    case Box::Kind::kSpace:
      return "fill='#f2f7fb' stroke='#0072b2' stroke-dasharray='5 3'";
    case Box::Kind::kCompute:
      break;
  }
  return "fill='#eeeeee' stroke='#222222' stroke-width='1.6'";
}

}  // namespace

std::string draw_mapping_svg(const Chip& chip, const Einsum& problem, const Mapping& mapping,
                             const NestCounts& counts) {
  const std::vector<Box> boxes = boxes_of(chip, problem, mapping, counts);
  const std::string title = fmt::format(
      "{} on {}", problem.name.empty() ? std::string("operation") : problem.name, chip.name);
  const auto width_of = [](const std::string& text, std::size_t depth) {
    return 2 * static_cast<int>(depth + 1) * kStep + kLetter * static_cast<int>(text.size() + 3);
  };
  int width = width_of(title, 0), height = kStep;
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    height += kLine * static_cast<int>(boxes[i].lines.size()) + kStep;
    for (const Line& line : boxes[i].lines) width = std::max(width, width_of(line.text, i));
  }
  const int page_width = width + 2 * kMargin, page_height = height + kTitle + kMargin;
  std::string out = fmt::format(
      "<svg xmlns='http://www.w3.org/2000/svg' width='{0}' height='{1}' viewBox='0 0 {0} {1}' "
      "font-family='monospace' font-size='13' fill='#111111'>\n"
      "<rect width='{0}' height='{1}' fill='#ffffff'/>\n"
      "<text x='{2}' y='22' font-weight='bold'>{3}</text>\n",
      page_width, page_height, kMargin, escaped(title));
  int y = kTitle, box_height = height - kStep;
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    const Box& box = boxes[i];
    const int inset = static_cast<int>(i) * kStep, x = kMargin + inset;
    out += fmt::format("<rect x='{}' y='{}' width='{}' height='{}' rx='3' {}/>\n", x, y,
                       width - 2 * inset, box_height, style_of(box.kind));
    int line_y = y + kLine - 3;
    for (const Line& line : box.lines) {
      int text_x = x + kStep;
      const bool heading = &line == &box.lines.front() &&
                           (box.kind == Box::Kind::kLevel || box.kind == Box::Kind::kCompute);
      if (line.tensor >= 0) {
        out += fmt::format("<rect x='{}' y='{}' width='10' height='10' fill='{}'/>\n", text_x,
                           line_y - 10,
                           kColours[static_cast<std::size_t>(line.tensor) % kColours.size()]);
        text_x += 2 * kLetter;
      }
      out += fmt::format("<text x='{}' y='{}'{}>{}</text>\n", text_x, line_y,
                         heading ? " font-weight='bold'" : "", escaped(line.text));
      line_y += kLine;
    }
    y += kLine * static_cast<int>(box.lines.size()) + kStep / 2;
    box_height -= kLine * static_cast<int>(box.lines.size()) + kStep;
  }
  return out + "</svg>\n";
}

}  // namespace orrery
