#include "orrery/validate/choices/published_cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "orrery/base/error.h"
#include "orrery/base/fields.h"
#include "orrery/kinds/all_kinds.h"
#include "orrery/scenario/answer/prospect.h"
#include "orrery/scenario/document/scenario_sweep.h"
#include "orrery/scenario/runner/runner.h"

namespace orrery {
namespace {

constexpr const char* kFile = "validation/planner-cases.yaml";
constexpr const char* kTraining = "training";

const Node& cases_of(const Node& document) { return document.at("cases"); }

PublishedCase read_case(const Node& node) {
  PublishedCase out;
  for (std::size_t i = 0; i < node.keys().size(); ++i) {
    const std::string& key = node.keys()[i];
    const Node& value = node.items()[i];
    if (key == "id") {
      out.id = value.as_string();
    } else if (key == "without") {
      out.without = value.as_string();
    } else if (key == "expert") {
      for (std::size_t k = 0; k < value.keys().size(); ++k)
        out.expert[value.keys()[k]] = value.items()[k].text();
    } else if (key != "scenario") {
      value.fail("expected id, without, scenario or expert");
    }
  }
  node.at("scenario");
  if (out.id.empty() || out.expert.empty()) node.fail("a case needs an id and an expert's layout");
  return out;
}

// The value of a swept key as the table of cases writes it.
std::string text_of(const nlohmann::ordered_json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

bool is_experts(const Point& point, const PublishedCase& question) {
  return std::all_of(question.expert.begin(), question.expert.end(), [&](const auto& entry) {
    const auto at = point.at.find(entry.first);
    // A point does not state a size that is 1 by default.
    return entry.second == (at == point.at.end() ? "1" : text_of(*at));
  });
}

double gpus_of(const Point& point) {
  double gpus = 1;
  for (const char* key : {"tp", "pp", "dp"})
    if (const auto at = point.at.find(key); at != point.at.end()) gpus *= at->get<double>();
  return gpus;
}

// The expected score, as the planner ranks plans.
double score_of(const Point& point) {
  if (const Metric* training = point.find("throughput_per_gpu")) {
    const Metric* fits = point.find("fits");
    return 1 / per_chance(1 / training->value, fits == nullptr ? 1 : fits->value / 100);
  }
  if (const Metric* serving = point.find("output_throughput"))
    return serving->value / gpus_of(point);
  throw NoData("the answer has no throughput");
}

Node document_of(const Bundle& bundle) {
  const auto file = bundle.find(kFile);
  if (!file) throw InputError(fmt::format("catalog/{}: the file is absent", kFile));
  return parse_yaml(file->content, file->name);
}

}  // namespace

std::vector<PublishedCase> read_published_cases(const Bundle& bundle) {
  std::vector<PublishedCase> out;
  const Node document = document_of(bundle);
  for (const Node& node : cases_of(document).items()) out.push_back(read_case(node));
  return out;
}

PublishedAnswer answer_of(const PublishedCase& question, const Bundle& bundle) {
  const Node document = document_of(bundle);
  const Node* scenario = nullptr;
  for (const Node& node : cases_of(document).items())
    if (node.at("id").text() == question.id) scenario = &node.at("scenario");
  if (!scenario) throw InputError(fmt::format("{}: no case {}", kFile, question.id));
  const std::vector<Node> one = {*scenario};
  Runner runner(bundle);
  RunOptions options;
  options.breakdown = options.intervals = false;
  PublishedAnswer out;
  bool listed = false;
  for (const Node& part : scenario->is_list() ? scenario->items() : one) {
    for (const Point& point : runner.run(read_scenario(all_kinds(), part), options).points) {
      const bool experts = is_experts(point, question);
      listed |= experts;
      if (!point.feasibility.fits) continue;
      ++out.layouts;
      const double score = score_of(point);
      if (experts) out.expert = std::max(out.expert, score);
      if (score > out.best) out.best = score, out.layout = point.at.dump();
    }
  }
  if (!listed)
    throw InputError(
        fmt::format("{}: case {}: the expert's layout is not in the scenario", kFile, question.id));
  if (out.layouts == 0) throw Infeasible(fmt::format("case {}: no layout fits", question.id));
  return out;
}

Bundle with_training_constants(const Bundle& bundle, std::string constants) {
  std::map<std::string, std::string> files;
  for (const std::string& path : bundle.list(kTraining, ".yaml"))
    files[path] = bundle.find(path)->content;
  files["training/constants.yaml"] = std::move(constants);
  return bundle.replacing(kTraining, std::move(files));
}

}  // namespace orrery
