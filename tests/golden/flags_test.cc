// Every scenario of the suites, asked by flags alone, has the identical answer.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "orrery/scenario/document/scenario_file.h"
#include "tests/golden/program.h"

namespace orrery::golden {
namespace flags_test {

const std::set<std::string> kPrefixed = {"slo",       "speculation", "lora",
                                         "kv",        "neighbour",   "disaggregation",
                                         "autoscale", "failures",    "chance"};

std::string dashed(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

std::string value_of(const Node& node) {
  if (!node.is_list()) return node.text();
  std::string out;
  for (const Node& item : node.items()) out += (out.empty() ? "" : ",") + item.text();
  return out;
}

// " --flag 'value'" for every leaf below `group`.
std::string flags_of(const Node& map, const std::string& group) {
  std::string out;
  for (std::size_t i = 0; i < map.keys().size(); ++i) {
    const std::string& key = map.keys()[i];
    const Node& value = map.items()[i];
    if (group.empty() && (key == "name" || key == "question")) continue;
    const std::string path = group.empty() ? key : group + "." + key;
    if (value.is_map()) {
      out += flags_of(value, path);
      continue;
    }
    const std::string text = value_of(value), top = path.substr(0, path.find('.'));
    if (path.starts_with("engine.overrides.") || top == "sweep") {
      out += " --set '" + path + "=" + text + "'";
      continue;
    }
    if (path == "collective.kind") continue;  // the word after the verb
    std::string flag = dashed(key);
    if (path == "engine.profile") flag = "engine";
    if (path == "engine.setup") flag = "engine-setup";
    if (kPrefixed.contains(top)) flag = top + "-" + flag;
    if (text == "true" || text == "false") {
      out += (text == "true" ? " --" : " --no-") + flag;
    } else {
      out += " --" + flag + " '" + text + "'";
    }
  }
  return out;
}

std::string command_of(const Node& document) {
  if (const Node* c = document.find("collective"))
    return "network " + c->at("kind").text() + flags_of(document, "");
  const char* verb = document.find("training") ? "train"
                     : document.find("load")   ? "simulate"
                                               : "estimate";
  return verb + flags_of(document, "");
}

nlohmann::json answer_of(const std::string& command) {
  const Result r = run_program(command + " -o json");
  auto answer = nlohmann::json::parse(r.out, nullptr, false);
  if (!answer.is_object()) return r.err;
  answer.erase("scenario");
  answer["configuration"].erase("name");
  answer["configuration"].erase("question");
  return answer;
}

class ByFlags : public testing::TestWithParam<const char*> {};

TEST_P(ByFlags, TheAnswerIsIdentical) {
  const std::filesystem::path folder =
      std::filesystem::path(ORRERY_SOURCE_DIR "/scenarios") / GetParam();
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string command = command_of(read_scenario_document(entry.path()));
    const nlohmann::json by_file = answer_of("run " + entry.path().string());
    EXPECT_TRUE(by_file.is_object()) << entry.path() << by_file;
    EXPECT_EQ(answer_of(command), by_file) << command;
    ++files;
  }
  EXPECT_GT(files, 28u);
}

// The highest rate of a small service under `--slo LIMITS`.
double max_rate(const std::string& limits) {
  const nlohmann::json a = answer_of(
      "simulate -m llama-3-8b -g l40s --isl 'lognormal(800, 1)' --requests 200 --no-intervals "
      "--find-max-rate --slo " +
      limits);
  EXPECT_TRUE(a.is_object()) << a;
  return a.is_object() ? a.at("points").at(0).at("metrics").at("max_rate").at("value").get<double>()
                       : -1;
}

TEST(Slo, LimitsInOneFlagWithTheirPercentiles) {
  const std::string ask = "simulate -m llama-3-8b -g l40s --requests 50 ";
  const nlohmann::json one = answer_of(ask + "--slo ttft:p90:500ms,tpot:50ms");
  EXPECT_TRUE(one.is_object()) << one;
  EXPECT_EQ(one, answer_of(ask + "--slo-ttft 500ms --slo-ttft-percentile 90 --slo-tpot 50ms"));
  const double p99 = max_rate("ttft:p99:500ms,tpot:p50:1s"),
               p50 = max_rate("ttft:p50:500ms,tpot:p99:1s");
  EXPECT_GT(p99, 0);
  EXPECT_GT(p50, 1.05 * p99);
}

INSTANTIATE_TEST_SUITE_P(Suites, ByFlags, testing::Values("suite45", "suite28"));

}  // namespace flags_test
}  // namespace orrery::golden
