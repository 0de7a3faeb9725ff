#include "orrery/planner/store/point_bytes.h"

#include <nlohmann/json.hpp>

namespace orrery {

void write(ValueWriter& out, const Point& p) {
  out.text(p.at.dump());
  out.number(p.feasibility.fits ? 1 : 0);
  out.text(p.feasibility.reason);
  out.number(p.metrics.size());
  for (const Metric& m : p.metrics) {
    out.text(m.name), out.text(m.unit);
    for (const double x : {m.value, m.low50, m.high50, m.low90, m.high90}) out.real(x);
    for (const auto n :
         {static_cast<int>(m.origin), static_cast<int>(m.subject), static_cast<int>(m.better)})
      out.number(static_cast<std::uint64_t>(n));
    out.real(m.percentile.value_or(-1));
  }
  out.number(p.memory.size());
  for (const MemoryRow& row : p.memory) out.text(row.name), out.real(row.size.value());
  out.real(p.memory_capacity.value());
  out.number(p.energy.size());
  for (const EnergyRow& row : p.energy) out.text(row.name), out.real(row.energy.value());
  out.text(p.energy_of);
  out.integer(p.meets_slo ? (*p.meets_slo ? 1 : 0) : -1);
  out.text(p.limit);
  out.number(p.notes.size());
  for (const std::string& note : p.notes) out.text(note);
}

Point read_point(ValueReader& in) {
  Point p;
  p.at = nlohmann::ordered_json::parse(in.text());
  p.feasibility.fits = in.number() != 0;
  p.feasibility.reason = in.text();
  for (std::uint64_t n = in.number(); n > 0; --n) {
    Metric m;
    m.name = in.text(), m.unit = in.text();
    for (double* x : {&m.value, &m.low50, &m.high50, &m.low90, &m.high90}) *x = in.real();
    m.origin = static_cast<Origin>(in.number());
    m.subject = static_cast<Subject>(in.number());
    m.better = static_cast<Better>(in.number());
    if (const double percentile = in.real(); percentile >= 0) m.percentile = percentile;
    p.metrics.push_back(std::move(m));
  }
  for (std::uint64_t n = in.number(); n > 0; --n) {
    MemoryRow row;
    row.name = in.text();
    row.size = Bytes(in.real());
    p.memory.push_back(std::move(row));
  }
  p.memory_capacity = Bytes(in.real());
  for (std::uint64_t n = in.number(); n > 0; --n) {
    EnergyRow row;
    row.name = in.text();
    row.energy = Joules(in.real());
    p.energy.push_back(std::move(row));
  }
  p.energy_of = in.text();
  if (const std::int64_t met = in.integer(); met >= 0) p.meets_slo = met != 0;
  p.limit = in.text();
  for (std::uint64_t n = in.number(); n > 0; --n) p.notes.push_back(in.text());
  return p;
}

}  // namespace orrery
