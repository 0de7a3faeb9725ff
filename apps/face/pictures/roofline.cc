#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "apps/face/pictures/drawing.h"
#include "apps/face/plot.h"
#include "orrery/base/error.h"

namespace orrery::face {
namespace {

struct Dot {
  std::string text;
  double intensity, rate, size;  // FLOPs per byte, TFLOP/s, pixels
  int series;
};

struct Roof {
  std::string label;
  double peak, bandwidth;  // TFLOP/s, TB/s
  int series;
};

struct RoofedDots {
  std::string title;
  std::vector<Roof> roofs;
  std::vector<Dot> dots;
  std::vector<std::string> phases;  // of the series 0, 1, ... of dots; none where roofs name them
};

// The kernels of an answer whose points are kernels, with a roof for each GPU and format.
RoofedDots asked_kernels(const Answer& a) {
  RoofedDots all;
  std::vector<std::string> labels;
  const std::vector<std::string> keys = varied(a);
  for (const Point& p : a.points) {
    const Metric *rate = p.find("rate"), *bandwidth = p.find("bandwidth");
    const Metric *peak = p.find("peak_rate"), *most = p.find("peak_bandwidth");
    if (!rate || !bandwidth || !peak || !most || bandwidth->value <= 0) continue;
    const std::string label = text_of(p.at["gpu"]) + " " + text_of(p.at["arithmetic"]);
    const int series = place_in(labels, label);
    if (static_cast<std::size_t>(series) == all.roofs.size())
      all.roofs.push_back({label, peak->value, most->value / 1e3, series});
    const std::string place = label_of(p, keys);
    all.dots.push_back({place.empty() ? label : place, rate->value * 1e3 / bandwidth->value,
                        rate->value, 4, series});
  }
  if (!all.dots.empty()) all.title = "Roofline: " + text_of(a.points.front().at["op"]);
  return all;
}

// The kernels of the first point's step, as large as their shares, and the GPU's roofs.
RoofedDots kernels_of_step(const Answer& a, const Catalog& catalog) {
  RoofedDots all;
  if (a.points.empty() || !a.points.front().at.contains("gpu")) return all;
  for (const KernelRow& k : a.points.front().kernels) {
    if (k.flops <= Flops(0) || k.bytes <= Bytes(0) || k.time.value <= Seconds(0)) continue;
    all.dots.push_back({fmt::format("{} ({}): {:.1f} % of the step, {} bound", k.shown(), k.phase,
                                    100 * k.share, k.bound),
                        k.flops.value() / k.bytes.value(),
                        k.flops.value() / k.time.value.value() / 1e12, 3 + 9 * std::sqrt(k.share),
                        place_in(all.phases, k.phase)});
  }
  if (all.dots.empty()) return all;
  Gpu gpu;
  try {
    gpu = catalog.gpu(text_of(a.points.front().at["gpu"]));
  } catch (const InputError&) {
    return {};  // a GPU of a file
  }
  all.title = "Roofline of " + gpu.name;
  int series = static_cast<int>(all.phases.size());
  for (const Dtype format : {Dtype::kBf16, Dtype::kFp8}) {
    if (!gpu.supports(format)) continue;
    all.roofs.push_back({std::string(to_text(format)), gpu.peak(format).value() / 1e12,
                         gpu.memory.bandwidth.value() / 1e12, series++});
  }
  return all;
}

}  // namespace

std::string draw_roofline(const Answer& a, const Catalog& catalog) {
  RoofedDots all = asked_kernels(a);
  if (all.dots.empty()) all = kernels_of_step(a, catalog);
  if (all.dots.empty()) return "";
  Plot plot(all.title, {"FLOPs per byte", true, {}}, {"TFLOP/s", true, {}});
  for (std::size_t i = 0; i < all.phases.size(); ++i) plot.key(static_cast<int>(i), all.phases[i]);
  double least = 1, most = 1;
  for (const Dot& d : all.dots)
    least = std::min(least, d.intensity), most = std::max(most, d.intensity);
  for (const Roof& r : all.roofs) most = std::max(most, 4 * r.peak / r.bandwidth);
  for (const Roof& r : all.roofs) {
    plot.line(r.series,
              {{least, least * r.bandwidth}, {r.peak / r.bandwidth, r.peak}, {most, r.peak}},
              r.label, true);
  }
  for (const Dot& d : all.dots)
    plot.dot(d.series, d.intensity, d.rate, d.size,
             fmt::format("{}: {} TFLOP/s at {} FLOPs per byte", d.text, short_number(d.rate),
                         short_number(d.intensity)));
  return plot.svg();
}

}  // namespace orrery::face
