#include "orrery/suite/tool_predictions.h"

#include "orrery/base/csv.h"
#include "orrery/base/fields.h"
#include "orrery/base/node.h"

namespace orrery {
namespace {

namespace fs = std::filesystem;

// One figure of `orrery suite run -o json`.
void add_figure(const std::string& scenario, const std::string& metric, const Node& node,
                std::vector<ToolPrediction>& out) {
  ToolPrediction p;
  p.scenario = scenario, p.metric = metric;
  p.value = node.at("value").as_double();
  if (const Node* at = node.find("at")) p.at = at->as_string();
  if (const Node* interval = node.find("interval90")) {
    if (!interval->is_list() || interval->items().size() != 2)
      interval->fail("expected the two ends of an interval");
    p.low90 = interval->items()[0].as_double(), p.high90 = interval->items()[1].as_double();
  }
  out.push_back(std::move(p));
}

std::vector<ToolPrediction> read_suite_run(const Node& scenarios) {
  if (!scenarios.is_list()) scenarios.fail("expected a list of questions");
  std::vector<ToolPrediction> out;
  for (const Node& question : scenarios.items()) {
    const std::string id = question.at("id").as_string();
    const Node& metrics = question.at("metrics");
    if (!metrics.is_map()) metrics.fail("expected a map of metrics");
    for (std::size_t i = 0; i < metrics.keys().size(); ++i) {
      const Node& figure = metrics.items()[i];
      if (const Node* values = figure.find("values")) {
        if (!values->is_list()) values->fail("expected a list");
        for (const Node& one : values->items()) add_figure(id, metrics.keys()[i], one, out);
      } else if (figure.find("value") != nullptr) {
        add_figure(id, metrics.keys()[i], figure, out);
      }
    }
  }
  return out;
}

std::vector<ToolPrediction> read_json_predictions(const fs::path& file) {
  const Node document = read_document(file);
  if (document.is_map()) return read_suite_run(document.at("scenarios"));
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

std::vector<ToolPrediction> read_csv_predictions(const fs::path& file) {
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

}  // namespace

std::vector<ToolPrediction> read_predictions(const fs::path& file) {
  return file.extension() == ".json" ? read_json_predictions(file) : read_csv_predictions(file);
}

}  // namespace orrery
