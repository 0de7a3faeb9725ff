#include "orrery/scenario/answer/optimum.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace orrery {
namespace {

constexpr const char* kEnergy = "energy";
constexpr const char* kCost = "cost";
constexpr const char* kEnergyDelay = "energy-delay";

// The first of the metrics that the point has; null: none.
const Metric* first_of(const Point& p, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (const Metric* m = p.find(name)) return m;
  }
  return nullptr;
}

// Tokens or calls in a second; 0: not known.
double rate_of(const Point& p) {
  if (const Metric* rate = first_of(p, {"output_throughput", "throughput"})) return rate->value;
  const Metric* call = p.find("time");
  return call != nullptr && call->value > 0 ? 1e6 / call->value : 0;
}

// The values of `at` that differ between points: "power_limit 400W, batch 8".
std::string place_of(const Point& point, std::span<const Point> points) {
  std::string out;
  for (const auto& [key, value] : point.at.items()) {
    if (value.is_structured()) continue;
    const bool differs = std::any_of(points.begin(), points.end(), [&](const Point& p) {
      return !p.at.contains(key) || p.at[key] != value;
    });
    if (!differs) continue;
    const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", key, text);
  }
  return out.empty() ? "all points alike" : out;
}

}  // namespace

const std::vector<std::string>& objective_names() {
  static const std::vector<std::string> names = {kEnergy, kCost, kEnergyDelay};
  return names;
}

std::optional<Objective> objective_of(const std::string& name, const Point& p) {
  if (!p.feasibility.fits || (p.meets_slo && !*p.meets_slo)) return std::nullopt;
  const double rate = rate_of(p);
  if (rate <= 0) return std::nullopt;
  if (name == kCost) {
    const Metric* hour = p.find("cost_per_hour");
    if (hour == nullptr) return std::nullopt;
    const bool calls = first_of(p, {"output_throughput", "throughput"}) == nullptr;
    return Objective{hour->value / 3600 / rate * 1e6, rate,
                     calls ? "USD per 1M calls" : "USD per 1M tokens"};
  }
  const Metric* energy = p.find("energy_per_token");
  const bool call = energy == nullptr;
  if (call) energy = p.find("time") != nullptr ? p.find("energy") : nullptr;
  if (energy == nullptr) return std::nullopt;
  const char* of = call ? "a call" : "a token";
  if (name == kEnergy)
    return Objective{energy->value, rate, fmt::format("{} {}", energy->unit, of)};
  return Objective{energy->value / rate, rate, fmt::format("{} s {}", energy->unit, of)};
}

std::optional<Optimum> find_optimum(const std::string& name, std::span<const Point> points) {
  std::optional<Optimum> best;
  std::optional<Objective> of_best, fastest;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const std::optional<Objective> now = objective_of(name, points[i]);
    if (!now) continue;
    if (!fastest || now->rate > fastest->rate ||
        (now->rate == fastest->rate && now->value < fastest->value))
      fastest = now;
    const bool better = !of_best || now->value < of_best->value ||
                        (now->value == of_best->value && now->rate > of_best->rate);
    if (!better) continue;
    of_best = now;
    best = Optimum{name, i, now->value, now->unit};
  }
  if (!best) return std::nullopt;
  best->saved = 1 - of_best->value / fastest->value;
  best->slower = 1 - of_best->rate / fastest->rate;
  return best;
}

std::string describe(const Optimum& o, std::span<const Point> points) {
  std::string text = fmt::format("least {}: {}, {:.4g} {}", o.objective,
                                 place_of(points[o.point], points), o.value, o.unit);
  if (o.slower <= 0) return text + "; it is the fastest, too";
  return text + fmt::format("; {:.0f} % less than the fastest point, at {:.0f} % less throughput",
                            100 * o.saved, 100 * o.slower);
}

}  // namespace orrery
