#include "orrery/validate/judge/peers.h"

#include <fmt/format.h>

#include <cctype>
#include <map>
#include <optional>

#include "orrery/base/csv.h"

namespace orrery {
namespace {

// The text in lower case, without characters other than letters and digits.
std::string bare(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return out;
}

// "serving_steady:57 REFERENCE" -> "REFERENCE".
std::string reference_of(const std::string& row) {
  const std::size_t blank = row.find(' ');
  return blank == std::string::npos ? std::string() : row.substr(blank + 1);
}

void add_aiconfigurator(const std::filesystem::path& file, std::vector<ValidationRow>& rows) {
  if (!std::filesystem::exists(file)) return;
  std::map<std::string, std::pair<std::optional<double>, std::optional<double>>> predictions;
  CsvReader csv(file);
  const int reference = csv.column("source_ref"), ttft = csv.column("pred_ttft_ms"),
            tpot = csv.column("pred_tpot_ms");
  while (csv.next())
    predictions[std::string(csv.text(reference))] = {csv.optional_number(ttft),
                                                     csv.optional_number(tpot)};
  for (ValidationRow& r : rows) {
    if (r.by.at("table") != "serving_steady") continue;
    const auto found = predictions.find(reference_of(r.row));
    if (found == predictions.end()) continue;
    const std::string& metric = r.by.at("metric");
    const auto& value = metric == "ttft" ? found->second.first : found->second.second;
    if (value && *value > 0 && (metric == "ttft" || metric == "tpot"))
      r.peers["AIConfigurator"] = *value;
  }
}

// "Llama-3.1-8B on RTX4090, vLLM 0.19, ..." and "rtx4090_llama-3.1-8b"
bool is_of_run(const std::string& scenario, const std::string& run) {
  const std::size_t on = scenario.find(" on "), comma = scenario.find(',');
  if (on == std::string::npos || comma == std::string::npos || comma < on) return false;
  const std::string name = bare(run);
  return name.find(bare(scenario.substr(0, on))) != std::string::npos &&
         name.find(bare(scenario.substr(on + 4, comma - on - 4))) != std::string::npos;
}

void add_simulators(const std::filesystem::path& file, std::vector<ValidationRow>& rows) {
  if (!std::filesystem::exists(file)) return;
  CsvReader csv(file);
  const int tool = csv.column("tool"), scenario = csv.column("scenario"),
            metric = csv.column("metric"), predicted = csv.column("predicted");
  while (csv.next()) {
    std::string figure(csv.text(metric));
    for (char& c : figure) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (figure.starts_with("latency")) figure = "e2e" + figure.substr(7);
    for (ValidationRow& r : rows) {
      if (r.by.at("metric") == figure &&
          is_of_run(std::string(csv.text(scenario)), r.by.at("table")))
        r.peers[std::string(csv.text(tool))] = csv.number(predicted);
    }
  }
}

}  // namespace

void add_inference_peers(const std::filesystem::path& dir, std::vector<ValidationRow>& rows) {
  add_aiconfigurator(dir / "peer_predictions_aiconfigurator.csv", rows);
  add_simulators(dir / "peer_errors.csv", rows);
}

void add_neusight_peers(const std::filesystem::path& dir, std::vector<ValidationRow>& rows) {
  const std::filesystem::path file = dir / "neusight_labels.csv";
  constexpr std::pair<const char*, const char*> kColumns[] = {
      {"roofline_ms", "roofline"}, {"habitat_ms", "Habitat"}, {"micro_ms", "Li et al."}};
  std::map<std::string, std::map<std::string, double>> by_line;
  CsvReader csv(file);
  while (csv.next()) {
    auto& peers = by_line[fmt::format("neusight_labels.csv:{}", csv.line())];
    for (const auto& [column, who] : kColumns) {
      const auto at = csv.find(column);
      if (const auto v = at ? csv.optional_number(*at) : std::nullopt; v && *v > 0) peers[who] = *v;
    }
  }
  for (ValidationRow& r : rows) {
    if (r.by.at("predictor") != "orrery") continue;
    const auto found = by_line.find(r.row.substr(0, r.row.find(' ')));
    if (found != by_line.end()) r.peers = found->second;
  }
}

}  // namespace orrery
