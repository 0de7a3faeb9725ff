#include "orrery/scenario/answer/answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

// Six significant digits: more than any prediction has, and the same bytes everywhere.
double rounded(double v) {
  if (v == 0 || !std::isfinite(v)) return v;
  const double scale = std::pow(10.0, 5 - static_cast<int>(std::floor(std::log10(std::abs(v)))));
  return std::round(v * scale) / scale;
}

Json json_of(const ReplayRow& row) {
  constexpr const char* kParts[] = {"class", "idle", "path", "stream"};
  const auto times = [](const ReplayRow::Times& t) -> Json {
    return {{"busy_ms", rounded(t.busy.value() * 1e3)},
            {"exposed_ms", rounded(t.exposed.value() * 1e3)},
            {"critical_ms", rounded(t.critical.value() * 1e3)}};
  };
  return {{"part", kParts[static_cast<int>(row.part)]},
          {"name", row.name},
          {"kernels", rounded(row.kernels)},
          {"replayed", times(row.replayed)},
          {"what_if", times(row.what_if)}};
}

}  // namespace

Metric exact_metric(std::string name, std::string unit, double value) {
  return {std::move(name), std::move(unit), value, value, value, value, value, Origin::kExact};
}

Metric power_metric(const Estimate<Watts>& power, Watts limit) {
  Metric m = metric("power", "W", power, 1);
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

Metric rate_metric(std::string name, std::string unit, double amount,
                   const Estimate<Seconds>& time) {
  auto at = [&](double p) { return amount / time.quantile(p).value(); };
  return {std::move(name), std::move(unit), amount / time.value.value(),
          at(0.75),        at(0.25),        at(0.95),
          at(0.05),        time.origin};
}

Metric of_peak_metric(std::string name, double amount, const Estimate<Seconds>& time) {
  Metric m = rate_metric(std::move(name), "%", amount, time);
  for (double* high : {&m.high50, &m.high90}) *high = std::max(m.value, std::min(*high, 100.0));
  return m;
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

}  // namespace

Json to_json(const Point& p, bool breakdown) {
  Json out = p.at;
  out["fits"] = p.feasibility.fits;
  if (!p.feasibility.fits) out["reason"] = p.feasibility.reason;
  if (p.meets_slo) out["meets_slo"] = *p.meets_slo;
  Json metrics = Json::object();
  for (const Metric& m : p.metrics) {
    Json j = {{"unit", m.unit}, {"value", rounded(m.value)}};
    if (m.has_interval()) {
      j["interval50"] = {rounded(m.low50), rounded(m.high50)};
      j["interval90"] = {rounded(m.low90), rounded(m.high90)};
    }
    j["origin"] = std::string(to_text(m.origin));
    metrics[m.name] = std::move(j);
  }
  out["metrics"] = std::move(metrics);
  if (!p.limit.empty()) out["limit"] = p.limit;
  if (breakdown) {
    Json memory = Json::object();
    for (const MemoryRow& m : p.memory) memory[m.name] = rounded(m.size.value() / 1e9);
    if (!p.memory.empty()) {
      memory["capacity"] = rounded(p.memory_capacity.value() / 1e9);
      memory["unit"] = "GB per " + p.memory_of;
      out["memory"] = std::move(memory);
    }
    if (!p.energy.empty()) out["energy"] = json_of(p.energy, p.energy_of);
    if (!p.energy_by_kernel.empty())
      out["energy_by_kernel"] = json_of(p.energy_by_kernel, p.energy_of);
    Json rows = Json::array();
    for (const KernelRow& k : p.kernels) {
      Json j = {{"phase", k.phase},
                {"name", k.shown()},
                {"part", k.part},
                {"sizes", k.sizes},
                {"calls", rounded(k.calls)},
                {"time_us", rounded(k.time.value.value() * 1e6)},
                {"interval90_us",
                 {rounded(k.time.quantile(0.05).value() * 1e6),
                  rounded(k.time.quantile(0.95).value() * 1e6)}},
                {"share", rounded(k.share)},
                {"bound", k.bound},
                {"tier", std::string(to_text(k.time.origin))}};
      if (k.of_peak > 0) j["of_peak"] = rounded(k.of_peak);
      if (k.flops > Flops(0)) j["flops"] = rounded(k.flops.value());
      if (k.bytes > Bytes(0)) j["bytes"] = rounded(k.bytes.value());
      rows.push_back(std::move(j));
    }
    if (!rows.empty()) out["kernels"] = std::move(rows);
    for (const ReplayRow& row : p.replay) out["replay"].push_back(json_of(row));
    if (!p.notes.empty()) out["notes"] = p.notes;
  }
  return out;
}

Json to_json(const Answer& a, bool breakdown) {
  Json points = Json::array();
  for (const Point& p : a.points) points.push_back(to_json(p, breakdown));
  Json out = {{"format", kAnswerFormat},
              {"scenario", a.scenario},
              {"configuration", a.resolved},
              {"points", points}};
  if (a.complete) out["complete"] = *a.complete;
  if (const auto& o = a.optimum) {
    out["optimum"] = {{"objective", o->objective}, {"point", o->point}, {"value", o->value},
                      {"unit", o->unit},           {"saved", o->saved}, {"slower", o->slower}};
  }
  return out;
}

}  // namespace orrery
