// Includes, sweeps of any key, the check without a run, the difference of two answers, the schema.
#include "orrery/scenario/document/scenario_file.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "orrery/base/error.h"
#include "orrery/kinds/all_kinds.h"
#include "orrery/scenario/answer/answer_diff.h"
#include "orrery/scenario/document/scenario_schema.h"
#include "orrery/scenario/kinds/collective/collective_question.h"
#include "orrery/scenario/kinds/service/service_question.h"
#include "orrery/scenario/kinds/training/training_question.h"
#include "orrery/scenario/runner/runner.h"
#include "orrery/scenario/runner/scenario_check.h"
#include "tests/refusal.h"

namespace orrery {
namespace scenario_file_test {

using testing::ElementsAre;
using testing::HasSubstr;

using Files = std::map<std::string, std::string>;

ScenarioSweep read(const Files& files, const std::string& name) {
  const auto open = [&](const std::string& path) {
    const auto at = files.find(path);
    if (at == files.end()) throw InputError(path + ": no such file");
    return parse_yaml(at->second, path);
  };
  return read_scenario(all_kinds(), with_includes(open(name), name, open));
}

std::string refusal(const Files& files, const std::string& name = "a.yaml") {
  return refusal_of([&] { read(files, name); });
}

const std::string kBase =
    "name: base\nquestion: of the base\nmodel: llama-3-8b\nhardware: {gpu: h100-sxm}\n"
    "workload: {isl: [1, 2], osl: 8}\n";

TEST(Include, KeysGoOverThoseOfTheFile) {
  const ScenarioSweep sweep =
      read({{"d/a.yaml", "include: b/base.yaml\nworkload: {isl: 64}\n"}, {"d/b/base.yaml", kBase}},
           "d/a.yaml");
  ASSERT_EQ(sweep.points.size(), 1u);  // a list is replaced, the group merged
  const Scenario& s = sweep.points[0];
  EXPECT_EQ(s.model, "llama-3-8b");
  EXPECT_EQ(s.as<SteadyQuestion>().isl, 64);
  EXPECT_EQ(s.as<SteadyQuestion>().osl, 8);
  EXPECT_EQ(s.question, "");  // not the base's
  EXPECT_EQ(s.name, Scenario().name);
}

TEST(Include, ChainsAreRefusedWhereTheyClose) {
  EXPECT_THAT(refusal({{"a.yaml", "include: b.yaml"}, {"b.yaml", "include: ./a.yaml"}}),
              HasSubstr("b.yaml:1: include: a file includes itself: a.yaml -> b.yaml -> a.yaml"));
  EXPECT_THAT(refusal({{"a.yaml", "include: a.yaml"}}), HasSubstr("includes itself"));
  EXPECT_THAT(refusal({{"a.yaml", "include: b.yaml"}}), HasSubstr("b.yaml: no such file"));
  EXPECT_THAT(refusal({{"a.yaml", "include: [b.yaml]"}}), HasSubstr("expected a text"));
  EXPECT_THAT(refusal({{"a.yaml", "include: b.yaml"}, {"b.yaml", "[1]"}}), HasSubstr("map"));
  EXPECT_THAT(refusal({{"a.yaml", "include: b.yaml"}, {"b.yaml", "modle: x"}}),
              HasSubstr("did you mean 'model'"));
  Files chain;
  for (int i = 0; i < 40; ++i)
    chain["f" + std::to_string(i)] = "include: f" + std::to_string(i + 1);
  EXPECT_THAT(refusal(chain, "f0"), HasSubstr("more than 16 includes"));
}

ScenarioSweep parsed(const std::string& text) {
  return read_scenario(all_kinds(), parse_yaml(text, "s.yaml"));
}

TEST(SweepOfAnyKey, MultipliesInOrder) {
  const ScenarioSweep s =
      parsed(kBase +
             "sweep: {engine: {overrides: {scheduler: {max_num_seqs: [4, 8]}}}, "
             "workload: {past: 1-4*2}}\n");
  ASSERT_EQ(s.points.size(), 12u);
  EXPECT_EQ(s.group(), 2u);  // prompts of two lengths at each combination
  const auto at = [&s](std::size_t i) { return swept_values(s, i).dump(); };
  EXPECT_EQ(at(0), R"({"max_num_seqs":4,"past":1})");
  EXPECT_EQ(at(1), at(0));
  EXPECT_EQ(at(2), R"({"max_num_seqs":4,"past":2})");  // the last key runs fastest
  EXPECT_EQ(at(11), R"({"max_num_seqs":8,"past":4})");
  EXPECT_EQ(s.points[9].as<SteadyQuestion>().past, 2);
  EXPECT_EQ(s.points[9].as<SteadyQuestion>().isl, 2);
  EXPECT_EQ(s.points[9].engine.overrides.at("scheduler").at("max_num_seqs").text(), "8");
}

TEST(SweepOfAnyKey, PointsSayWhereTheyAreAndReadBack) {
  Runner runner{Bundle()};
  const std::string text =
      "model: llama-3-8b\nhardware: {gpu: h100-sxm}\nworkload: {isl: 128, osl: 8}\n"
      "sweep: {model: [llama-3-8b, llama-2-7b], workload: {batch: [1, 2]}}\n";
  const Answer a = runner.run(parsed(text));
  ASSERT_EQ(a.points.size(), 4u);
  EXPECT_EQ(a.points[3].at["model"], "llama-2-7b");
  EXPECT_EQ(a.points[3].at["batch"], 2);
  // Each point of a sweep equals the answer of a question with its values.
  const Answer alone = runner.run(parsed(
      "model: llama-2-7b\nhardware: {gpu: h100-sxm}\nworkload: {isl: 128, osl: 8, batch: 2}\n"));
  EXPECT_EQ(a.points[3].find("e2e")->value, alone.points[0].find("e2e")->value);
  const ScenarioSweep again =
      read_scenario(all_kinds(), parse_json(to_json(parsed(text)).dump(), "again"));
  EXPECT_EQ(again.points.size(), 4u);
  EXPECT_EQ(to_json(again), to_json(parsed(text)));
}

// A list at any key is a sweep: of numbers, names, formats or switches.
TEST(SweepOfAnyKey, AListAnywhereIsOne) {
  const std::string base = "model: llama-3-8b\nhardware: {gpu: h100-sxm}\n";
  const ScenarioSweep formats =
      parsed(base + "precision: {quantization: [fp8, bf16]}\nparallel: {dp: [1, 2]}\n");
  ASSERT_EQ(formats.points.size(), 4u);
  EXPECT_EQ(formats.points[3].precision.quantization, "bf16");
  EXPECT_EQ(formats.points[3].parallel.dp, 2);
  EXPECT_EQ(swept_values(formats, 2).dump(), R"({"quantization":"bf16","dp":1})");
  EXPECT_EQ(to_json(formats)["sweep"]["parallel"]["dp"].dump(), "[1,2]");
  const ScenarioSweep switches = parsed(
      "model: llama-3-8b\nhardware: {gpu: h100-sxm}\ntraining: {dropout: [false, true], "
      "compute: [bf16, fp8], stack_version: [2024-06, 2025-06]}\n");
  ASSERT_EQ(switches.points.size(), 8u);
  EXPECT_EQ(switches.points[7].as<TrainingQuestion>().job.precision.compute, Dtype::kFp8);
  EXPECT_EQ(switches.points[7].as<TrainingQuestion>().stack_version, "2025-06");
  EXPECT_EQ(parsed(base + "parallel: {dp: [2]}\n").points.at(0).parallel.dp, 2);
}

// A list that is a value by itself is none.
TEST(SweepOfAnyKey, ListsOfOneValueAreNotSwept) {
  const ScenarioSweep s = parsed(
      "{model: llama-3-8b, hardware: {gpu: h100-sxm}, load: {priorities: [1, 2]}, "
      "question: 'this, and that', cluster: {pools: ['1', '2']}}");
  EXPECT_EQ(s.points.size(), 1u);
}

TEST(SweepOfAnyKey, AValueMayBeMootAtSomePointsButNotAtAll) {
  const auto text = [](const char* cp) {
    return fmt::format(
        "{{model: llama-3-8b, hardware: {{gpu: h100-sxm}}, training: {{gpus: 8, cp: {}, "
        "context_method: ulysses}}}}",
        cp);
  };
  EXPECT_EQ(parsed(text("[1, 2]")).points.size(), 2u);
  EXPECT_THAT(refusal_of([&] { parsed(text("1")); }), HasSubstr("has no effect here"));
}

TEST(SweepOfAnyKey, CountsTakeSuffixes) {
  const ScenarioSweep s =
      parsed("{model: llama-3-8b, hardware: {gpu: h100-sxm}, training: {tokens: [2T, 1.5B]}}");
  ASSERT_EQ(s.points.size(), 2u);
  EXPECT_EQ(s.points[0].as<TrainingQuestion>().tokens, 2e12);
  EXPECT_EQ(s.points[1].as<TrainingQuestion>().tokens, 1.5e9);
  EXPECT_THAT(refusal_of([] {
                parsed("{model: llama-3-8b, hardware: {gpu: h100-sxm}, training: {tokens: 2X}}");
              }),
              HasSubstr("training.tokens"));
}

TEST(SweepOfAnyKey, AnInfiniteRateSendsAllAtOnce) {
  const ScenarioSweep s =
      parsed("{model: llama-3-8b, hardware: {gpu: h100-sxm}, load: {rate: [2, inf], requests: 4}}");
  ASSERT_EQ(s.points.size(), 2u);
  EXPECT_EQ(s.points[0].as<ServiceQuestion>().arrivals, "poisson");
  EXPECT_EQ(s.points[1].as<ServiceQuestion>().arrivals, "at-once");
}

TEST(SweepOfAnyKey, RefusalsAreOneMessage) {
  const auto refused = [](const std::string& sweep) {
    return refusal({{"a.yaml", kBase + "sweep: " + sweep + "\n"}});
  };
  EXPECT_THAT(refused("{}"), HasSubstr("sweeps nothing"));
  EXPECT_THAT(refused("3"), HasSubstr("expected keys"));
  EXPECT_THAT(refused("{modle: [a, b]}"), HasSubstr("did you mean 'model'"));
  EXPECT_THAT(refused("{workload: {past: []}}"), HasSubstr("at least one"));
  EXPECT_THAT(refused("{sweep: {model: [a]}}"), HasSubstr("cannot be swept"));
  EXPECT_THAT(refused("{workload: {past: 1-5000, max_model_len: 1-5000}}"),
              HasSubstr("25000000 combinations; at most 10000"));
}

TEST(SweepOfAnyKey, AMillionPointsAreRefusedBeforeTheFirst) {
  Runner runner{Bundle()};
  EXPECT_THAT(refusal_of([] {
                parsed(
                    "model: llama-3-8b\nhardware: {gpu: h100-sxm}\n"
                    "workload: {isl: 1-1000, osl: 1-1000}\n");
              }),
              HasSubstr("a sweep of 1000000 points"));
  EXPECT_THROW(
      runner.run(parsed("hardware: {gpu: h100-sxm}\ncollective: {bytes: 1-5000, gpus: 2-1000}\n")),
      InputError);
}

TEST(Check, SaysWhatWouldRunAndWhatWouldHelp) {
  Runner runner{Bundle()};
  const ScenarioCheck fits = check_scenario(
      parsed("model: llama-3-8b\nhardware: {gpu: h100-sxm}\nworkload: {isl: [1, 2, 3]}\n"), runner);
  EXPECT_EQ(fits.what, "3 points, steady state; swept: isl (3 values)");
  EXPECT_EQ(fits.misfits, 0);
  const ScenarioCheck large =
      check_scenario(parsed("model: llama-3-70b\nhardware: {gpu: h100-sxm}\n"), runner);
  EXPECT_EQ(large.misfits, 1);
  EXPECT_THAT(large.advice, ElementsAre("parallel.tp: 2 would fit"));
  const ScenarioCheck service = check_scenario(
      parsed("model: llama-3-8b\nhardware: {gpu: h100-sxm}\nload: {rate: [1, 2], requests: 20}\n"),
      runner);
  EXPECT_EQ(service.what, "2 points, simulated services; swept: rate (2 values)");
  EXPECT_THAT(service.advice[0], HasSubstr("20 are few"));
}

TEST(Diff, NamesWhatChangedAndTheLargestTerm) {
  Runner runner{Bundle()};
  const auto answer = [&](const char* osl) {
    return to_json(runner.run(parsed(std::string("model: llama-3-8b\nhardware: {gpu: h100-sxm}\n"
                                                 "workload: {isl: 128, batch: [1, 2], osl: ") +
                                     osl + "}\n")),
                   true);
  };
  const auto short_one = answer("8");
  const AnswerDiff same = diff_answers(short_one, short_one, "a", "b");
  EXPECT_TRUE(same.points.empty() && same.configuration.empty());
  EXPECT_EQ(same.same, 2u);

  auto changed = short_one;
  changed["configuration"]["workload"]["past"] = 5;
  auto& row = changed["points"][1]["kernels"][3];
  row["time_us"] = row["time_us"].get<double>() + 1000;
  changed["points"][1]["metrics"]["ttft"]["value"] = 1e6;
  changed["points"][1]["metrics"]["ttft"]["interval90"] = {9e5, 2e6};
  changed["points"][1]["fits"] = false;
  const AnswerDiff d = diff_answers(short_one, changed, "a", "b");
  EXPECT_THAT(d.configuration, ElementsAre("workload.past: 0 -> 5"));
  ASSERT_EQ(d.points.size(), 1u);
  EXPECT_THAT(d.points[0].at, HasSubstr("batch=2"));
  EXPECT_EQ(d.points[0].feasibility, "fits -> does not fit");
  ASSERT_EQ(d.points[0].metrics.size(), 1u);
  EXPECT_EQ(d.points[0].metrics[0].name, "ttft");
  EXPECT_TRUE(d.points[0].metrics[0].beyond);
  EXPECT_THAT(d.points[0].terms[0].name, HasSubstr(row["name"].get<std::string>()));
  EXPECT_NEAR(d.points[0].terms[0].after - d.points[0].terms[0].before, 1000, 0.01);

  // Points are paired by where they are.
  auto fewer = short_one;
  fewer["points"].erase(0);
  const AnswerDiff one = diff_answers(short_one, fewer, "a", "b");
  EXPECT_EQ(one.same, 1u);
  ASSERT_EQ(one.points.size(), 1u);
  EXPECT_THAT(one.points[0].at, HasSubstr("only in the first"));
}

TEST(Diff, OtherJsonIsRefused) {
  for (const char* text : {"{}", "[]", "3", R"({"format": 99, "points": []})",
                           R"({"format": 1, "points": {}})", R"({"format": 1, "points": [{}]})"}) {
    const auto json = nlohmann::ordered_json::parse(text);
    EXPECT_THROW(diff_answers(json, json, "a.json", "b.json"), InputError) << text;
  }
}

TEST(Schema, HasEveryKeyWithItsRangeAndAliases) {
  const nlohmann::ordered_json schema = scenario_schema(all_kinds());
  const auto& keys = schema["properties"];
  for (const char* group : {"model", "hardware", "workload", "load", "training", "collective",
                            "include", "sweep", "slo"})
    EXPECT_TRUE(keys.contains(group)) << group;
  EXPECT_EQ(keys["parallel"]["properties"]["dp"]["minimum"], 1);
  EXPECT_TRUE(keys["parallel"]["properties"].contains("tensor_parallel_size"));
  EXPECT_EQ(keys["training"]["properties"]["recompute"]["enum"],
            nlohmann::ordered_json({"", "none", "selective", "full"}));
  EXPECT_TRUE(
      keys["engine"]["properties"]["overrides"]["properties"]["scheduler"]["properties"].contains(
          "max_num_seqs"));
  EXPECT_EQ(schema["additionalProperties"], false);
}

// A table line for every leaf of the schema: nothing that can be written is missing.
void expect_rows(const nlohmann::ordered_json& group, const std::string& prefix,
                 const std::string& page) {
  for (const auto& [key, value] : group["properties"].items()) {
    const std::string doc = value.value("description", "");
    if (doc.starts_with("as ")) continue;  // an alias, which stands beside its key
    if (value.contains("properties")) {
      expect_rows(value, prefix + key + ".", page);
    } else {
      EXPECT_THAT(page, HasSubstr("\n| `" + prefix + key + "` | "));
    }
  }
}

TEST(Schema, TablesHaveEveryKeyWithUnitRangeAndDefault) {
  const std::string page = scenario_keys_markdown(all_kinds());
  expect_rows(scenario_schema(all_kinds()), "", page);
  EXPECT_THAT(page, HasSubstr("| `parallel.dp` | whole number, 1 to 100000 | 1 | data-parallel "
                              "groups of the attention layers; also `data_parallel_size` |"));
  EXPECT_THAT(page, HasSubstr("| `training.recompute` | none, selective, full |"));
  EXPECT_THAT(page, HasSubstr("| `chance."));
  EXPECT_THAT(page, HasSubstr("| `autoscale.interval` | with its unit (s), at least 0 s | 10 s |"));
}

TEST(Format, NewerVersionsAreRefused) {
  EXPECT_EQ(read({{"a.yaml", "format: 1.0\n" + kBase}}, "a.yaml").points[0].model, "llama-3-8b");
  EXPECT_EQ(read({{"a.yaml", "format: \"1.0\"\n" + kBase}}, "a.yaml").points[0].model,
            "llama-3-8b");
  EXPECT_EQ(read({{"a.yaml", "format: 1\n" + kBase}}, "a.yaml").points[0].model, "llama-3-8b");
  for (const char* newer : {"1.1", "2.0", "17"})
    EXPECT_THAT(refusal({{"a.yaml", "format: " + std::string(newer) + "\n" + kBase}}),
                HasSubstr("a.yaml:1: format: the file is written for format " + std::string(newer) +
                          "; this program reads 1.0 and older"));
  for (const char* none : {"one", "1.x", "1.0.0", "-1", "0.9", "[1]", "v1", "''"})
    EXPECT_NE(refusal({{"a.yaml", "format: " + std::string(none) + "\n" + kBase}}), "") << none;
  // The format is checked in the including file and in the included one.
  EXPECT_THAT(refusal({{"a.yaml", "include: b.yaml\nformat: 1.0"}, {"b.yaml", "format: 2.0"}}),
              HasSubstr("b.yaml:1: format"));
  const ScenarioSweep collective =
      read({{"a.yaml", "format: 1.0\nhardware: {gpu: h100-sxm}\ncollective: {gpus: 8}"}}, "a.yaml");
  EXPECT_NE(collective.points[0].if_asked<CollectiveQuestion>(), nullptr);
  EXPECT_THAT(refusal({{"a.yaml", kBase + "sweep: {format: [1.0, 1]}"}}),
              HasSubstr("cannot be swept"));
}

}  // namespace scenario_file_test
}  // namespace orrery
