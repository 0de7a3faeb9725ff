#include "apps/face/pictures.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "apps/face/pictures/drawing.h"
#include "orrery/base/error.h"

namespace orrery::face {
namespace {

struct Drawing {
  const char* name;
  const char* needs;  // the answers that have it
  std::string (*draw)(const Answer& answer, const Catalog& catalog);
};

constexpr Drawing kDrawings[] = {
    {"load", "several rates of a simulated service, as in --rate 4-36+4",
     [](const Answer& a, const Catalog&) { return draw_load(a); }},
    {"pareto", "several points that fit, with two metrics to weigh",
     [](const Answer& a, const Catalog&) { return draw_front(a); }},
    {"sweep", "several values of a key, as in --tp 1,2,4",
     [](const Answer& a, const Catalog&) { return draw_sweep(a); }},
    {"timeline", "one training layout with a pipeline, or one simulated service",
     [](const Answer& a, const Catalog&) { return draw_timeline(a); }},
    {"roofline", "kernels with FLOPs on a GPU of the catalog",
     [](const Answer& a, const Catalog& c) { return draw_roofline(a, c); }},
    {"kernels", "the kernels of a step",
     [](const Answer& a, const Catalog&) { return draw_kernels(a); }},
    {"breakdown", "the kernels of a step",
     [](const Answer& a, const Catalog&) { return draw_breakdown(a); }},
    {"memory", "the memory of a GPU",
     [](const Answer& a, const Catalog&) { return draw_memory(a); }},
};

// The pictures of the kind of question, where the answer has one point.
std::vector<Picture> own_pictures(const Answer& answer) {
  std::vector<Picture> all;
  if (answer.points.size() != 1 || !answer.points.front().detail) return all;
  for (DetailPicture& p : answer.points.front().detail->pictures())
    all.push_back({p.name, p.svg.empty() ? draw_bars(p.bars) : std::move(p.svg)});
  return all;
}

}  // namespace

const std::vector<std::string>& picture_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Drawing& d : kDrawings) all.emplace_back(d.name);
    return all;
  }();
  return names;
}

std::vector<Picture> pictures_of(const Answer& answer, const Catalog& catalog) {
  std::vector<Picture> all = own_pictures(answer);
  for (const Drawing& d : kDrawings) {
    std::string svg = d.draw(answer, catalog);
    if (!svg.empty()) all.push_back({d.name, std::move(svg)});
  }
  return all;
}

std::string picture_of(const Answer& answer, const Catalog& catalog, const std::string& name,
                       const std::string& flag) {
  constexpr std::string_view kElement = "<svg", kFile = "<svg xmlns=\"http://www.w3.org/2000/svg\"";
  const auto file = [&](const std::string& svg) {
    return svg.find(" xmlns") < svg.find('>') ? svg
                                              : std::string(kFile).append(svg, kElement.size());
  };
  for (const Picture& own : own_pictures(answer))
    if (name.empty() || name == own.name) return file(own.svg);
  std::vector<std::string> has;
  const Drawing* wanted = nullptr;
  for (const Drawing& d : kDrawings) {
    if (!name.empty() && name != d.name) continue;
    wanted = &d;
    const std::string svg = d.draw(answer, catalog);
    if (!svg.empty()) return file(svg);
  }
  if (wanted == nullptr)
    throw InputError(fmt::format("--picture {}: expected {}{}", name,
                                 fmt::join(picture_names(), ", "),
                                 did_you_mean(name, picture_names())));
  for (const Picture& p : pictures_of(answer, catalog)) has.push_back(p.name);
  if (has.empty()) throw InputError(flag + ": this answer has nothing to draw");
  throw InputError(fmt::format("{}: the picture `{}` needs {}; this answer has {}", flag, name,
                               wanted->needs, fmt::join(has, ", ")));
}

}  // namespace orrery::face
