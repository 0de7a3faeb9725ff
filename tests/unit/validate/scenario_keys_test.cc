#include "orrery/validate/rows/scenario_keys.h"

#include <gtest/gtest.h>

namespace orrery {
namespace scenario_keys_test {

ScenarioKeys keys() {
  ScenarioKeys k;
  k.set("model", "llama-3-70b");
  k.set("parallel.tp", 8);
  k.set("workload.isl", 512);
  k.set("load.isl", "uniform(8, 10)");
  k.set_engine("scheduler.max_num_seqs", "64");
  return k;
}

TEST(ScenarioKeys, AreADocumentOnOneLine) {
  EXPECT_EQ(keys().yaml(),
            "{model: llama-3-70b, parallel: {tp: 8}, workload: {isl: 512}, load: {isl: "
            "\"uniform(8, 10)\"}, engine: {overrides: {scheduler: {max_num_seqs: 64}}}}");
  const Node read = parse_yaml(keys().yaml(), "line");
  EXPECT_EQ(read.at("load").at("isl").as_string(), "uniform(8, 10)");
  EXPECT_EQ(read.at("parallel").at("tp").as_int(), 8);
}

TEST(ScenarioKeys, AreSetReadAndErased) {
  ScenarioKeys k = keys();
  EXPECT_EQ(k.number("parallel.tp"), 8);
  EXPECT_EQ(k.number("parallel.pp"), 1);
  EXPECT_EQ(k.text("parallel.pp"), "");
  EXPECT_EQ(k.engine_text("scheduler.max_num_seqs"), "64");
  k.set("parallel.tp", 4);
  EXPECT_EQ(k.yaml().find("{model: llama-3-70b, parallel: {tp: 4}"), 0u);
  k.erase("parallel.tp");
  EXPECT_EQ(k.text("parallel.tp"), "");
  k.set("loader", "x");
  k.erase_group("load");
  EXPECT_EQ(k.text("load.isl"), "");
  EXPECT_EQ(k.text("loader"), "x");
}

}  // namespace scenario_keys_test
}  // namespace orrery
