#include "orrery/validate/suite_score.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "orrery/base/csv.h"
#include "orrery/base/error.h"
#include "orrery/base/fields.h"

namespace orrery {
namespace {

namespace fs = std::filesystem;
using Key = std::pair<std::string, std::string>;  // scenario, metric

std::vector<ToolPrediction> read_json(const fs::path& file) {
  const Node document = read_document(file);
  if (!document.is_list()) document.fail("expected a list of predictions");
  std::vector<ToolPrediction> out;
  for (const Node& item : document.items()) {
    ToolPrediction p;
    Fields f;
    f.add("scenario", p.scenario, "of what").required();
    f.add("metric", p.metric, "which figure").required();
    f.add("at", p.at, "point of a sweep");
    f.add("value", p.value, "the prediction").required();
    f.add("low90", p.low90, "begin of its 90 % interval");
    f.add("high90", p.high90, "end of it");
    f.read(item);
    out.push_back(std::move(p));
  }
  return out;
}

std::vector<ToolPrediction> read_csv(const fs::path& file) {
  CsvReader csv(file);
  const int scenario = csv.column("scenario"), metric = csv.column("metric");
  const int value = csv.column("value");
  const auto at = csv.find("at"), low = csv.find("low90"), high = csv.find("high90");
  std::vector<ToolPrediction> out;
  while (csv.next()) {
    ToolPrediction p;
    p.scenario = csv.text(scenario), p.metric = csv.text(metric);
    if (at) p.at = csv.text(*at);
    p.value = csv.number(value);
    if (low) p.low90 = csv.optional_number(*low);
    if (high) p.high90 = csv.optional_number(*high);
    out.push_back(std::move(p));
  }
  return out;
}

// The measured values of what was predicted.
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

// Answers that hold what a tool predicts of the scenario files of a suite, and nothing else.
std::map<std::string, Answer> answers_of(const std::vector<ToolPrediction>& predictions) {
  std::map<std::string, Answer> out;
  for (const ToolPrediction& p : predictions) {
    Answer& answer = out[p.scenario];
    auto point = std::find_if(answer.points.begin(), answer.points.end(), [&](const Point& q) {
      return q.limit == p.at;  // kept there while the answer is gathered
    });
    if (point == answer.points.end()) {
      point = answer.points.insert(answer.points.end(), Point());
      point->limit = p.at;
      point->at = nlohmann::ordered_json::object();
      for (std::size_t from = 0; from < p.at.size();) {
        const std::size_t end = std::min(p.at.find(' ', from), p.at.size());
        const std::string one = p.at.substr(from, end - from);
        const std::size_t equals = one.find('=');
        if (equals != std::string::npos) {
          auto value = nlohmann::ordered_json::parse(one.substr(equals + 1), nullptr, false);
          point->at[one.substr(0, equals)] =
              value.is_number() ? value : nlohmann::ordered_json(one.substr(equals + 1));
        }
        from = end + 1;
      }
    }
    Metric m = exact_metric(p.metric, "", p.value);
    if (p.low90 && p.high90) m.low90 = *p.low90, m.high90 = *p.high90;
    point->metrics.push_back(std::move(m));
  }
  return out;
}

void add_bounds(const Suite& suite, const std::map<std::string, Answer>& answers,
                ToolScore& score) {
  for (const SuiteQuestion& q : suite.questions) {
    SuiteAnswers given;
    given.first = q.runs.front().name;
    bool any = false;
    for (const SuiteQuestion::Run& run : q.runs) {
      const auto at = answers.find(fs::path(run.file).stem().string());
      given.by_name[run.name] = at == answers.end() ? nullptr : &at->second;
      any |= at != answers.end();
    }
    if (!any) continue;
    for (const auto& [claim, check] : q.checks) {
      try {
        const SuiteVerdict v = check.check(given);
        score.bounds.push_back({q.id, claim, v.seen, v.holds});
      } catch (const NoData&) {  // names what the tool does not predict
      }
    }
  }
}

}  // namespace

std::vector<ToolPrediction> read_predictions(const fs::path& file) {
  return file.extension() == ".json" ? read_json(file) : read_csv(file);
}

ToolScore score(const std::vector<ToolPrediction>& predictions, const fs::path& data,
                const std::vector<Suite>& suites, const ToolCoverage* declared) {
  ToolScore out;
  std::map<Key, double> measured;
  if (!data.empty()) measured = measured_of(predictions, data);
  std::set<std::string> known;
  for (const Suite& s : suites) {
    for (const SuiteQuestion& q : s.questions) {
      for (const SuiteQuestion::Run& run : q.runs) known.insert(fs::path(run.file).stem().string());
    }
  }
  std::map<std::string, ErrorSample> samples;
  std::map<std::string, std::size_t> inside;
  for (const ToolPrediction& p : predictions) {
    const auto at = measured.find({p.scenario, p.metric});
    if (at == measured.end()) {
      if (known.contains(p.scenario)) continue;
      if (out.unmatched++ == 0) out.first_unmatched = p.scenario + " " + p.metric;
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
  const std::map<std::string, Answer> answers = answers_of(predictions);
  for (const Suite& s : suites) add_bounds(s, answers, out);
  if (declared == nullptr) return out;
  for (const Suite& s : suites) {
    if (s.id != declared->suite) continue;
    for (const SuiteQuestion& q : s.questions) {
      const bool full =
          std::find(declared->full.begin(), declared->full.end(), q.id) != declared->full.end();
      const bool spoken = std::any_of(q.runs.begin(), q.runs.end(), [&](const auto& run) {
        return answers.contains(fs::path(run.file).stem().string());
      });
      if (full && !spoken) out.silent.push_back(q.id);
    }
  }
  return out;
}

nlohmann::ordered_json to_json(const ToolScore& score) {
  nlohmann::ordered_json measured = nlohmann::ordered_json::object();
  for (const auto& [metric, s] : score.by_metric) {
    nlohmann::ordered_json j = {
        {"n", s.n}, {"mape", s.mape}, {"median", s.median}, {"p90", s.p90}, {"bias", s.bias}};
    const std::size_t intervals = score.intervals.at(metric);
    if (intervals > 0) j["intervals"] = intervals, j["coverage90"] = s.coverage90;
    measured[metric] = std::move(j);
  }
  nlohmann::ordered_json bounds = nlohmann::ordered_json::array();
  for (const ToolScore::Bound& b : score.bounds)
    bounds.push_back(
        {{"question", b.question}, {"claim", b.claim}, {"holds", b.holds}, {"seen", b.seen}});
  return {{"measured", std::move(measured)},
          {"bounds", std::move(bounds)},
          {"unmatched", score.unmatched},
          {"declared_without_figure", score.silent}};
}

}  // namespace orrery
