#include "orrery/suite/suite_coverage.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "orrery/base/error.h"
#include "orrery/base/fields.h"

namespace orrery {
namespace {

bool has(const std::vector<std::string>& ids, const std::string& id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

const char* mark(const ToolCoverage& tool, const std::string& id) {
  return has(tool.full, id) ? "full" : has(tool.partial, id) ? "partial" : "";
}

}  // namespace

ToolCoverage read_coverage(const Node& document, const Suite& suite) {
  ToolCoverage c;
  ToolCoverage::Published published;
  Fields f;
  f.add("tool", c.tool, "its name").required();
  f.add("suite", c.suite, "the suite").required();
  f.add("source", c.source, "where that is from").required();
  f.group(
      "published",
      [&](Fields& g) {
        g.add("full", published.full, "questions").range(0, 1000);
        g.add("partial", published.partial, "questions").range(0, 1000);
      },
      "counts of a published table");
  f.add("full", c.full, "questions all of whose metrics are direct outputs");
  f.add("partial", c.partial, "questions some of whose metrics are");
  f.read(document);
  if (document.find("published") != nullptr) c.published = published;
  std::vector<std::string> known, seen;
  for (const SuiteQuestion& q : suite.questions) known.push_back(q.id);
  for (const auto* ids : {&c.full, &c.partial}) {
    const Node* at = document.find(ids == &c.full ? "full" : "partial");
    for (const std::string& id : *ids) {
      if (!has(known, id))
        at->fail(fmt::format("{} has no question '{}'{}", suite.id, id, did_you_mean(id, known)));
      if (has(seen, id)) at->fail(fmt::format("'{}' is named twice", id));
      seen.push_back(id);
    }
  }
  return c;
}

std::vector<ToolCoverage> bundled_coverage(const Suite& suite, const Bundle& bundle) {
  std::vector<ToolCoverage> out;
  for (const std::string& path : bundle.list("scenarios/suites/tools", ".yaml")) {
    const auto file = bundle.find(path);
    const Node document = parse_yaml(file->content, file->name);
    if (document.at("suite").as_string() == suite.id) out.push_back(read_coverage(document, suite));
  }
  return out;
}

ToolCoverage own_coverage(const Suite& suite, const std::vector<SuiteOutcome>& outcomes) {
  ToolCoverage c;
  c.tool = "orrery", c.suite = suite.id, c.source = "answered just now";
  for (const SuiteOutcome& o : outcomes) {
    if (o.suite != suite.id) continue;
    const auto answered = std::count_if(o.metrics.begin(), o.metrics.end(),
                                        [](const auto& m) { return m.figure.has_value(); });
    if (static_cast<std::size_t>(answered) == o.metrics.size()) {
      c.full.push_back(o.id);
    } else if (answered > 0) {
      c.partial.push_back(o.id);
    }
  }
  return c;
}

std::string coverage_markdown(const Suite& suite, const std::vector<ToolCoverage>& tools) {
  std::string out = "| question |", rule = "|---|";
  for (const ToolCoverage& t : tools) out += fmt::format(" {} |", t.tool), rule += "---|";
  out += "\n" + rule + "\n";
  for (const SuiteQuestion& q : suite.questions) {
    out += fmt::format("| {} |", q.id);
    for (const ToolCoverage& t : tools) out += fmt::format(" {} |", mark(t, q.id));
    out += "\n";
  }
  out += fmt::format("| full of {} |", suite.questions.size());
  for (const ToolCoverage& t : tools) out += fmt::format(" {} |", t.full.size());
  out += "\n| partial |";
  for (const ToolCoverage& t : tools) out += fmt::format(" {} |", t.partial.size());
  out += "\n| published: full, partial |";
  for (const ToolCoverage& t : tools)
    out += t.published ? fmt::format(" {}, {} |", t.published->full, t.published->partial) : "  |";
  return out + "\n";
}

nlohmann::ordered_json coverage_json(const Suite& suite, const std::vector<ToolCoverage>& tools) {
  nlohmann::ordered_json out = {{"suite", suite.id},
                                {"questions", suite.questions.size()},
                                {"tools", nlohmann::ordered_json::array()}};
  for (const ToolCoverage& t : tools) {
    nlohmann::ordered_json j = {
        {"tool", t.tool}, {"full", t.full}, {"partial", t.partial}, {"source", t.source}};
    if (t.published)
      j["published"] = {{"full", t.published->full}, {"partial", t.published->partial}};
    out["tools"].push_back(std::move(j));
  }
  return out;
}

}  // namespace orrery
