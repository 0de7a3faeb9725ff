#include "orrery/scenario/document/scenario_sweep.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "orrery/base/node.h"
#include "orrery/scenario/document/scenario_file.h"
#include "orrery/scenario/document/scenario_json.h"
#include "orrery/scenario/document/swept_keys.h"

namespace orrery {
namespace {

using SweepJson = nlohmann::ordered_json;

constexpr int kFormatMajor = 1, kFormatMinor = 0;  // kScenarioFormat
constexpr double kMostCombinations = 10'000;
constexpr double kMostSweepPoints = 100'000;  // some seconds, and a gigabyte with breakdowns

// The values of a document that have had no effect at any point so far.
class IneffectiveValues {
 public:
  void see(const Fields& fields, const Node& document) {
    if (seen_ && values_.empty()) return;
    std::vector<Fields::Undecided> now = fields.without_effect(document);
    if (!seen_) {
      values_ = std::move(now);
    } else {
      std::erase_if(values_, [&now](const Fields::Undecided& m) {
        return std::none_of(now.begin(), now.end(),
                            [&m](const Fields::Undecided& n) { return n.key == m.key; });
      });
    }
    seen_ = true;
  }
  void refuse() const {
    if (!values_.empty()) values_.front().refuse();
  }

 private:
  bool seen_ = false;
  std::vector<Fields::Undecided> values_;
};

// Refuses keys at the top of a document that its question does not have.
void check_top_keys(const Node& document, const Scenario& s, const Kinds& kinds) {
  const QuestionKind& kind = s.kind();
  if (!kind.top_keys) {
    for (std::size_t i = 0; i < document.keys().size(); ++i) {
      const QuestionKind* owner = kinds.owner_of(document.keys()[i]);
      if (owner == nullptr || owner == &kind) continue;
      document.items()[i].fail(fmt::format(fmt::runtime(owner->lone_group), document.keys()[i]));
    }
    return;
  }
  const auto [allowed, called] = kind.top_keys(s);
  for (std::size_t i = 0; i < document.keys().size(); ++i) {
    const std::string& key = document.keys()[i];
    if (key != "format" && std::find(allowed.begin(), allowed.end(), key) == allowed.end())
      document.items()[i].fail(fmt::format("a scenario with {} has no such key; it has {}", called,
                                           fmt::join(allowed, ", ")));
  }
}

// Reads one combination of keys, and makes a point for each combination of sizes.
class PointReader {
 public:
  PointReader(const Node& document, const Kinds& kinds, std::vector<SweptValues>& sizes)
      : document_(document),
        kinds_(kinds),
        kind_(kinds.asked_by(document)),
        sizes_(sizes),
        form_(kinds) {
    fields_.assign(document);
    drop_unswept(kind_);
    for (const QuestionKind* taken : kind_.takes) drop_unswept(*taken);
    for (SweptValues& s : sizes_) s.size = fields_.find(s.path);
  }

  void read(IneffectiveValues& ineffective, bool only_point, std::vector<Scenario>& points) {
    values_.scenario.undecided = fields_.undecided(document_);
    std::vector<std::size_t> at(sizes_.size(), 0);
    do {
      for (std::size_t i = 0; i < at.size(); ++i) sizes_[i].size->read(sizes_[i].values[at[i]]);
      ineffective.see(fields_, document_);
      if (only_point && sizes_.empty()) ineffective.refuse();
      points.push_back(values_.scenario);
      points.back().asked = kind_.ask(document_, values_);
      if (!checked_) check(points.back());
      checked_ = true;
    } while (advance(at, sizes_));
  }

 private:
  void drop_unswept(const QuestionKind& kind) {
    if (!kind.unswept) return;
    for (const std::string_view path : kind.unswept(values_))
      std::erase_if(sizes_, [path](const SweptValues& s) { return s.path == path; });
  }

  void check(const Scenario& s) const {
    check_top_keys(document_, s, kinds_);
    if (kind_.check) kind_.check(document_, s);
  }

  const Node& document_;
  const Kinds& kinds_;
  const QuestionKind& kind_;
  std::vector<SweptValues>& sizes_;
  Kinds::Lent form_;
  KeyValues& values_ = form_.values();
  const Fields& fields_ = form_.fields();
  bool checked_ = false;
};

SweepJson number_or_text(const std::string& text) {
  double v = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(v)) return text;
  std::int64_t whole = 0;
  const auto [last, e] = std::from_chars(text.data(), text.data() + text.size(), whole);
  if (e == std::errc() && last == text.data() + text.size()) return whole;
  return v;
}

// Writes `values` at the path of a key, below `at`.
void set_values(SweepJson& document, std::string_view path,
                const std::vector<std::string>& values) {
  SweepJson* at = &document;
  for (std::size_t dot; (dot = path.find('.')) != path.npos; path.remove_prefix(dot + 1))
    at = &(*at)[std::string(path.substr(0, dot))];
  SweepJson& held = (*at)[std::string(path)];
  // Whole numbers are shown without a fraction in keys that hold fractions.
  const bool fractions = held.is_array() && !held.empty() && held.front().is_number_float();
  SweepJson list = SweepJson::array();
  for (const std::string& v : values) {
    list.push_back(number_or_text(v));
    if (fractions && list.back().is_number()) list.back() = list.back().get<double>();
  }
  held = std::move(list);
}

ScenarioSweep::Key key_of(const SweptValues& swept) {
  ScenarioSweep::Key key{swept.path, {}};
  for (const Node& v : swept.values) key.values.push_back(v.text());
  return key;
}

// The path with the names of the declaration in the place of aliases.
std::string declared_path(const std::string& path, const Fields& keys) {
  const std::size_t dot = path.find('.');
  const Field* f = keys.find(path);
  return f == nullptr || dot == path.npos ? path : path.substr(0, dot + 1) + f->name();
}

}  // namespace

ScenarioSweep::ScenarioSweep(Scenario scenario)
    : name(scenario.name), question(scenario.question), points{std::move(scenario)} {}

std::size_t ScenarioSweep::group() const {
  std::size_t n = 1;
  for (const Key& k : sizes) n *= k.values.size();
  return n;
}

void check_format(const Node& document) {
  const Node* format = document.find("format");
  if (format == nullptr) return;
  const std::string& text = format->text();
  int major = 0, minor = 0;
  const char* const end = text.data() + text.size();
  auto read = std::from_chars(text.data(), end, major);
  const bool has_minor = read.ec == std::errc() && read.ptr != end && *read.ptr == '.';
  if (has_minor) read = std::from_chars(read.ptr + 1, end, minor);
  if (read.ec != std::errc() || read.ptr != end || major < 1 || minor < 0)
    format->fail(fmt::format("expected a version such as {}, got '{}'", kScenarioFormat, text));
  if (major > kFormatMajor || (major == kFormatMajor && minor > kFormatMinor)) {
    format->fail(fmt::format("the file is written for format {}; this program reads {} and older",
                             text, kScenarioFormat));
  }
}

ScenarioSweep read_scenario(const Kinds& kinds, const Node& document) {
  if (document.is_map()) check_format(document);
  if (const Node* suite = document.find("suite"))
    suite->fail("this is a suite of questions, not a scenario; orrery suite run FILE answers it");
  if (document.is_null() || (document.is_map() && document.keys().empty())) document.at("model");
  std::vector<SweptValues> swept, lists, sizes;
  const Node* sweep = document.find("sweep");
  if (sweep != nullptr) swept = swept_by_group(*sweep);
  Node base = without(document, "sweep");
  lists = swept_by_lists(base, kinds.keys());
  for (SweptValues& s : lists) {
    set_path(base, s.path, s.values.front());
    if (s.values.size() == 1) continue;
    const bool again = std::any_of(swept.begin(), swept.end(),
                                   [&s](const SweptValues& k) { return k.path == s.path; });
    if (again) continue;  // the sweep's values replace the list
    (s.size != nullptr ? sizes : swept).push_back(std::move(s));
  }
  order_sizes(sizes, kinds.keys());
  if (const double n = combinations(swept); n > kMostCombinations)
    (sweep != nullptr ? *sweep : document)
        .fail(fmt::format("{} combinations; at most {}", n, kMostCombinations));
  if (const double n = combinations(swept) * combinations(sizes); n > kMostSweepPoints)
    throw InputError(fmt::format("a sweep of {} points (what is swept multiplies); at most {}", n,
                                 kMostSweepPoints));
  ScenarioSweep out;
  IneffectiveValues ineffective;
  std::vector<std::size_t> at(swept.size(), 0);
  do {
    Node variant = base;
    for (std::size_t i = 0; i < swept.size(); ++i)
      set_path(variant, swept[i].path, swept[i].values[at[i]]);
    PointReader(variant, kinds, sizes).read(ineffective, swept.empty(), out.points);
  } while (advance(at, swept));
  ineffective.refuse();
  out.name = out.points.front().name;
  out.question = out.points.front().question;
  for (const SweptValues& s : swept) out.keys.push_back(key_of(s));
  for (const SweptValues& s : sizes) {
    out.sizes.push_back(key_of(s));
    out.sizes.back().path = declared_path(s.path, kinds.keys());
  }
  return out;
}

ScenarioSweep read_scenario(const Kinds& kinds, const std::filesystem::path& file) {
  return named(read_scenario(kinds, read_scenario_document(file)), file.stem().string());
}

SweepJson with_sweep(SweepJson document, const ScenarioSweep& sweep) {
  for (const ScenarioSweep::Key& k : sweep.sizes) set_values(document, k.path, k.values);
  if (sweep.keys.empty()) return document;
  SweepJson keys;
  for (const ScenarioSweep::Key& k : sweep.keys) set_values(keys, k.path, k.values);
  document["sweep"] = std::move(keys);
  return document;
}

SweepJson to_json(const ScenarioSweep& sweep) {
  return with_sweep(to_json(sweep.points.front()), sweep);
}

SweepJson swept_values(const ScenarioSweep& sweep, std::size_t point) {
  const auto leaf = [](const std::string& path) { return path.substr(path.rfind('.') + 1); };
  std::vector<std::size_t> at(sweep.keys.size());
  std::size_t rest = point / sweep.group();
  for (std::size_t i = sweep.keys.size(); i-- > 0;) {
    at[i] = rest % sweep.keys[i].values.size();
    rest /= sweep.keys[i].values.size();
  }
  SweepJson out = SweepJson::object();
  for (std::size_t i = 0; i < sweep.keys.size(); ++i) {
    const std::string& path = sweep.keys[i].path;
    const auto same = std::count_if(sweep.keys.begin(), sweep.keys.end(),
                                    [&](auto& other) { return leaf(other.path) == leaf(path); });
    out[same > 1 ? path : leaf(path)] = number_or_text(sweep.keys[i].values[at[i]]);
  }
  return out;
}

}  // namespace orrery
