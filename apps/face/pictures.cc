#include "apps/face/pictures.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "apps/face/plot.h"
#include "orrery/base/error.h"

namespace orrery::face {
namespace {

using Json = nlohmann::ordered_json;

std::string text_of(const Json& v) { return v.is_string() ? v.get<std::string>() : v.dump(); }

std::string words(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

// Keys whose values differ between points, in the order of the answer.
std::vector<std::string> varied(const Answer& a) {
  std::vector<std::string> keys;
  std::map<std::string, std::set<std::string>> seen;
  for (const Point& p : a.points) {
    for (const auto& [key, value] : p.at.items()) {
      if (!seen.contains(key)) keys.push_back(key);
      seen[key].insert(text_of(value));
    }
  }
  std::erase_if(keys, [&](const std::string& key) { return seen[key].size() < 2; });
  return keys;
}

// The keys that tell points apart which `first` and the keys before do not.
std::vector<std::string> telling(const Answer& a, const std::vector<std::string>& keys,
                                 const std::string& first) {
  const auto distinct = [&a](const std::vector<std::string>& of) {
    std::set<std::string> seen;
    for (const Point& p : a.points) {
      std::string place;
      for (const std::string& key : of)
        place += (p.at.contains(key) ? text_of(p.at.at(key)) : "") + "\n";
      seen.insert(std::move(place));
    }
    return seen.size();
  };
  std::vector<std::string> kept = {first};
  for (const std::string& key : keys) {
    std::vector<std::string> more = kept;
    more.push_back(key);
    if (key != first && distinct(more) > distinct(kept)) kept = std::move(more);
  }
  kept.erase(kept.begin());
  return kept;
}

std::string label_of(const Point& p, const std::vector<std::string>& keys) {
  std::string out;
  for (const std::string& key : keys) {
    if (!p.at.contains(key)) continue;
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", words(key), text_of(p.at.at(key)));
  }
  return out;
}

// The first of the metrics that some point has.
std::string metric_among(const Answer& a, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    for (const Point& p : a.points)
      if (p.find(name) != nullptr) return name;
  }
  return "";
}

std::string value_text(const Metric& m) {
  return fmt::format("{} {} {}", words(m.name), short_number(m.value), m.unit);
}

std::string unit_of(const Answer& a, const std::string& name) {
  for (const Point& p : a.points)
    if (const Metric* m = p.find(name)) return m->unit;
  return "";
}

// Whether the values are positive and far apart.
bool wants_log(const std::vector<double>& values) {
  if (values.empty()) return false;
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return *least > 0 && *most / *least > 30;
}

// ---- load: latency over the rate ----

std::string load(const Answer& a) {
  const std::vector<std::string> keys = varied(a);
  std::vector<const Point*> rated;
  for (const Point& p : a.points)
    if (p.at.contains("rate") && p.at["rate"].is_number() && p.find("ttft_p99"))
      rated.push_back(&p);
  if (rated.size() < 2 || keys != std::vector<std::string>{"rate"}) return "";
  std::sort(rated.begin(), rated.end(), [](const Point* x, const Point* y) {
    return x->at["rate"].get<double>() < y->at["rate"].get<double>();
  });
  Plot plot("Latency under load", {"requests per second", false, {}}, {"ms", true, {}});
  int series = 0;
  for (const char* name : {"ttft_p99", "ttft_p50", "tpot_p99", "tpot_p50"}) {
    Plot::Points line;
    std::vector<Plot::Band> band;
    for (const Point* p : rated) {
      const Metric* m = p->find(name);
      if (m == nullptr || m->low90 <= 0) continue;
      const double rate = p->at["rate"].get<double>();
      line.emplace_back(rate, m->value);
      band.push_back({rate, m->low90, m->high90});
      plot.dot(series, rate, m->value, 3.5, fmt::format("{} at {}/s", value_text(*m), rate));
    }
    plot.band(series, band);
    plot.line(series, line, words(name), std::string(name).ends_with("p50"));
    ++series;
  }
  return plot.svg();
}

// ---- pareto: what no other point beats ----

bool less_is_better(const std::string& name) {
  return name.find("throughput") == std::string::npos && name != "mfu" && name != "headroom";
}

std::string pareto(const Answer& a) {
  const std::string x = metric_among(a, {"cost_per_hour", "time_to_train", "tpot"});
  const std::string y =
      metric_among(a, x == "time_to_train" ? std::initializer_list<const char*>{"cost", "gpu_hours"}
                      : a.complete ? std::initializer_list<const char*>{"tpot_p99", "ttft_p99"}
                                   : std::initializer_list<const char*>{"output_throughput"});
  if (x.empty() || y.empty() || x == y) return "";
  std::vector<const Point*> fit;
  for (const Point& p : a.points)
    if (p.feasibility.fits && p.find(x) && p.find(y)) fit.push_back(&p);
  if (fit.size() < 2) return "";
  const auto at = [&](const Point* p, const std::string& name) { return p->find(name)->value; };
  const auto beats = [&](const Point* p, const Point* q, const std::string& name) {
    const double d = at(p, name) - at(q, name);
    return less_is_better(name) ? d < 0 : d > 0;
  };
  Plot plot("Trade-offs", {fmt::format("{} [{}]", words(x), unit_of(a, x)), false, {}},
            {fmt::format("{} [{}]", words(y), unit_of(a, y)), false, {}});
  Plot::Points front;
  const std::vector<std::string> keys = varied(a);
  for (const Point* p : fit) {
    const bool beaten = std::any_of(fit.begin(), fit.end(), [&](const Point* q) {
      return (beats(q, p, x) && !beats(p, q, y)) || (beats(q, p, y) && !beats(p, q, x));
    });
    if (!beaten) front.emplace_back(at(p, x), at(p, y));
    std::string why = fmt::format("{}: {}, {}", label_of(*p, keys), value_text(*p->find(x)),
                                  value_text(*p->find(y)));
    if (!p->notes.empty()) why += "; " + p->notes.front();
    plot.dot(beaten ? 0 : 1, at(p, x), at(p, y), 6, why);
  }
  std::sort(front.begin(), front.end());
  plot.line(1, front, "beaten by none", true);
  if (front.size() < fit.size()) plot.key(0, "beaten by another");
  return plot.svg();
}

// ---- sweep: a metric over the key with most values ----

std::string sweep(const Answer& a) {
  const std::string name =
      metric_among(a, {"ttft_p99", "ttft", "iteration_time", "busbw", "rate", "time", "memory"});
  std::vector<std::string> keys = varied(a);
  if (a.points.size() < 2 || name.empty() || keys.empty()) return "";
  const auto numeric = [&](const std::string& key) {
    return std::all_of(a.points.begin(), a.points.end(), [&](const Point& p) {
      return p.at.contains(key) && p.at.at(key).is_number();
    });
  };
  const auto lengths = [&](const std::string& key) {
    std::set<std::string> values;
    for (const Point& p : a.points)
      if (p.at.contains(key)) values.insert(text_of(p.at.at(key)));
    return values.size();
  };
  const std::string over =
      *std::max_element(keys.begin(), keys.end(), [&](const std::string& p, const std::string& q) {
        return std::pair(numeric(p), lengths(p)) < std::pair(numeric(q), lengths(q));
      });
  keys = telling(a, keys, over);
  std::vector<double> xs, ys;
  std::vector<std::string> places;
  std::map<std::string, std::vector<std::pair<double, const Metric*>>> lines;
  std::vector<std::string> order;
  for (const Point& p : a.points) {
    const Metric* m = p.find(name);
    if (m == nullptr || !p.at.contains(over)) continue;
    double x = 0;
    if (numeric(over)) {
      x = p.at.at(over).get<double>();
    } else {
      const std::string place = text_of(p.at.at(over));
      auto found = std::find(places.begin(), places.end(), place);
      if (found == places.end()) found = places.insert(places.end(), place);
      x = static_cast<double>(found - places.begin());
    }
    const std::string label = label_of(p, keys);
    if (!lines.contains(label)) order.push_back(label);
    lines[label].emplace_back(x, m);
    xs.push_back(x);
    ys.push_back(m->has_interval() ? m->low90 : m->value);
  }
  if (xs.size() < 2) return "";
  const bool line = numeric(over);
  Plot plot(fmt::format("{} over {}", words(name), words(over)),
            {words(over), line && wants_log(xs), places},
            {fmt::format("{} [{}]", words(name), unit_of(a, name)), line && wants_log(ys), {}});
  int series = 0;
  for (const std::string& label : order) {
    auto& points = lines[label];
    std::stable_sort(points.begin(), points.end(),
                     [](const auto& p, const auto& q) { return p.first < q.first; });
    Plot::Points drawn;
    std::vector<Plot::Band> band;
    for (const auto& [x, m] : points) {
      const std::string text = label + (label.empty() ? "" : ": ") + value_text(*m);
      const double width = 0.8 / static_cast<double>(order.size());
      if (line) {
        plot.dot(series, x, m->value, 3.5, text);
      } else {
        plot.bar(series, x - 0.4 + width * (series + 0.5), m->value, width / 2.2, text);
      }
      drawn.emplace_back(x, m->value);
      band.push_back(
          {x, m->has_interval() ? m->low90 : m->value, m->has_interval() ? m->high90 : m->value});
    }
    if (line) plot.band(series, band), plot.line(series, drawn);
    if (!label.empty()) plot.key(series, label);
    ++series;
  }
  return plot.svg();
}

// ---- roofline ----

struct Dot {
  std::string text;
  double intensity, rate, size;  // FLOPs per byte, TFLOP/s, pixels
  int series;
};

// Every kernel of the step, or each point where a point is a kernel.
std::vector<Dot> dots_of(const Answer& a) {
  std::vector<Dot> dots;
  std::vector<std::string> phases;
  for (const Point& p : a.points) {
    const Metric *rate = p.find("rate"), *bandwidth = p.find("bandwidth");
    if (rate && bandwidth && bandwidth->value > 0)
      dots.push_back(
          {label_of(p, varied(a)), rate->value * 1e3 / bandwidth->value, rate->value, 4, 0});
  }
  if (!dots.empty() || a.points.empty()) return dots;
  for (const KernelRow& k : a.points.front().kernels) {
    if (k.flops <= Flops(0) || k.bytes <= Bytes(0) || k.time.value <= Seconds(0)) continue;
    auto phase = std::find(phases.begin(), phases.end(), k.phase);
    if (phase == phases.end()) phase = phases.insert(phases.end(), k.phase);
    dots.push_back({fmt::format("{} ({}): {:.1f} % of the step, {} bound", k.shown(), k.phase,
                                100 * k.share, k.bound),
                    k.flops.value() / k.bytes.value(),
                    k.flops.value() / k.time.value.value() / 1e12, 3 + 9 * std::sqrt(k.share),
                    static_cast<int>(phase - phases.begin())});
  }
  return dots;
}

std::string roofline(const Answer& a, const Catalog& catalog) {
  const std::vector<Dot> dots = dots_of(a);
  if (dots.empty() || !a.points.front().at.contains("gpu")) return "";
  Gpu gpu;
  try {
    gpu = catalog.gpu(text_of(a.points.front().at["gpu"]));
  } catch (const InputError&) {
    return "";  // a GPU of a file
  }
  Plot plot("Roofline of " + gpu.name, {"FLOPs per byte", true, {}}, {"TFLOP/s", true, {}});
  double least = 1, most = 1;
  for (const Dot& d : dots)
    least = std::min(least, d.intensity), most = std::max(most, d.intensity);
  const double bandwidth = gpu.memory.bandwidth.value() / 1e12;
  for (const Dtype format : {Dtype::kBf16, Dtype::kFp8})
    if (gpu.supports(format))
      most = std::max(most, 4 * gpu.peak(format).value() / 1e12 / bandwidth);
  int series = 2;
  for (const Dtype format : {Dtype::kBf16, Dtype::kFp8}) {
    if (!gpu.supports(format)) continue;
    const double top = gpu.peak(format).value() / 1e12, ridge = top / bandwidth;
    plot.line(series++, {{least, least * bandwidth}, {ridge, top}, {most, top}},
              std::string(to_text(format)), true);
  }
  for (const Dot& d : dots)
    plot.dot(d.series, d.intensity, d.rate, d.size,
             fmt::format("{}: {} TFLOP/s at {} FLOPs per byte", d.text, short_number(d.rate),
                         short_number(d.intensity)));
  return plot.svg();
}

// ---- timeline: what each stage does when ----

std::string timeline(const Answer& a) {
  if (a.points.size() != 1 || a.points.front().timeline.empty()) return "";
  constexpr std::size_t kMostBoxes = 6000;
  const Json trace = Json::parse(a.points.front().timeline, nullptr, false);
  if (trace.is_discarded()) return "";
  const Json& events = trace.is_array() ? trace : trace.value("traceEvents", Json::array());
  std::vector<std::pair<std::int64_t, std::int64_t>> rows;
  std::map<std::pair<std::int64_t, std::int64_t>, std::string> names;
  std::vector<std::string> kinds;
  std::vector<const Json*> slices;
  for (const Json& e : events) {
    const std::pair<std::int64_t, std::int64_t> row(e.value("pid", 0), e.value("tid", 0));
    if (e.value("ph", "") == "M" && e.value("name", "") != "process_name")
      names[row] = e.contains("args") ? e["args"].value("name", "") : "";
    if (e.value("ph", "") != "X" || slices.size() >= kMostBoxes) continue;
    if (std::find(rows.begin(), rows.end(), row) == rows.end()) rows.push_back(row);
    slices.push_back(&e);
  }
  if (slices.empty() || rows.size() > 40) return "";
  std::sort(rows.rbegin(), rows.rend());  // the first on top
  PlotAxis y{"", false, {}};
  for (const auto& row : rows)
    y.names.push_back(names.contains(row) ? names[row] : fmt::format("{}", row.second));
  Plot plot("Timeline of an iteration", {"ms", false, {}}, y);
  for (const Json* e : slices) {
    const std::string name = e->value("name", "");
    std::string kind = e->value("cat", name.substr(0, name.find_first_of(" 0123456789")));
    if (kind.empty()) kind = name;
    auto at = std::find(kinds.begin(), kinds.end(), kind);
    if (at == kinds.end()) at = kinds.insert(kinds.end(), kind);
    const std::pair<std::int64_t, std::int64_t> row(e->value("pid", 0), e->value("tid", 0));
    const auto place = std::find(rows.begin(), rows.end(), row) - rows.begin();
    const double from = e->value("ts", 0.0) / 1e3, long_ms = e->value("dur", 0.0) / 1e3;
    plot.box(static_cast<int>(at - kinds.begin()), from, from + long_ms, static_cast<double>(place),
             0.36, fmt::format("{}: {} ms", name, short_number(long_ms)));
  }
  for (std::size_t i = 0; i < kinds.size(); ++i) plot.key(static_cast<int>(i), kinds[i]);
  return plot.svg();
}

// ---- kernels: the longest of a step ----

std::string kernels(const Answer& a) {
  constexpr std::size_t kMost = 14;
  if (a.points.empty() || a.points.front().kernels.empty()) return "";
  std::vector<const KernelRow*> rows;
  const std::string phase = a.points.front().kernels.back().phase;
  for (const KernelRow& k : a.points.front().kernels)
    if (k.phase == phase) rows.push_back(&k);
  std::stable_sort(rows.begin(), rows.end(), [](const KernelRow* p, const KernelRow* q) {
    return p->time.value > q->time.value;
  });
  if (rows.size() > kMost) rows.resize(kMost);
  std::reverse(rows.begin(), rows.end());
  PlotAxis y{"", false, {}};
  for (const KernelRow* k : rows) y.names.push_back(k->shown().substr(0, 32));
  Plot plot(fmt::format("Kernels of a step ({})", phase), {"us", false, {}}, y);
  std::vector<std::string> bounds;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const KernelRow& k = *rows[i];
    auto at = std::find(bounds.begin(), bounds.end(), k.bound);
    if (at == bounds.end()) at = bounds.insert(bounds.end(), k.bound);
    const int series = static_cast<int>(at - bounds.begin());
    const double row = static_cast<double>(i);
    plot.box(series, 0, k.time.value.value() * 1e6, row, 0.34,
             fmt::format("{}: {} us, {:.1f} % of the step", k.shown(),
                         short_number(k.time.value.value() * 1e6), 100 * k.share));
    plot.line(5, {{k.time.quantile(0.05).value() * 1e6, row},
                  {k.time.quantile(0.95).value() * 1e6, row}});
  }
  for (std::size_t i = 0; i < bounds.size(); ++i)
    plot.key(static_cast<int>(i), bounds[i] + " bound");
  return plot.svg();
}

}  // namespace

const std::vector<std::string>& picture_names() {
  static const std::vector<std::string> names = {"load",     "pareto",   "sweep",
                                                 "timeline", "roofline", "kernels"};
  return names;
}

std::vector<Picture> pictures_of(const Answer& a, const Catalog& catalog) {
  std::vector<Picture> all;
  const auto add = [&all](const char* name, std::string svg) {
    if (!svg.empty()) all.push_back({name, std::move(svg)});
  };
  add("load", load(a));
  add("pareto", pareto(a));
  add("sweep", sweep(a));
  add("timeline", timeline(a));
  add("roofline", roofline(a, catalog));
  add("kernels", kernels(a));
  return all;
}

std::string picture_of(const Answer& a, const Catalog& catalog, const std::string& name) {
  constexpr std::string_view kElement = "<svg", kFile = "<svg xmlns=\"http://www.w3.org/2000/svg\"";
  const std::vector<Picture> all = pictures_of(a, catalog);
  std::vector<std::string> has;
  for (const Picture& p : all) {
    if (name.empty() || p.name == name) return std::string(kFile).append(p.svg, kElement.size());
    has.push_back(p.name);
  }
  if (!name.empty() &&
      std::find(picture_names().begin(), picture_names().end(), name) == picture_names().end())
    throw InputError(fmt::format("--picture {}: expected {}{}", name,
                                 fmt::join(picture_names(), ", "),
                                 did_you_mean(name, picture_names())));
  throw InputError(
      has.empty() ? "--svg: this answer has nothing to draw"
                  : fmt::format("--picture {}: this answer has {}", name, fmt::join(has, ", ")));
}

}  // namespace orrery::face
