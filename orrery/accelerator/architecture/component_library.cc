#include "orrery/accelerator/architecture/component_library.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "orrery/base/error.h"
#include "orrery/base/node.h"

namespace orrery {
namespace {

constexpr const char* kFile = "accelerators/components.yaml";

// The value at `x` between the points (x0, y0) and (x1, y1), on logarithmic scales.
double log_interpolated(double x, double x0, double y0, double x1, double y1) {
  return y0 * std::pow(y1 / y0, std::log(x / x0) / std::log(x1 / x0));
}

double positive(const orrery::Node& map, const char* key) {
  const orrery::Node& node = map.at(key);
  const double value = node.as_double();
  if (value <= 0) node.fail("expected a number above 0");
  return value;
}

template <class List>
std::string names_of(const List& list) {
  std::vector<std::string> names;
  for (const auto& entry : list) {
    if (std::find(names.begin(), names.end(), entry.name) == names.end()) {
      names.push_back(entry.name);
    }
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

ComponentLibrary::ComponentLibrary(const Bundle& bundle) {
  const auto file = bundle.find(kFile);
  if (!file) throw InputError(fmt::format("catalog/{}: no such file", kFile));
  const orrery::Node root = parse_yaml(file->content, file->name);
  const auto point = [](const orrery::Node& n) {
    Point p;
    if (n.find("nm") != nullptr) p.nm = positive(n, "nm");
    p.pj = positive(n, "pj");
    if (n.find("um2") != nullptr) p.um2 = positive(n, "um2");
    p.source = n.at("source").as_string();
    return p;
  };
  const orrery::Node& logic = root.at("logic_scaling");
  const double v = positive(logic, "supply");
  for (const orrery::Node& n : logic.at("nodes").items()) {
    nodes_.push_back({positive(n, "nm"), n.at("a").as_double() * v * v + n.at("b").as_double() * v +
                                             n.at("c").as_double()});
  }
  std::sort(nodes_.begin(), nodes_.end(), [](const Node& a, const Node& b) { return a.nm > b.nm; });
  for (const orrery::Node& n : root.at("sram").items()) {
    SramTable t{positive(n, "nm"), {}, n.at("source").as_string()};
    for (const orrery::Node& p : n.at("points").items()) {
      t.points.emplace_back(positive(p, "kib"), positive(p, "pj"));
    }
    sram_.push_back(std::move(t));
  }
  for (const orrery::Node& n : root.at("registers").items()) registers_.push_back(point(n));
  for (const orrery::Node& n : root.at("dram").items()) {
    dram_.push_back({n.at("kind").as_string(), point(n)});
  }
  for (const orrery::Node& n : root.at("mac").items()) {
    mac_.push_back({n.at("format").as_string(), point(n)});
  }
  for (const orrery::Node& n : root.at("adc").items()) {
    adc_.push_back({static_cast<int>(n.at("bits").as_int()), point(n)});
  }
  for (const orrery::Node& n : root.at("wire").items()) wire_.push_back(point(n));
  for (const orrery::Node& n : root.at("network").items()) {
    network_.push_back({n.at("kind").as_string(), point(n)});
  }
}

double ComponentLibrary::logic_energy(double nm) const {
  for (std::size_t i = 0; i + 1 < nodes_.size(); ++i) {
    const Node &big = nodes_[i], &small = nodes_[i + 1];
    if (nm > big.nm || nm < small.nm) continue;
    return small.energy + (big.energy - small.energy) * (nm - small.nm) / (big.nm - small.nm);
  }
  throw NoData(fmt::format("a process node of {:g} nm: expected {:g} to {:g} nm", nm,
                           nodes_.back().nm, nodes_.front().nm));
}

double ComponentLibrary::logic_energy_ratio(double from, double to) const {
  return logic_energy(to) / logic_energy(from);
}

// The figure at a node from the published ones, sorted from large to small nodes. Areas shrink with
// the square of the node.
ComponentEstimate ComponentLibrary::at_node(std::vector<Point> points, double nm) const {
  std::sort(points.begin(), points.end(),
            [](const Point& a, const Point& b) { return a.nm > b.nm; });
  const Point* nearest = &points.front();
  for (const Point& p : points) {
    if (std::abs(std::log(p.nm / nm)) < std::abs(std::log(nearest->nm / nm))) nearest = &p;
  }
  ComponentEstimate out{nearest->pj * logic_energy_ratio(nearest->nm, nm), {}, nearest->source};
  for (std::size_t i = 0; i + 1 < points.size(); ++i) {
    const Point &big = points[i], &small = points[i + 1];
    if (nm > big.nm || nm < small.nm) continue;
    out.pj = log_interpolated(nm, big.nm, big.pj, small.nm, small.pj);
    out.source = big.source + "; " + small.source;
  }
  for (const Point& p : points) {
    if (p.um2) out.um2 = *p.um2 * (nm / p.nm) * (nm / p.nm);
  }
  return out;
}

ComponentEstimate ComponentLibrary::sram(double bytes, double access_bits, double nm) const {
  const double kib = bytes / 1024;
  std::vector<Point> points;
  for (const SramTable& t : sram_) {
    // Sizes beyond the table follow its first or last segment.
    std::size_t i = 1;
    while (i + 1 < t.points.size() && kib > t.points[i].first) ++i;
    const auto& [k0, p0] = t.points[i - 1];
    const auto& [k1, p1] = t.points[i];
    points.push_back(
        {t.nm, log_interpolated(kib, k0, p0, k1, p1) * access_bits / 64, {}, t.source});
  }
  return at_node(std::move(points), nm);
}

ComponentEstimate ComponentLibrary::registers(double access_bits, double bits, double nm) const {
  ComponentEstimate e = at_node(registers_, nm);
  e.pj *= access_bits;
  if (e.um2) *e.um2 *= bits;
  return e;
}

ComponentEstimate ComponentLibrary::dram(const std::string& kind, double access_bits) const {
  for (const Named& d : dram_) {
    if (canonical_name(d.name) == canonical_name(kind)) {
      return {d.point.pj * access_bits, {}, d.point.source};
    }
  }
  throw NoData(
      fmt::format("no published energy of DRAM '{}'; known are {}", kind, names_of(dram_)));
}

ComponentEstimate ComponentLibrary::adc(int resolution, double nm) const {
  constexpr int kLeast = 4, kMost = 10;
  if (resolution < kLeast || resolution > kMost) {
    throw NoData(fmt::format("no published energy of an ADC of {} bits; known are {} to {}",
                             resolution, kLeast, kMost));
  }
  std::vector<Point> points;
  for (const Converter& c : adc_) {
    points.push_back(c.point);
    points.back().pj *= std::exp2(resolution - c.bits);
  }
  return at_node(std::move(points), nm);
}

ComponentEstimate ComponentLibrary::wire(double bits, double millimetres, double nm) const {
  ComponentEstimate e = at_node(wire_, nm);
  e.pj *= bits * millimetres;
  return e;
}

ComponentEstimate ComponentLibrary::network(const std::string& kind, double bits, double nm) const {
  std::vector<Point> points;
  for (const Named& n : network_) {
    if (n.name == kind) points.push_back(n.point);
  }
  if (points.empty()) {
    throw NoData(fmt::format("no published energy of a network '{}'; known are {}", kind,
                             names_of(network_)));
  }
  ComponentEstimate e = at_node(std::move(points), nm);
  e.pj *= bits;
  return e;
}

ComponentEstimate ComponentLibrary::multiply_add(const std::string& format, double nm) const {
  std::vector<Point> points;
  for (const Named& m : mac_) {
    if (m.name == format) points.push_back(m.point);
  }
  if (points.empty()) {
    throw NoData(fmt::format("no published energy of a multiply-add in '{}'; known are {}", format,
                             names_of(mac_)));
  }
  return at_node(std::move(points), nm);
}

}  // namespace orrery
