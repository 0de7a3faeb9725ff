#include "apps/face/pictures/drawing.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "apps/face/plot.h"

namespace orrery::face {

std::string text_of(const nlohmann::ordered_json& v) {
  return v.is_string() ? v.get<std::string>() : v.dump();
}

std::string words(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

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

int place_in(std::vector<std::string>& names, const std::string& name) {
  const auto at = std::find(names.begin(), names.end(), name);
  if (at != names.end()) return static_cast<int>(at - names.begin());
  names.push_back(name);
  return static_cast<int>(names.size()) - 1;
}

}  // namespace orrery::face
