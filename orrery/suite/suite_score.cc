#include "orrery/suite/suite_score.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "orrery/base/csv.h"
#include "orrery/base/error.h"
#include "orrery/base/index.h"
#include "orrery/suite/suite_term.h"

namespace orrery {
namespace {

namespace fs = std::filesystem;
using Key = std::pair<std::string, std::string>;  // scenario, metric

// The measured values of the predicted rows.
std::map<Key, double> measured_of(const std::vector<ToolPrediction>& predictions,
                                  const fs::path& data) {
  std::map<std::string, std::set<std::string>> wanted;
  for (const ToolPrediction& p : predictions) wanted[p.scenario].insert(p.metric);
  std::map<Key, double> found;
  std::error_code error;
  if (!fs::is_directory(data, error))
    throw InputError(fmt::format("{}: no such directory", data.string()));
  std::vector<fs::path> tables;
  for (const auto& entry : fs::directory_iterator(data)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".csv") && !name.starts_with("peer_")) tables.push_back(entry.path());
  }
  std::sort(tables.begin(), tables.end());
  for (const fs::path& table : tables) {
    CsvReader csv(table);
    const auto ref = csv.find("source_ref");
    if (!ref) continue;
    while (csv.next()) {
      const auto at = wanted.find(std::string(csv.text(*ref)));
      if (at == wanted.end()) continue;
      for (const std::string& metric : at->second) {
        const auto column = csv.find(metric);
        if (!column || csv.empty(*column)) continue;
        const double v = csv.number(*column);
        if (v > 0) found.try_emplace({at->first, metric}, v);
      }
    }
  }
  return found;
}

std::string stem_of(const SuiteQuestion::Run& run) { return fs::path(run.file).stem().string(); }

// Parses "osl=2048 batch=1" into the form of Point::at.
nlohmann::ordered_json place_of(const std::string& text) {
  nlohmann::ordered_json at = nlohmann::ordered_json::object();
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = std::min(text.find(' ', from), text.size());
    const std::string one = text.substr(from, end - from);
    const std::size_t equals = one.find('=');
    if (equals != std::string::npos) {
      auto value = nlohmann::ordered_json::parse(one.substr(equals + 1), nullptr, false);
      at[one.substr(0, equals)] =
          value.is_number() ? value : nlohmann::ordered_json(one.substr(equals + 1));
    }
    from = end + 1;
  }
  return at;
}

// Whether a point has all values of "osl=2048 batch=1".
bool is_at(const std::string& asked, const std::string& label) {
  const auto words = [](const std::string& text) {
    std::istringstream in(text);
    return std::set<std::string>(std::istream_iterator<std::string>(in), {});
  };
  const std::set<std::string> there = words(label), all = words(asked);
  return std::includes(there.begin(), there.end(), all.begin(), all.end());
}

// The questions and scenario files by name, to which predictions may belong.
class Catalogue {
 public:
  explicit Catalogue(const std::vector<Suite>& suites) {
    for (const Suite& s : suites) {
      for (const SuiteQuestion& q : s.questions) {
        questions_.emplace(q.id, &q);
        for (const SuiteQuestion::Run& run : q.runs) files_.emplace(stem_of(run), run.file);
      }
    }
  }

  struct Asked {
    const SuiteQuestion* question;
    const SuiteExpression* expression;
  };
  // The metric of a question; nothing if there is none.
  std::optional<Asked> asked(const ToolPrediction& p) const {
    const auto at = questions_.find(p.scenario);
    if (at == questions_.end()) return {};
    for (const auto& [name, expression] : at->second->metrics) {
      if (name == p.metric) return Asked{at->second, &expression};
    }
    return {};
  }
  // Empty: none.
  std::string file(const std::string& scenario) const {
    const auto at = files_.find(scenario);
    return at == files_.end() ? "" : at->second;
  }

 private:
  std::map<std::string, const SuiteQuestion*> questions_;
  std::map<std::string, std::string> files_;
};

// Answers with only the predictions of a tool, by scenario file.
class Predicted {
 public:
  Predicted(const std::vector<ToolPrediction>& predictions, const Catalogue& catalogue) {
    for (const ToolPrediction& p : predictions) {
      add(p.scenario, p.metric, p.at, p);
      const auto asked = catalogue.asked(p);
      if (!asked || asked->expression->term().op != SuiteTerm::Op::kReference) continue;
      // A question that asks for a metric of a scenario file's answer is scored under that file's
      // name too.
      const SuiteReference& r = asked->expression->term().reference;
      if (r.what != SuiteReference::What::kMetric) continue;
      const auto& runs = asked->question->runs;
      const auto run = std::find_if(runs.begin(), runs.end(), [&](const auto& one) {
        return r.run.empty() || one.name == r.run;
      });
      std::string at = p.at;
      for (const auto& [key, value] : r.points) at += (at.empty() ? "" : " ") + key + "=" + value;
      if (run != runs.end()) add(stem_of(*run), r.name, at, p);
    }
  }

  SuiteAnswers of(const SuiteQuestion& q) const {
    SuiteAnswers given;
    given.first = q.runs.front().name;
    for (const SuiteQuestion::Run& run : q.runs) {
      const auto at = answers_.find(stem_of(run));
      given.by_name[run.name] = at == answers_.end() ? nullptr : &at->second;
    }
    return given;
  }

 private:
  void add(const std::string& scenario, const std::string& metric, const std::string& at,
           const ToolPrediction& p) {
    Answer& answer = answers_[scenario];
    auto point = std::find_if(answer.points.begin(), answer.points.end(), [&](const Point& q) {
      return q.limit == at;  // kept there while the answer is gathered
    });
    if (point == answer.points.end()) {
      point = answer.points.insert(answer.points.end(), Point());
      point->limit = at;
      point->at = place_of(at);
    }
    if (point->find(metric) != nullptr) return;
    Metric m;
    m.name = metric;
    m = exact(std::move(m), p.value);
    if (p.low90 && p.high90) m.low90 = *p.low90, m.high90 = *p.high90;
    point->metrics.push_back(std::move(m));
  }

  std::map<std::string, Answer> answers_;
};

// Checks of feasibility and of notes need more than predicted values.
bool asks_more(const SuiteTerm& t) {
  using What = SuiteReference::What;
  if (t.op == SuiteTerm::Op::kReference)
    return t.reference.what == What::kFeasible || t.reference.what == What::kNotes;
  return std::any_of(t.terms.begin(), t.terms.end(), asks_more);
}

void add_checks(const SuiteQuestion& q, const SuiteAnswers& given, ToolScore& score) {
  for (const auto& [claim, check] : q.checks) {
    if (asks_more(check.term())) continue;
    try {
      const SuiteVerdict v = check.check(given);
      score.checks.push_back({q.id, claim, v.seen, v.holds});
    } catch (const NoData&) {  // names what the tool does not predict
    }
  }
}

void add_coverage(const Suite& suite, const std::vector<ToolPrediction>& predictions,
                  const Predicted& predicted, const ToolCoverage* declared, ToolScore& score) {
  std::set<Key> named;
  for (const ToolPrediction& p : predictions) named.insert({p.scenario, p.metric});
  const bool says = declared != nullptr && declared->suite == suite.id;
  for (const SuiteQuestion& q : suite.questions) {
    const SuiteAnswers given = predicted.of(q);
    ToolScore::Covered covered{suite.id, q.id, 0, q.metrics.size()};
    for (const auto& [name, expression] : q.metrics) {
      bool there = named.contains({q.id, name});
      try {
        there = there || !expression.figure(given).cells.empty();
      } catch (const NoData&) {
      }
      covered.predicted += there;
    }
    const bool full = says && std::find(declared->full.begin(), declared->full.end(), q.id) !=
                                  declared->full.end();
    if (full && !covered.full()) score.silent.push_back(q.id);
    if (says && !full && covered.full()) score.undeclared.push_back(q.id);
    if (full || covered.predicted > 0) score.covered.push_back(covered);
    add_checks(q, given, score);
  }
}

// The bounds of a predicted figure.
class PredictionBounds {
 public:
  PredictionBounds(const Catalogue& catalogue, Runner& runner)
      : catalogue_(catalogue), runs_(runner, [] {
          RunOptions options;
          options.intervals = false;
          options.breakdown = false;
          options.bounds = true;
          return options;
        }()) {}

  // Empty if no known row, question or file has the prediction's name.
  std::optional<SuiteRange> of(const ToolPrediction& p) {
    if (const auto asked = catalogue_.asked(p)) return of_question(*asked, p);
    const std::string file = catalogue_.file(p.scenario);
    std::string why;
    const Answer* answer = file.empty() ? nullptr : runs_.of(file, why);
    if (answer == nullptr) return {};
    SuiteReference::Filter filter;
    const nlohmann::ordered_json at = place_of(p.at);
    for (const auto& [key, value] : at.items())
      filter.emplace_back(key, value.is_string() ? value.get<std::string>() : value.dump());
    for (const Point& point : answer->points) {
      if (suite_point_matches(point, filter) && point.find(p.metric) != nullptr)
        return metric_bound(point, p.metric);
    }
    return {};
  }

 private:
  std::optional<SuiteRange> of_question(const Catalogue::Asked& asked, const ToolPrediction& p) {
    SuiteAnswers given;
    given.first = asked.question->runs.front().name;
    for (const SuiteQuestion::Run& run : asked.question->runs) {
      std::string why;
      given.by_name[run.name] = runs_.of(run.file, why);
    }
    std::optional<SuiteRange> range;
    for (SuiteRange& r : suite_bounds(*asked.expression, given)) {
      if (!is_at(p.at, r.at)) continue;
      if (range) return {};  // which of them?
      range = std::move(r);
    }
    if (!range) return {};
    for (const SuiteQuestion::Bound& b : asked.question->bounds) {
      if (b.metric != p.metric) continue;
      const auto end = [&](const SuiteExpression& e) {
        const auto cells = e.figure(given).cells;
        for (const SuiteCell& c : cells) {
          if (is_at(p.at, c.at)) return c.value;
        }
        return cells.front().value;
      };
      if (b.low && end(*b.low) > range->low) range->low = end(*b.low), range->low_why = b.why;
      if (b.high && end(*b.high) < range->high) range->high = end(*b.high), range->high_why = b.why;
    }
    return range;
  }

  const Catalogue& catalogue_;
  SuiteRuns runs_;
};

ToolScore::Place place_in(const SuiteRange& range, double value) {
  constexpr double kRounding = 1e-6;
  if (!range.bounded()) return ToolScore::Place::kUnbounded;
  const double slack = kRounding * std::abs(value);
  return value < range.low - slack    ? ToolScore::Place::kBelow
         : value > range.high + slack ? ToolScore::Place::kAbove
                                      : ToolScore::Place::kInside;
}

}  // namespace

std::size_t ToolScore::count(Place place) const {
  return static_cast<std::size_t>(
      std::count_if(bounded.begin(), bounded.end(), [&](auto& b) { return b.place == place; }));
}

std::string_view to_text(ToolScore::Place place) {
  constexpr std::array<std::string_view, 4> kNames = {"inside", "below", "above", "no bound"};
  return kNames[index(place)];
}

ToolScore score(const std::vector<ToolPrediction>& predictions, const fs::path& data,
                const std::vector<Suite>& suites, const ToolCoverage* declared, Runner& runner) {
  ToolScore out;
  std::map<Key, double> measured;
  if (!data.empty()) measured = measured_of(predictions, data);
  const Catalogue catalogue(suites);
  PredictionBounds bounds(catalogue, runner);
  std::map<std::string, ErrorSample> samples;
  std::map<std::string, std::size_t> inside;
  for (const ToolPrediction& p : predictions) {
    const auto at = measured.find({p.scenario, p.metric});
    if (at == measured.end()) {
      std::optional<SuiteRange> range;
      try {
        range = bounds.of(p);
      } catch (const NoData&) {  // the answer has no such figure
      }
      if (range) {
        out.bounded.push_back({p, *range, place_in(*range, p.value)});
      } else if (out.unmatched++ == 0) {
        out.first_unmatched =
            fmt::format("{} {}{}{}", p.scenario, p.metric, p.at.empty() ? "" : " at ", p.at);
      }
      continue;
    }
    const bool has = p.low90 && p.high90;
    const bool in90 = has && *p.low90 <= at->second && at->second <= *p.high90;
    samples[p.metric].add(at->second, p.value, false, in90);
    out.intervals[p.metric] += has;
    inside[p.metric] += in90;
  }
  for (const auto& [metric, sample] : samples) {
    ErrorSummary s = sample.summary();
    const std::size_t n = out.intervals[metric];
    s.coverage90 = n > 0 ? 100 * static_cast<double>(inside[metric]) / static_cast<double>(n) : 0;
    out.by_metric[metric] = s;
  }
  const Predicted predicted(predictions, catalogue);
  for (const Suite& s : suites) add_coverage(s, predictions, predicted, declared, out);
  return out;
}

nlohmann::ordered_json to_json(const ToolScore& score) {
  using Json = nlohmann::ordered_json;
  Json measured = Json::object();
  for (const auto& [metric, s] : score.by_metric) {
    Json j = {{"n", s.n}, {"mape", s.mape}, {"median", s.median}, {"p90", s.p90}, {"bias", s.bias}};
    const std::size_t intervals = score.intervals.at(metric);
    if (intervals > 0) j["intervals"] = intervals, j["coverage90"] = s.coverage90;
    measured[metric] = std::move(j);
  }
  Json bounds = Json::array();
  for (const ToolScore::Bounded& b : score.bounded) {
    Json j = {{"scenario", b.prediction.scenario}, {"metric", b.prediction.metric}};
    if (!b.prediction.at.empty()) j["at"] = b.prediction.at;
    j["value"] = b.prediction.value;
    j["place"] = std::string(to_text(b.place));
    if (std::isfinite(b.range.low)) j["low"] = b.range.low, j["low_why"] = b.range.low_why;
    if (std::isfinite(b.range.high)) j["high"] = b.range.high, j["high_why"] = b.range.high_why;
    bounds.push_back(std::move(j));
  }
  Json checks = Json::array();
  for (const ToolScore::Check& c : score.checks)
    checks.push_back(
        {{"question", c.question}, {"claim", c.claim}, {"holds", c.holds}, {"seen", c.seen}});
  Json covered = Json::array();
  for (const ToolScore::Covered& c : score.covered)
    covered.push_back({{"suite", c.suite},
                       {"question", c.question},
                       {"predicted", c.predicted},
                       {"metrics", c.metrics}});
  return {{"measured", std::move(measured)}, {"bounds", std::move(bounds)},
          {"checks", std::move(checks)},     {"unmatched", score.unmatched},
          {"coverage", std::move(covered)},  {"declared_without_figure", score.silent},
          {"not_declared", score.undeclared}};
}

}  // namespace orrery
