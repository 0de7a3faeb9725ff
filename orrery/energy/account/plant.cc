#include "orrery/energy/account/plant.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "orrery/base/error.h"
#include "orrery/base/fields.h"
#include "orrery/energy/power/board_power.h"

namespace orrery {
namespace {

constexpr const char* kPath = "plant/plant.yaml";
// The two B200 servers of plant.yaml differ by 24 % when idle and by 30 % when loaded: a deviation
// of 0.17 and 0.21.
constexpr double kRestError = 0.2;
// Boards of the same GPU that wait differ by their temperature and by the clock that they keep.
// The readings are one for each GPU; their shares of the limit differ by 25 %.
constexpr double kWaitingError = 0.15;

// The sum of two figures whose errors are independent of each other.
Estimate<Watts> sum(const Estimate<Watts>& a, const Estimate<Watts>& b) {
  const Watts total = a.value + b.value;
  if (total <= Watts(0)) return a;
  const double wa = a.value / total, wb = b.value / total;
  return {total, std::hypot(wa * a.shared, wb * b.shared), std::hypot(wa * a.own, wb * b.own),
          std::max(a.origin, b.origin)};
}

Watts limit_of(const Gpu& gpu) {
  if (!gpu.power)
    throw NoData(fmt::format("{}: the data sheet states no power (gpu.power)", gpu.id));
  return *gpu.power;
}

// Reads each item of a list.
template <class Item, class Declare>
void read_items(const Node& list, std::vector<Item>& items, Declare declare) {
  for (const Node& node : list.items()) {
    Item item;
    Fields fields;
    declare(fields, item);
    fields.read(node);
    items.push_back(std::move(item));
  }
}

// A value of the file with its source.
struct Stated {
  double value = 0, error = 0;
  std::string source;
};

void declare(Fields& f, Stated& stated, double least, double most) {
  f.add("value", stated.value, "the value").range(least, most).required();
  f.add("error", stated.error, "deviation of its logarithm").range(0, 1);
  f.add("source", stated.source, "where it can be read").required();
}

nlohmann::ordered_json nothing() { return nlohmann::ordered_json(nullptr); }

}  // namespace

Watts Plant::RestLaw::at(Watts limits) const {
  return Watts(scale * std::pow(limits.value(), power));
}

Plant::Plant(const Bundle& bundle, std::string_view without)
    : regulated_(BoardPowers(bundle).regulated()) {
  const auto file = bundle.find(kPath);
  if (!file) throw InputError(fmt::format("catalog/{}: no such file", kPath));
  Stated pue, supplies;
  Fields fields;
  fields
      .group(
          "pue", [&pue](Fields& f) { declare(f, pue, 1, 10); },
          "power of a data centre over that of its computers")
      .required();
  fields
      .group(
          "supply_efficiency", [&supplies](Fields& f) { declare(f, supplies, 0.5, 1); },
          "share of the power that supplies pass on")
      .required();
  fields
      .custom(
          "waiting", Field::Type::kList,
          [this](const Node& list) {
            read_items(list, waiting_, [](Fields& f, WaitingBoard& w) {
              f.add("gpu", w.gpu, "id of the GPU").required();
              f.add("limit", w.limit, "its limit").required();
              f.add("power", w.power, "its power while it waits").required();
              f.add("source", w.source, "where it can be read").required();
            });
          },
          nothing, "boards that wait")
      .required();
  fields
      .custom(
          "servers", Field::Type::kList,
          [this](const Node& list) {
            read_items(list, servers_, [](Fields& f, MeasuredServer& s) {
              f.add("name", s.name, "the server").required();
              f.add("gpus", s.gpus, "its boards").range(1, 1024).required();
              f.add("limit", s.limit, "limit of a board").required();
              f.add("idle", s.idle, "at the wall, waiting");
              f.add("loaded", s.loaded, "at the wall, all boards at their limit");
              f.add("source", s.source, "where it can be read").required();
            });
          },
          nothing, "servers at the wall")
      .required();
  const Node document = parse_yaml(file->content, file->name);
  fields.read(document);
  if (waiting_.empty()) document.at("waiting").fail("expected at least one board");
  pue_ = {pue.value, pue.error, 0, Origin::kMeasured};
  supply_efficiency_ = supplies.value;
  double mean = 0, square = 0;
  for (const WaitingBoard& w : waiting_)
    mean += std::log(w.power / w.limit) / real(waiting_.size());
  for (const WaitingBoard& w : waiting_) square += std::pow(std::log(w.power / w.limit) - mean, 2);
  const double spread = std::sqrt(square / std::max(1.0, real(waiting_.size()) - 1));
  waiting_share_ = {std::exp(mean), std::max(spread, kWaitingError), 0, Origin::kTransferred};
  std::erase_if(servers_, [without](const MeasuredServer& s) { return s.name == without; });
  idle_ = fitted(&Plant::rest_idle);
  loaded_ = fitted(&Plant::rest_loaded);
}

Watts Plant::rest_idle(const MeasuredServer& s) const {
  return s.idle * supply_efficiency_ - s.limit * (waiting_share_.value * s.gpus);
}

Watts Plant::rest_loaded(const MeasuredServer& s) const {
  return s.loaded * supply_efficiency_ - s.limit * (regulated_ * s.gpus);
}

Plant::RestLaw Plant::fitted(Watts (Plant::*rest)(const MeasuredServer&) const) const {
  // Least squares of log(rest) on log(limits).
  std::vector<std::pair<double, double>> points;
  for (const MeasuredServer& s : servers_) {
    const Watts r = (this->*rest)(s);
    if (r > Watts(0)) points.emplace_back(std::log(s.limit.value() * s.gpus), std::log(r.value()));
  }
  const double n = real(points.size());
  if (points.size() < 3) throw InputError(fmt::format("catalog/{}: too few servers", kPath));
  double x = 0, y = 0, xx = 0, xy = 0, squares = 0;
  for (const auto& [a, b] : points) x += a / n, y += b / n;
  for (const auto& [a, b] : points) xx += (a - x) * (a - x), xy += (a - x) * (b - y);
  RestLaw law;
  law.power = xx > 0 ? xy / xx : 0;
  law.scale = std::exp(y - law.power * x);
  for (const auto& [a, b] : points) squares += std::pow(b - y - law.power * (a - x), 2);
  law.error = std::max(kRestError, std::sqrt(squares / (n - 2)));
  return law;
}

Estimate<Watts> Plant::waiting(const Gpu& gpu) const {
  const Watts limit = limit_of(gpu);
  for (const WaitingBoard& w : waiting_)
    if (w.gpu == gpu.id) return {w.power, kWaitingError, 0, Origin::kMeasured};
  return {limit * waiting_share_.value, waiting_share_.shared, 0, waiting_share_.origin};
}

Estimate<Watts> Plant::of_boards(const Gpu& gpu, const Boards& boards) const {
  const Estimate<Watts> run = boards.running.scaled(boards.run);
  return boards.wait > 0 ? sum(run, waiting(gpu).scaled(boards.wait)) : run;
}

Estimate<Watts> Plant::at_wall(const Gpu& gpu, const NodeType& node, const Boards& boards) const {
  const Watts limit = limit_of(gpu);
  const double number = boards.run + boards.wait;
  const Estimate<Watts> all = of_boards(gpu, boards);
  if (number <= 0) return all;
  const int of_host = node.gpus_per_host > 0 ? node.gpus_per_host : node.gpu_count;
  const Watts limits = limit * of_host;
  const NodePower& own = node.power;
  const bool stated = own.idle && own.loaded;
  const double hosts = number / (stated ? node.gpu_count : of_host);
  const Watts idle = stated ? *own.idle : idle_.at(limits);
  const Watts loaded = stated ? *own.loaded : std::max(idle, loaded_.at(limits));
  const Watts wait = waiting(gpu).value;
  const double x = std::clamp((all.value / number - wait) / (limit * regulated_ - wait), 0.0, 1.0);
  const double law_error = (1 - x) * idle_.error + x * loaded_.error;
  const Estimate<Watts> rest = {(idle + (loaded - idle) * x) * hosts,
                                stated ? kRestError : law_error, 0,
                                stated ? Origin::kMeasured : Origin::kTransferred};
  return sum(all, rest).scaled(1 / own.supply_efficiency.value_or(supply_efficiency_));
}

Estimate<Watts> Plant::at_facility(const Estimate<Watts>& wall, std::optional<double> pue) const {
  if (pue) return wall.scaled(*pue);
  Estimate<Watts> out = wall.scaled(pue_.value);
  out.shared = std::hypot(wall.shared, pue_.shared);
  out.origin = std::max(wall.origin, pue_.origin);
  return out;
}

}  // namespace orrery
