// The questions of measured training rows, and the release of PyTorch and the library of attention
// that the rows state.
#include "orrery/validate/questions/training_scenario.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "orrery/hardware/catalog.h"
#include "orrery/kinds/all_kinds.h"
#include "orrery/model/catalog/catalog.h"
#include "orrery/scenario/document/scenario_sweep.h"
#include "orrery/scenario/kinds/training/training_layout.h"
#include "orrery/scenario/kinds/training/training_question.h"
#include "orrery/training/iteration/stack_release_date.h"
#include "orrery/validate/rows/training_rows.h"

namespace orrery {
namespace training_scenario_test {

using testing::HasSubstr;
using testing::StartsWith;

// Llama 3 8B on 64 H100, FSDP, with settings that are no defaults.
TrainingRow row() {
  TrainingRow r;
  r.model_id = "llama-3-8b";
  r.model = load_model("llama-3-8b");
  r.gpu = "h100-sxm", r.gpus = 64, r.dtype = "fp8";
  r.node = Catalog().node_type("hgx-h100");
  r.stack.name = "fsdp";
  r.version = "2024-06", r.release = stack_release_date("2024-06");
  r.compiled = true;
  TrainingJob& j = r.job;
  j.plan.tp = 2, j.plan.dp = 32, j.plan.zero = 3, j.plan.shard = 8;
  j.plan.sequence_parallel = true;
  j.precision.compute = Dtype::kFp8, j.precision.gradients = Dtype::kBf16;
  j.seq = 8192, j.micro_batch = 2, j.global_batch = 128;
  j.recompute = Recompute::kFull, j.recompute_layers = 16;
  return r;
}

TEST(TrainingScenarios, AskForTheRowsJob) {
  TrainingScenarios scenarios{Bundle()};
  const TrainingRow r = row();
  const std::string text = scenarios.question(r);
  ASSERT_THAT(text, StartsWith("{\"model\":\"llama-3-8b\""));
  const ScenarioSweep sweep = read_scenario(all_kinds(), parse_yaml(text, "question"));
  ASSERT_EQ(sweep.points.size(), 1u);
  const auto& q = sweep.points[0].as<TrainingQuestion>();
  EXPECT_EQ(job_of(q), r.job);
  EXPECT_EQ(q.gpus, 64);
  EXPECT_TRUE(q.compiled);
  EXPECT_EQ(release_of(q), r.release);
  EXPECT_EQ(sweep.points[0].hardware.node, "");
}

TEST(TrainingScenarios, NameTheNetworkAndItsPorts) {
  TrainingScenarios scenarios{Bundle()};
  TrainingRow r = row();
  r.node.network = {"roce-200", 8};
  EXPECT_THAT(scenarios.question(r), HasSubstr("\"node\":\"roce-200\""));
  r.node.network = {"roce-200", 2};
  EXPECT_THAT(scenarios.question(r), HasSubstr("\"node\":\"2xroce-200\""));
  r.node.gpu_count = 4;
  EXPECT_THAT(scenarios.question(r), HasSubstr(": no file of the catalog describes its nodes"));
}

TEST(TrainingScenarios, GiveTheConfigOfAModelThatTheCatalogLacks) {
  TrainingScenarios scenarios{Bundle()};
  TrainingRow r = row();
  r.model.id = "my-8b", r.model.vocab = 1000;
  const std::string text = scenarios.question(r);
  ASSERT_THAT(text, HasSubstr("\\\"vocab_size\\\":1000"));
  const ScenarioSweep sweep = read_scenario(all_kinds(), parse_yaml(text, "question"));
  const Architecture model = load_model(sweep.points.at(0).model);
  EXPECT_EQ(model.vocab, 1000);
  EXPECT_EQ(model.layers.specs(), r.model.layers.specs());
}

TEST(TrainingScenarios, AreWordsWithTheReasonElsewhere) {
  TrainingScenarios scenarios{Bundle()};
  TrainingRow r = row();
  r.model = load_model("gemma-3-27b");
  r.model.id = "mine", r.model.vocab = 7;
  EXPECT_THAT(scenarios.question(r), HasSubstr("a model that no config.json here is read as"));
}

TEST(TrainingSoftware, RowsStateTheirTorchAndTheirAttention) {
  EXPECT_EQ(stated_torch("deepspeed 0.19.2, torch 2.13"), (TorchVersion{2, 13}));
  EXPECT_EQ(stated_torch("2.11.0 cu130"), (TorchVersion{2, 11}));
  EXPECT_EQ(stated_torch("25.09"), std::nullopt);
  EXPECT_EQ(stated_torch("0.8.0"), std::nullopt);
  const Catalog catalog;
  TrainingRow row;
  row.stack.name = "fsdp";
  row.release = 2024.9;
  EXPECT_EQ(attention_of(row, catalog.gpu("h100-sxm")), "flash2");
  row.stack.attention = "cudnn";  // of a framework, where its times are known
  EXPECT_EQ(attention_of(row, catalog.gpu("h100-sxm")), "cudnn");
  EXPECT_EQ(attention_of(row, catalog.gpu("mi300x")), "");
  row.attention = "flash3";
  EXPECT_EQ(attention_of(row, catalog.gpu("h100-sxm")), "flash3");
}

}  // namespace training_scenario_test
}  // namespace orrery
