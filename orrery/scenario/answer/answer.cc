#include "orrery/scenario/answer/answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

// Members of an object under names that are all different, in the order in which they are added.
// They are moved to their place, where an initializer list copies each of them.
class Members {
 public:
  explicit Members(std::size_t most) { all_.reserve(most); }
  void add(const char* name, Json value) { all_.emplace_back(name, std::move(value)); }
  Json taken() { return std::move(all_); }

 private:
  Json::object_t all_;
};

}  // namespace

double rounded(double v) {
  if (v == 0 || !std::isfinite(v)) return v;
  const double scale = std::pow(10.0, 5 - static_cast<int>(std::floor(std::log10(std::abs(v)))));
  return std::round(v * scale) / scale;
}

Metric exact_metric(FigureRef figure, double value, Origin origin) {
  return {.name = std::string(figure->name),
          .unit = std::string(figure->unit),
          .value = value,
          .low50 = value,
          .high50 = value,
          .low90 = value,
          .high90 = value,
          .origin = origin,
          .subject = figure->subject,
          .better = figure->better};
}

Metric percentile_metric(FigureRef figure, double percentile, double value) {
  Metric m = exact_metric(figure, value);
  m.name = percentile_name(m.name, percentile);
  m.percentile = percentile;
  return m;
}

Metric exact(Metric m, double value) {
  m.value = m.low50 = m.high50 = m.low90 = m.high90 = value;
  m.origin = Origin::kExact;
  return m;
}

Metric power_metric(const Estimate<Watts>& power, Watts limit) {
  Metric m = metric("power", power);
  end_at(m, {limit, 0, 0, Origin::kExact});
  return m;
}

void end_at(Metric& power, const Estimate<Watts>& most) {
  const auto end = [&](double& bound, double p) {
    bound = std::min(bound, std::max(power.value, most.quantile(p).value()));
  };
  end(power.high50, 0.75), end(power.high90, 0.95);
}

Estimate<Joules> energy_of(const Estimate<Watts>& power, const Estimate<Seconds>& time) {
  return {power.value * time.value, std::hypot(power.shared, time.shared),
          std::hypot(power.own, time.own), std::max(power.origin, time.origin)};
}

void widen(Metric& m, double error) {
  if (m.value <= 0 || error <= 0) return;
  const auto wider = [&](double bound, double p) {
    const double own = bound > 0 ? std::log(bound / m.value) : 0;
    return m.value * std::exp(std::copysign(std::hypot(own, normal_quantile(p) * error), p - 0.5));
  };
  m.low90 = wider(m.low90, 0.05), m.low50 = wider(m.low50, 0.25);
  m.high50 = wider(m.high50, 0.75), m.high90 = wider(m.high90, 0.95);
}

Metric rate_metric(FigureRef figure, double amount, const Estimate<Seconds>& time) {
  auto at = [&](double p) { return amount / time.quantile(p).value(); };
  return {.name = std::string(figure->name),
          .unit = std::string(figure->unit),
          .value = amount / time.value.value(),
          .low50 = at(0.75),
          .high50 = at(0.25),
          .low90 = at(0.95),
          .high90 = at(0.05),
          .origin = time.origin,
          .subject = figure->subject,
          .better = figure->better};
}

std::string KernelRow::shown() const { return label.empty() ? name : name + " (" + label + ")"; }

void label_repeated(std::vector<KernelRow>& rows, std::size_t first,
                    const std::function<std::string(std::size_t)>& label_of) {
  std::map<std::pair<std::string, std::string>, int> named;
  for (std::size_t i = first; i < rows.size(); ++i) ++named[{rows[i].phase, rows[i].name}];
  std::map<std::pair<std::string, std::string>, int> shown;
  for (std::size_t i = first; i < rows.size(); ++i) {
    if (named[{rows[i].phase, rows[i].name}] == 1) continue;
    rows[i].label = label_of(i);
    const int n = ++shown[{rows[i].phase, rows[i].shown()}];
    if (n > 1) rows[i].label += fmt::format("{}#{}", rows[i].label.empty() ? "" : " ", n);
  }
}

const Metric* Point::find(std::string_view name) const {
  for (const Metric& m : metrics) {
    if (m.name == name) return &m;
  }
  return nullptr;
}

namespace {

Json json_of(const std::vector<EnergyRow>& rows, const std::string& of) {
  Json energy = Json::object();
  Joules total;
  for (const EnergyRow& e : rows) {
    energy[e.name] = rounded(e.energy.value());
    total += e.energy;
  }
  energy["total"] = rounded(total.value());
  energy["unit"] = "J per " + of;
  return energy;
}

Json json_of(const Metric& m) {
  Members out(5);
  out.add("unit", m.unit);
  out.add("value", rounded(m.value));
  if (m.has_interval()) {
    out.add("interval50", {rounded(m.low50), rounded(m.high50)});
    out.add("interval90", {rounded(m.low90), rounded(m.high90)});
  }
  out.add("origin", to_text(m.origin));
  return out.taken();
}

Json json_of(const KernelRow& k) {
  Members out(13);
  out.add("phase", k.phase);
  out.add("name", k.shown());
  out.add("part", k.part);
  out.add("sizes", k.sizes);
  out.add("calls", rounded(k.calls));
  out.add("time_us", rounded(k.time.value.value() * 1e6));
  out.add("interval90_us", {rounded(k.time.quantile(0.05).value() * 1e6),
                            rounded(k.time.quantile(0.95).value() * 1e6)});
  out.add("share", rounded(k.share));
  out.add("bound", k.bound);
  out.add("tier", to_text(k.time.origin));
  if (k.of_peak > 0) out.add("of_peak", rounded(k.of_peak));
  if (k.flops > Flops(0)) out.add("flops", rounded(k.flops.value()));
  if (k.bytes > Bytes(0)) out.add("bytes", rounded(k.bytes.value()));
  return out.taken();
}

// Adds the parts of a point that only a breakdown shows.
void add_breakdown(const Point& p, Json& out) {
  if (!p.memory.empty()) {
    Json memory = Json::object();
    for (const MemoryRow& m : p.memory) memory[m.name] = rounded(m.size.value() / 1e9);
    memory["capacity"] = rounded(p.memory_capacity.value() / 1e9);
    memory["unit"] = "GB per " + p.memory_of;
    out["memory"] = std::move(memory);
  }
  if (!p.energy.empty()) out["energy"] = json_of(p.energy, p.energy_of);
  if (!p.energy_by_kernel.empty())
    out["energy_by_kernel"] = json_of(p.energy_by_kernel, p.energy_of);
  Json::array_t rows;
  rows.reserve(p.kernels.size());
  for (const KernelRow& k : p.kernels) rows.push_back(json_of(k));
  if (!rows.empty()) out["kernels"] = std::move(rows);
  if (p.detail) p.detail->add_json(out);
  if (!p.notes.empty()) out["notes"] = p.notes;
}

}  // namespace

Json to_json(const Point& p, bool breakdown) {
  Json out = p.at;
  out["fits"] = p.feasibility.fits;
  if (!p.feasibility.fits) out["reason"] = p.feasibility.reason;
  if (p.meets_slo) out["meets_slo"] = *p.meets_slo;
  Json::object_t metrics;
  metrics.reserve(p.metrics.size());
  for (const Metric& m : p.metrics) metrics[m.name] = json_of(m);
  out["metrics"] = std::move(metrics);
  if (!p.limit.empty()) out["limit"] = p.limit;
  if (breakdown) add_breakdown(p, out);
  return out;
}

Json to_json(const Answer& a, bool breakdown) {
  Json::array_t points;
  points.reserve(a.points.size());
  for (const Point& p : a.points) points.push_back(to_json(p, breakdown));
  Members out(6);
  out.add("format", kAnswerFormat);
  out.add("scenario", a.scenario);
  out.add("configuration", a.resolved);
  out.add("points", std::move(points));
  if (a.complete) out.add("complete", *a.complete);
  if (const auto& o = a.optimum) {
    out.add("optimum", {{"objective", o->objective},
                        {"point", o->point},
                        {"value", o->value},
                        {"unit", o->unit},
                        {"saved", o->saved},
                        {"slower", o->slower}});
  }
  return out.taken();
}

}  // namespace orrery
