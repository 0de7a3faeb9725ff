#include "orrery/suite/suite.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "orrery/base/error.h"
#include "orrery/base/fields.h"
#include "orrery/kinds/all_kinds.h"
#include "orrery/scenario/document/scenario_file.h"
#include "orrery/suite/suite_bounds.h"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;
using Status = SuiteOutcome::Status;
namespace fs = std::filesystem;

constexpr const char* kFolder = "scenarios/suites";

// The bundled file if the path is in the bundle, a file of the disk otherwise.
Node open_document(const std::string& path, const Bundle& bundle) {
  if (const auto file = bundle.find(path)) return parse_yaml(file->content, file->name);
  return read_document(path);
}

void add_expressions(Fields& f, const char* name,
                     std::vector<std::pair<std::string, SuiteExpression>>& to,
                     const std::vector<std::string>& runs, bool conditions, const char* doc) {
  f.custom(
      name, Field::Type::kGroup,
      [&to, &runs, conditions](const Node& n) {
        if (!n.is_map()) n.fail("expected a map of names and expressions");
        for (std::size_t i = 0; i < n.keys().size(); ++i) {
          SuiteExpression e = SuiteExpression::parse(n.items()[i], runs);
          if (conditions && !e.is_condition())
            n.items()[i].fail("a check must be a condition, such as a comparison");
          if (!conditions && e.is_condition())
            n.items()[i].fail("a metric must be a number, not a condition");
          to.emplace_back(n.keys()[i], std::move(e));
        }
      },
      [] { return Json::object(); }, doc);
}

SuiteQuestion::Bound read_bound(const std::string& metric, const Node& node,
                                const std::vector<std::string>& runs) {
  SuiteQuestion::Bound bound{metric, {}, {}, {}};
  const auto end = [&runs](std::optional<SuiteExpression>& to) {
    return [&runs, &to](const Node& n) {
      to = SuiteExpression::parse(n, runs);
      if (to->is_condition() || !only_counts(to->term()))
        n.fail("a bound is made of numbers, at, memory and counts, not of what is predicted");
    };
  };
  const auto none = [] { return Json(nullptr); };
  Fields f;
  f.custom("low", Field::Type::kText, end(bound.low), none, "at least");
  f.custom("high", Field::Type::kText, end(bound.high), none, "at most");
  f.add("why", bound.why, "in words").required();
  f.read(node);
  return bound;
}

std::vector<SuiteQuestion::Run> read_runs(const Node& question) {
  std::vector<SuiteQuestion::Run> runs;
  if (const Node* run = question.find("run")) runs.push_back({"it", run->as_string()});
  if (const Node* named = question.find("runs")) {
    if (!runs.empty()) named->fail("expected run or runs, got both");
    if (!named->is_map()) named->fail("expected names and scenario files, as in {short: T1.1}");
    for (std::size_t i = 0; i < named->keys().size(); ++i)
      runs.push_back({named->keys()[i], named->items()[i].as_string()});
  }
  if (runs.empty()) question.fail("'run' or 'runs' is missing");
  return runs;
}

SuiteQuestion read_question(const Node& node, const std::string& folder) {
  SuiteQuestion q;
  if (!node.is_map()) node.fail("expected a question");
  q.runs = read_runs(node);
  std::vector<std::string> names;
  for (SuiteQuestion::Run& run : q.runs) {
    names.push_back(run.name);
    run.file = (fs::path(folder) / (run.file + ".yaml")).lexically_normal().string();
  }
  Fields f;
  f.add("id", q.id, "name").required();
  f.add("question", q.question, "in a sentence").required();
  f.add("informs", q.informs, "the decision that the answer informs");
  f.add("erratum", q.erratum, "where a figure that is often quoted is wrong");
  f.add("note", q.note, "anything else");
  for (const char* key : {"run", "runs"})  // read above
    f.custom(key, Field::Type::kText, [](const Node&) {}, [] { return Json(nullptr); }, "runs");
  add_expressions(f, "metrics", q.metrics, names, false, "what is asked");
  add_expressions(f, "checks", q.checks, names, true, "what must hold");
  f.custom(
      "bounds", Field::Type::kGroup,
      [&](const Node& n) {
        if (!n.is_map()) n.fail("expected a map of metrics and bounds");
        for (std::size_t i = 0; i < n.keys().size(); ++i)
          q.bounds.push_back(read_bound(n.keys()[i], n.items()[i], names));
      },
      [] { return Json::object(); }, "what physics lets metrics be");
  f.read(node);
  if (q.metrics.empty()) node.fail("'metrics' is missing: a question asks for something");
  for (const SuiteQuestion::Bound& b : q.bounds) {
    if (std::none_of(q.metrics.begin(), q.metrics.end(),
                     [&](const auto& m) { return m.first == b.metric; }))
      node.fail(fmt::format("bounds: no metric is called '{}'", b.metric));
  }
  return q;
}

SuiteOutcome outcome_of(const Suite& suite, const SuiteQuestion& q, SuiteRuns& answers) {
  SuiteOutcome out;
  out.suite = suite.id, out.id = q.id;
  SuiteAnswers given;
  given.first = q.runs.front().name;
  std::string refused;
  for (const SuiteQuestion::Run& run : q.runs) {
    std::string why;
    given.by_name[run.name] = answers.of(run.file, why);
    if (!why.empty()) refused += (refused.empty() ? "" : "; ") + run.name + ": " + why;
  }
  const auto reason = [&](const NoData& e) {
    return refused.empty() ? std::string(e.what()) : refused;
  };
  for (const auto& [name, expression] : q.metrics) {
    SuiteOutcome::MetricResult m{name, {}, {}};
    try {
      m.figure = expression.figure(given);
    } catch (const NoData& e) {
      m.why = reason(e);
      out.status = Status::kUnanswered;
    }
    out.metrics.push_back(std::move(m));
  }
  for (const auto& [claim, expression] : q.checks) {
    SuiteOutcome::CheckResult c{claim, expression.text(), Status::kPass, {}};
    try {
      const SuiteVerdict v = expression.check(given);
      c.seen = v.seen;
      if (!v.holds) c.status = Status::kFail;
    } catch (const NoData& e) {
      c.status = Status::kUnanswered;
      c.seen = reason(e);
    }
    if (c.status == Status::kUnanswered) out.status = Status::kUnanswered;
    if (c.status == Status::kFail && out.status == Status::kPass) out.status = Status::kFail;
    out.checks.push_back(std::move(c));
  }
  return out;
}

Json to_json(const SuiteOutcome::MetricResult& m) {
  if (!m.figure) return {{"why", m.why}};
  Json values = Json::array();
  for (const SuiteCell& c : m.figure->cells) {
    Json j = Json::object();
    if (!c.at.empty()) j["at"] = c.at;
    j["value"] = c.value;
    if (c.low90 < c.high90) j["interval90"] = {c.low90, c.high90};
    values.push_back(std::move(j));
  }
  Json out = {{"unit", m.figure->unit}};
  if (values.size() == 1) {
    out.update(values[0]);
  } else {
    out["values"] = std::move(values);
  }
  out["tier"] = std::string(to_text(m.figure->origin));
  out["direct"] = m.figure->direct;
  return out;
}

}  // namespace

const Answer* SuiteRuns::of(const std::string& file, std::string& why) {
  auto it = answers_.find(file);
  if (it == answers_.end()) it = answers_.emplace(file, answer(file)).first;
  if (!it->second.second.empty()) why = it->second.second;
  return it->second.second.empty() ? &it->second.first : nullptr;
}

std::pair<Answer, std::string> SuiteRuns::answer(const std::string& file) {
  try {
    const Bundle& bundle = runner_.bundle();
    const auto open = [&bundle](const std::string& path) { return open_document(path, bundle); };
    const ScenarioSweep s = named(read_scenario(all_kinds(), with_includes(open(file), file, open)),
                                  fs::path(file).stem().string());
    return {runner_.run(s, options_), ""};
  } catch (const InputError& e) {
    return {{}, e.what()};
  } catch (const Infeasible& e) {
    return {{}, fmt::format("infeasible: {}", e.what())};
  } catch (const NoData& e) {
    return {{}, fmt::format("no data: {}", e.what())};
  }
}

std::string_view to_text(Status status) {
  return status == Status::kPass ? "pass" : status == Status::kFail ? "fail" : "unanswered";
}

std::vector<std::string> suite_names(const Bundle& bundle) {
  std::vector<std::string> names;
  for (const std::string& path : bundle.list(kFolder, ".yaml")) {
    if (fs::path(path).parent_path() == kFolder) names.push_back(fs::path(path).stem().string());
  }
  return names;
}

Suite read_suite(const std::string& name, const Bundle& bundle) {
  std::string path = fmt::format("{}/{}.yaml", kFolder, name);
  const bool bundled = bundle.find(path).has_value();
  if (!bundled) path = name;
  if (!bundled && !name.ends_with(".yaml") && !name.ends_with(".yml")) {
    const std::vector<std::string> known = suite_names(bundle);
    std::string list;
    for (const std::string& n : known) list += (list.empty() ? "" : ", ") + n;
    throw InputError(fmt::format("no suite '{}'{}; there are {}, or the path of a YAML file", name,
                                 did_you_mean(name, known), list));
  }
  const Node document = open_document(path, bundle);
  Suite suite;
  std::string folder = ".";
  Fields f;
  f.add("suite", suite.id, "name of the suite").required();
  f.add("title", suite.title, "in a line");
  f.add("folder", folder, "where the runs' scenario files stand, from this file's folder");
  f.custom(
      "questions", Field::Type::kList, [](const Node&) {}, [] { return Json::array(); },
      "the questions");
  f.read(document);
  const Node& questions = document.at("questions");
  if (!questions.is_list()) questions.fail("expected a list of questions");
  const std::string at = (fs::path(path).parent_path() / folder).lexically_normal().string();
  std::set<std::string> ids;
  for (const Node& node : questions.items()) {
    suite.questions.push_back(read_question(node, at));
    if (!ids.insert(suite.questions.back().id).second)
      node.fail(fmt::format("a second question '{}'", suite.questions.back().id));
  }
  return suite;
}

bool SuiteOptions::asks(const std::string& id) const {
  return only.empty() || std::any_of(only.begin(), only.end(), [&](const std::string& begin) {
           return id.starts_with(begin);
         });
}

std::vector<SuiteOutcome> run_suite(const Suite& suite, Runner& runner, const SuiteOptions& options,
                                    const std::function<double()>& clock) {
  RunOptions run;
  run.intervals = options.intervals;
  SuiteRuns answers(runner, run);
  std::vector<SuiteOutcome> out;
  for (const SuiteQuestion& q : suite.questions) {
    if (!options.asks(q.id)) continue;
    const double start = clock();
    out.push_back(outcome_of(suite, q, answers));
    out.back().seconds = clock() - start;
    finish_parts(options.meter);
  }
  return out;
}

Json to_json(const std::vector<SuiteOutcome>& outcomes) {
  Json scenarios = Json::array();
  for (const SuiteOutcome& o : outcomes) {
    Json metrics = Json::object(), checks = Json::array();
    for (const auto& m : o.metrics) metrics[m.name] = to_json(m);
    for (const auto& c : o.checks) {
      checks.push_back({{"claim", c.claim},
                        {"expression", c.expression},
                        {"status", std::string(to_text(c.status))},
                        {"seen", c.seen}});
    }
    scenarios.push_back({{"id", o.id},
                         {"suite", o.suite},
                         {"status", std::string(to_text(o.status))},
                         {"metrics", std::move(metrics)},
                         {"checks", std::move(checks)},
                         {"seconds", std::round(o.seconds * 1e4) / 1e4}});
  }
  return {{"scenarios", std::move(scenarios)}};
}

}  // namespace orrery
