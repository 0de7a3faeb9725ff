#include "orrery/scenario/document/scenario_sweep.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "orrery/base/node.h"
#include "orrery/scenario/document/scenario_file.h"
#include "orrery/scenario/document/scenario_form.h"
#include "orrery/scenario/document/scenario_keys.h"
#include "orrery/scenario/document/swept_keys.h"

namespace orrery {
namespace {

using SweepJson = nlohmann::ordered_json;

constexpr int kFormatMajor = 1, kFormatMinor = 0;  // kScenarioFormat
constexpr double kMostCombinations = 10'000;
constexpr double kMostSweepPoints = 100'000;  // some seconds, and a gigabyte with breakdowns

void allow_only(const Node& document, const std::vector<std::string>& allowed, const char* what) {
  for (std::size_t i = 0; i < document.keys().size(); ++i) {
    const std::string& key = document.keys()[i];
    if (key == "format") continue;
    if (std::find(allowed.begin(), allowed.end(), key) == allowed.end()) {
      document.items()[i].fail(fmt::format("a scenario with {} has no such key; it has {}", what,
                                           fmt::join(allowed, ", ")));
    }
  }
}

// Refuses what is asked of the boards, where nothing depends on it.
void refuse_knobs(const Node& document, const Scenario& s, const char* of) {
  if (!s.hardware.knobs().any()) return;
  const char* key = s.hardware.power_limit ? "power_limit" : "clock";
  document.at("hardware")
      .at(key)
      .fail(fmt::format(
          "has no effect on {}: links and recorded times do not depend on the clock of a GPU", of));
}

// A collective has no model and nothing that belongs to one.
void check_collective(const Node& document, const Scenario& s, const CollectiveQuestion& q) {
  if (q.flow.asked()) refuse_knobs(document, s, "a collective at flow level");
  const bool hardware = !s.hardware.gpu.empty() || !s.hardware.node.empty();
  const bool topology = !q.flow.topology.empty();
  if (!q.nodes.empty()) {
    if (hardware || topology || q.gpus) {
      document.at("collective")
          .at("nodes")
          .fail("describes all GPUs: remove hardware, topology or gpus");
    }
    return;
  }
  if (!hardware && !topology)
    document.fail(
        "a collective needs hardware.gpu (--gpu), hardware.node (--node), collective.nodes "
        "(--nodes) or a topology (--topology)");
}

// A kernel runs on one GPU and has no other hardware.
void check_kernel(const Node& document, const Scenario& s) {
  const Node& hardware = document.at("hardware");
  hardware.at("gpu");
  const Node* node = hardware.find("node");
  if (node && !s.hardware.node.empty()) node->fail("a kernel runs on one GPU, in any node");
}

// Values that have had no effect at any point so far.
class Moot {
 public:
  void see(const Fields& fields, const Node& document) {
    if (seen_ && moot_.empty()) return;
    std::vector<Fields::Undecided> now = fields.without_effect(document);
    if (!seen_) {
      moot_ = std::move(now);
    } else {
      std::erase_if(moot_, [&now](const Fields::Undecided& m) {
        return std::none_of(now.begin(), now.end(),
                            [&m](const Fields::Undecided& n) { return n.key == m.key; });
      });
    }
    seen_ = true;
  }
  void refuse() const {
    if (!moot_.empty()) moot_.front().refuse();
  }

 private:
  bool seen_ = false;
  std::vector<Fields::Undecided> moot_;
};

// The question of the groups of the document, with the values that were read.
Scenario::Asked asked_by(const Node& document, const ScenarioValues& keys) {
  if (document.find("collective")) return keys.collective;
  if (document.find("kernel")) return keys.kernel;
  if (document.find("edge")) return keys.edge;
  if (document.find("replay")) return keys.replay;
  if (document.find("training")) {
    TrainingQuestion q = keys.training;
    if (document.find("chance")) q.chance = keys.chance;
    if (document.find("plan")) return PlanQuestion{{}, keys.plan, std::move(q)};
    return q;
  }
  if (!document.find("load") && !document.find("plan")) return keys.steady;
  ServiceQuestion q = keys.service;
  if (std::isinf(q.rate)) q.arrivals = "at-once", q.rate = ServiceQuestion().rate;
  if (document.find("plan")) return PlanQuestion{std::move(q), keys.plan, {}};
  return q;
}

// Refuses keys of `workload` that a load takes the place of.
void check_lengths(const Node& document) {
  const Node* w = document.find("workload");
  if (w == nullptr) return;
  for (const std::string& key : steady_keys()) {
    if (const Node* n = w->find(key))
      n->fail("a scenario with a load takes its lengths from load.isl and load.osl");
  }
}

// Refuses keys of `map` that the other kind of plan has, or that the plan chooses.
void refuse_keys(const Node& map, const std::vector<std::string>& keys, const std::string& why) {
  const Fields& fields = declared_keys();
  for (std::size_t i = 0; i < map.keys().size(); ++i) {
    const Field* f = fields.find("training." + map.keys()[i]);
    const Field* of_plan = fields.find("plan." + map.keys()[i]);
    const Field* of_parallel = fields.find("parallel." + map.keys()[i]);
    for (const std::string& key : keys) {
      if (map.keys()[i] == key || (f && f->name() == key) || (of_plan && of_plan->name() == key) ||
          (of_parallel && of_parallel->name() == key))
        map.items()[i].fail(why);
    }
  }
}

void check_plan(const Node& document, const Node& plan) {
  const auto need = [](const Node& map, const char* key, const char* why) {
    if (!map.find(key)) map.fail(fmt::format("'{}' is missing: {}", key, why));
  };
  need(plan, "gpu", "a plan chooses from GPUs, such as --gpu h100-sxm,h200-sxm");
  if (const Node* training = document.find("training")) {
    allow_only(document, keys_of(PlanQuestion{{}, {}, TrainingQuestion()}), "a plan of a run");
    refuse_keys(plan, plan_keys_of_services(), "plans of services have this, plans of runs do not");
    refuse_keys(*training, planned_training_keys(),
                "the plan chooses this; what it chooses from is listed under plan");
    return;
  }
  allow_only(document, keys_of(PlanQuestion()), "a plan");
  need(document, "load", "a plan serves requests, such as --rate 2 --isl 1000 --osl 300");
  need(document, "slo", "a plan keeps limits, such as --slo ttft:1s,tpot:50ms");
  refuse_keys(plan, plan_keys_of_runs(), "plans of runs have this, plans of services do not");
  if (const Node* parallel = document.find("parallel"))
    refuse_keys(*parallel, planned_parallel_keys(),
                "the plan chooses this; what it chooses from is listed under plan");
  check_lengths(document);
}

// Refuses keys that belong to another kind of question.
void check_keys(const Node& document, const ScenarioValues& keys) {
  const Scenario& s = keys.scenario;
  const auto only = [&document](const Scenario::Asked& asked, const char* what) {
    allow_only(document, keys_of(asked), what);
  };
  if (document.find("collective")) {
    only(keys.collective, "a collective");
    return check_collective(document, s, keys.collective);
  }
  if (document.find("kernel")) {
    only(keys.kernel, "a kernel");
    return check_kernel(document, s);
  }
  if (const Node* edge = document.find("edge")) {
    only(keys.edge, "an edge");
    edge->at("network"), edge->at("device");
    return;
  }
  if (const Node* replay = document.find("replay")) {
    only(keys.replay, "a replay");
    replay->at("trace");
    refuse_knobs(document, s, "a replay");
    return;
  }
  document.at("model");
  if (const Node* plan = document.find("plan")) return check_plan(document, *plan);
  document.at("hardware").at("gpu");
  if (document.find("training")) return only(keys.training, "a training");
  if (const Node* n = document.find("chance")) n->fail("chance is supported with training only");
  if (!document.find("load")) {
    for (const std::string& group : service_groups()) {
      if (const Node* n = document.find(group))
        n->fail(fmt::format("{} needs a load, because it is simulated", group));
    }
    return;
  }
  check_lengths(document);
}

// Reads one combination of keys, and makes a point for each combination of sizes.
class PointReader {
 public:
  PointReader(const Node& document, std::vector<SweptValues>& sizes)
      : document_(document), sizes_(sizes) {
    fields_.assign(document);
    // A search for the highest rate has no rate of its own.
    if (keys_.service.find_max_rate)
      std::erase_if(sizes_, [](const SweptValues& s) { return s.path == "load.rate"; });
    for (SweptValues& s : sizes_) s.size = fields_.find(s.path);
  }

  void read(Moot& moot, bool only_point, std::vector<Scenario>& points) {
    keys_.scenario.undecided = fields_.undecided(document_);
    std::vector<std::size_t> at(sizes_.size(), 0);
    do {
      for (std::size_t i = 0; i < at.size(); ++i) sizes_[i].size->read(sizes_[i].values[at[i]]);
      moot.see(fields_, document_);
      if (only_point && sizes_.empty()) moot.refuse();
      if (!checked_) check_keys(document_, keys_);
      checked_ = true;
      points.push_back(keys_.scenario);
      points.back().asked = asked_by(document_, keys_);
    } while (advance(at, sizes_));
  }

 private:
  const Node& document_;
  std::vector<SweptValues>& sizes_;
  LentForm form_;
  ScenarioValues& keys_ = form_.values();
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
std::string declared_path(const std::string& path) {
  const std::size_t dot = path.find('.');
  const Field* f = declared_keys().find(path);
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

ScenarioSweep read_scenario(const Node& document) {
  if (document.is_map()) check_format(document);
  if (const Node* suite = document.find("suite"))
    suite->fail("this is a suite of questions, not a scenario; orrery suite run FILE answers it");
  if (document.is_null() || (document.is_map() && document.keys().empty())) document.at("model");
  std::vector<SweptValues> swept, lists, sizes;
  const Node* sweep = document.find("sweep");
  if (sweep != nullptr) swept = swept_by_group(*sweep);
  Node base = without(document, "sweep");
  lists = swept_by_lists(base, declared_keys());
  for (SweptValues& s : lists) {
    set_path(base, s.path, s.values.front());
    if (s.values.size() == 1) continue;
    const bool again = std::any_of(swept.begin(), swept.end(),
                                   [&s](const SweptValues& k) { return k.path == s.path; });
    if (again) continue;  // the sweep's values replace the list
    (s.size != nullptr ? sizes : swept).push_back(std::move(s));
  }
  order_sizes(sizes);
  if (const double n = combinations(swept); n > kMostCombinations)
    (sweep != nullptr ? *sweep : document)
        .fail(fmt::format("{} combinations; at most {}", n, kMostCombinations));
  if (const double n = combinations(swept) * combinations(sizes); n > kMostSweepPoints)
    throw InputError(fmt::format("a sweep of {} points (what is swept multiplies); at most {}", n,
                                 kMostSweepPoints));
  ScenarioSweep out;
  Moot moot;
  std::vector<std::size_t> at(swept.size(), 0);
  do {
    Node variant = base;
    for (std::size_t i = 0; i < swept.size(); ++i)
      set_path(variant, swept[i].path, swept[i].values[at[i]]);
    PointReader(variant, sizes).read(moot, swept.empty(), out.points);
  } while (advance(at, swept));
  moot.refuse();
  out.name = out.points.front().name;
  out.question = out.points.front().question;
  for (const SweptValues& s : swept) out.keys.push_back(key_of(s));
  for (const SweptValues& s : sizes) {
    out.sizes.push_back(key_of(s));
    out.sizes.back().path = declared_path(s.path);
  }
  return out;
}

ScenarioSweep read_scenario(const std::filesystem::path& file) {
  return named(read_scenario(read_scenario_document(file)), file.stem().string());
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
