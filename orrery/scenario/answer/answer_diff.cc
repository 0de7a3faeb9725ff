#include "orrery/scenario/answer/answer_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "orrery/base/error.h"
#include "orrery/scenario/answer/answer.h"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

const Json& points_of(const Json& answer, const std::string& name) {
  const auto refuse = [&](const char* why) {
    throw InputError(
        fmt::format("{}: {}; expected one answer as `orrery run -o json` prints it", name, why));
  };
  if (answer.is_array()) refuse("several answers");
  if (!answer.is_object() || !answer.contains("format") || !answer.contains("points"))
    refuse("no answer");
  if (answer["format"] != kAnswerFormat) refuse("an answer of another format");
  if (!answer["points"].is_array()) refuse("points are no list");
  for (const Json& p : answer["points"]) {
    if (!p.is_object() || !p.contains("metrics") || !p["metrics"].is_object())
      refuse("a point has no metrics");
  }
  return answer["points"];
}

// The values that say where a point is stand in front of whether it fits.
std::map<std::string, std::string> place_of(const Json& point) {
  std::map<std::string, std::string> place;
  for (const auto& [key, value] : point.items()) {
    if (key == "fits") break;
    place[key] = value.is_string() ? value.get<std::string>() : value.dump();
  }
  return place;
}

double number_in(const Json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_number() ? at->get<double>() : 0;
}

void flatten(const Json& value, const std::string& path, std::map<std::string, std::string>& out) {
  if (value.is_object()) {
    for (const auto& [key, member] : value.items())
      flatten(member, path.empty() ? key : path + "." + key, out);
  } else {
    out[path] = value.is_string() ? value.get<std::string>() : value.dump();
  }
}

// "name: before -> after" for all paths that differ.
std::vector<std::string> changes(const std::map<std::string, std::string>& before,
                                 const std::map<std::string, std::string>& after) {
  std::vector<std::string> out;
  for (const auto& [path, text] : before) {
    const auto other = after.find(path);
    const std::string now = other == after.end() ? "absent" : other->second;
    if (now != text) out.push_back(fmt::format("{}: {} -> {}", path, text, now));
  }
  for (const auto& [path, text] : after) {
    if (!before.contains(path)) out.push_back(fmt::format("{}: absent -> {}", path, text));
  }
  return out;
}

struct Interval {
  double low, high;
};
Interval interval_of(const Json& metric) {
  const double v = number_in(metric, "value");
  const auto at = metric.find("interval90");
  if (at == metric.end() || !at->is_array() || at->size() != 2 || !(*at)[0].is_number() ||
      !(*at)[1].is_number())
    return {v, v};
  return {(*at)[0].get<double>(), (*at)[1].get<double>()};
}

std::vector<ValueChange> metric_changes(const Json& before, const Json& after) {
  std::vector<ValueChange> out;
  const auto add = [&](const std::string& name, const Json* a, const Json* b) {
    ValueChange c;
    c.name = name;
    const Json& any = a != nullptr ? *a : *b;
    if (any.is_object() && any.contains("unit") && any["unit"].is_string()) c.unit = any["unit"];
    c.before = a != nullptr && a->is_object() ? number_in(*a, "value") : 0;
    c.after = b != nullptr && b->is_object() ? number_in(*b, "value") : 0;
    if (c.before == c.after) return;
    if (a != nullptr && b != nullptr && a->is_object() && b->is_object()) {
      const Interval x = interval_of(*a), y = interval_of(*b);
      c.beyond = x.high < y.low || y.high < x.low;
    }
    out.push_back(std::move(c));
  };
  for (const auto& [name, metric] : before.items())
    add(name, &metric, after.contains(name) ? &after[name] : nullptr);
  for (const auto& [name, metric] : after.items()) {
    if (!before.contains(name)) add(name, nullptr, &metric);
  }
  return out;
}

// Rows of the breakdown by their names, in us; of memory in GB.
std::map<std::string, double> terms_of(const Json& point, bool memory) {
  std::map<std::string, double> out;
  const auto at = point.find(memory ? "memory" : "kernels");
  if (at == point.end()) return out;
  if (memory && at->is_object()) {
    for (const auto& [name, value] : at->items()) {
      if (value.is_number()) out[name] = value.get<double>();
    }
  }
  if (!memory && at->is_array()) {
    for (const Json& row : *at) {
      if (!row.is_object()) continue;
      const auto text = [&](const char* key) {
        const auto v = row.find(key);
        return v != row.end() && v->is_string() ? v->get<std::string>() : std::string();
      };
      out[text("phase") + " " + text("name") + " (" + text("part") + ")"] +=
          number_in(row, "time_us");
    }
  }
  return out;
}

std::vector<ValueChange> term_changes(const Json& before, const Json& after) {
  std::vector<ValueChange> out;
  for (const bool memory : {false, true}) {
    std::vector<ValueChange> some;
    std::map<std::string, double> a = terms_of(before, memory), b = terms_of(after, memory);
    for (const auto& [name, v] : b) a.try_emplace(name, 0);
    for (const auto& [name, v] : a) {
      const auto other = b.find(name);
      const double now = other == b.end() ? 0 : other->second;
      if (now != v)
        some.push_back({.name = name, .unit = memory ? "GB" : "us", .before = v, .after = now});
    }
    std::stable_sort(some.begin(), some.end(), [](const ValueChange& x, const ValueChange& y) {
      return std::abs(x.after - x.before) > std::abs(y.after - y.before);
    });
    out.insert(out.end(), some.begin(), some.end());
  }
  return out;
}

std::string place_text(const std::map<std::string, std::string>& place) {
  std::string out;
  for (const auto& [key, value] : place) out += (out.empty() ? "" : " ") + key + "=" + value;
  return out;
}

Json to_json(const ValueChange& c) {
  Json j = {{"name", c.name}, {"unit", c.unit}, {"before", c.before}, {"after", c.after}};
  if (c.before != 0) j["change_percent"] = std::round(1e4 * c.relative()) / 100;
  if (c.beyond) j["beyond_intervals"] = true;
  return j;
}

}  // namespace

AnswerDiff diff_answers(const Json& before, const Json& after, const std::string& first,
                        const std::string& second) {
  const Json &a = points_of(before, first), &b = points_of(after, second);
  AnswerDiff diff;
  std::map<std::string, std::string> old_keys, new_keys;
  if (before.contains("configuration")) flatten(before["configuration"], "", old_keys);
  if (after.contains("configuration")) flatten(after["configuration"], "", new_keys);
  diff.configuration = changes(old_keys, new_keys);
  std::vector<std::map<std::string, std::string>> places;
  for (const Json& p : b) places.push_back(place_of(p));
  std::vector<bool> taken(places.size(), false);
  const bool alike = a.size() == b.size();  // then also pair by position: another GPU or model
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto place = place_of(a[i]);
    std::optional<std::size_t> pair;
    for (std::size_t j = 0; j < places.size() && !pair; ++j) {
      if (!taken[j] && places[j] == place) pair = j;
    }
    if (!pair && alike && !taken[i]) pair = i;
    PointChange c;
    c.at = place_text(place);
    if (!pair) {
      c.at += " (only in the first)";
      diff.points.push_back(std::move(c));
      continue;
    }
    taken[*pair] = true;
    const Json& p = b[*pair];
    c.metrics = metric_changes(a[i]["metrics"], p["metrics"]);
    c.terms = term_changes(a[i], p);
    const auto fits = [](const Json& point) { return point.value("fits", true); };
    if (fits(a[i]) != fits(p))
      c.feasibility = fits(p) ? "does not fit -> fits" : "fits -> does not fit";
    if (c.metrics.empty() && c.terms.empty() && c.feasibility.empty()) {
      ++diff.same;
    } else {
      diff.points.push_back(std::move(c));
    }
  }
  for (std::size_t j = 0; j < places.size(); ++j) {
    if (taken[j]) continue;
    PointChange c;
    c.at = place_text(places[j]) + " (only in the second)";
    diff.points.push_back(std::move(c));
  }
  return diff;
}

Json to_json(const AnswerDiff& diff) {
  Json points = Json::array();
  for (const PointChange& p : diff.points) {
    Json metrics = Json::array(), terms = Json::array();
    for (const ValueChange& c : p.metrics) metrics.push_back(to_json(c));
    for (const ValueChange& c : p.terms) terms.push_back(to_json(c));
    Json j = {{"at", p.at}, {"metrics", std::move(metrics)}, {"terms", std::move(terms)}};
    if (!p.feasibility.empty()) j["feasibility"] = p.feasibility;
    points.push_back(std::move(j));
  }
  return {{"configuration", diff.configuration},
          {"points", std::move(points)},
          {"unchanged_points", diff.same}};
}

}  // namespace orrery
