#include "orrery/serving/profile/engine_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "orrery/hardware/catalog.h"
#include "tests/refusal.h"

namespace orrery {
namespace engine_profile_test {

TEST(Engine, EveryProfileReadsWithItsFit) {
  const Bundle bundle;
  ASSERT_GE(engine_ids(bundle).size(), 12u);
  for (const std::string& id : engine_ids(bundle)) {
    const EngineProfile e = load_engine(id, bundle);
    EXPECT_EQ(e.id, id);
    EXPECT_FALSE(e.sources.empty()) << id;
  }
}

TEST(Engine, FittedConstantsLieOverTheFacts) {
  const Bundle bundle;
  const EngineProfile plain = load_engine("vllm-2024", bundle, false),
                      fitted = load_engine("vllm-2024", bundle);
  EXPECT_TRUE(plain.calibration.empty());
  EXPECT_FALSE(fitted.calibration.empty());
  EXPECT_EQ(plain.scheduler.max_num_batched_tokens, fitted.scheduler.max_num_batched_tokens);
  EXPECT_NE(plain.execution.host_per_sequence, fitted.execution.host_per_sequence);
}

TEST(Engine, AliasesAndTheNearestName) {
  const Bundle bundle;
  EXPECT_EQ(load_engine("TensorRT-LLM", bundle).id, "trtllm");
  try {
    load_engine("sglan", bundle);
    FAIL();
  } catch (const InputError& e) {
    EXPECT_NE(std::string(e.what()).find("did you mean 'sglang'"), std::string::npos) << e.what();
  }
}

TEST(Engine, PadsToTheCapturedSizes) {
  EngineProfile e;
  EXPECT_EQ(padded_tokens(e, 5), 5);
  e.execution.graph_sizes = "1, 2, 4, 8-256+8, 256+16";
  for (const auto& [tokens, padded] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 1},
                                                          {2, 2},
                                                          {3, 4},
                                                          {4, 4},
                                                          {5, 8},
                                                          {8, 8},
                                                          {250, 256},
                                                          {257, 272},
                                                          {512, 512},
                                                          {513, 513}}) {
    EXPECT_EQ(padded_tokens(e, tokens), padded) << tokens;
  }
  e.execution.graph_tokens = 260;
  EXPECT_EQ(padded_tokens(e, 258), 260);
  e.execution.graph_sizes = "1, 8-16+8";
  EXPECT_EQ(padded_tokens(e, 9), 16);
  EXPECT_EQ(padded_tokens(e, 17), 17);
  for (const char* bad : {"1, x", "8-", "8-4", "8+0", "-3", "1; 2"}) {
    e.execution.graph_sizes = bad;
    EXPECT_THROW(padded_tokens(e, 100), InputError) << bad;
  }
  e.execution.decode_graphs = false;
  EXPECT_EQ(padded_tokens(e, 5), 5);
}

// TensorRT-LLM captures 1 to 31, 32, 64 and 128 sequences and pads no batch, unless it is told to.
TEST(Engine, BatchesBetweenCapturedSizesAreEagerWithoutPadding) {
  EngineProfile e = load_engine("trtllm", Bundle());
  EXPECT_TRUE(is_captured(e, 100));
  apply_setup(e, EngineSetup::kDefault);
  for (const std::int64_t captured : {1, 31, 32, 64, 128}) EXPECT_TRUE(is_captured(e, captured));
  for (const std::int64_t other : {33, 100, 127, 129}) EXPECT_FALSE(is_captured(e, other));
}

// The constants of a profile are those of tuned runs: an overlay that is empty changes nothing.
TEST(Engine, SetupsChangeWhatTheyState) {
  const EngineProfile profile = load_engine("trtllm", Bundle());
  EXPECT_TRUE(profile.setups.differ);
  EngineProfile tuned = profile, plain = profile;
  apply_setup(tuned, EngineSetup::kTuned);
  apply_setup(plain, EngineSetup::kDefault);
  EXPECT_EQ(tuned.execution.graph_tokens, profile.execution.graph_tokens);
  EXPECT_EQ(plain.execution.graph_tokens, 128);
  EXPECT_GT(plain.step_error, tuned.step_error);
  // vLLM's differ in their errors alone.
  EXPECT_FALSE(load_engine("vllm", Bundle()).setups.differ);
  EXPECT_EQ(parse_engine_setup("tuned"), EngineSetup::kTuned);
  EXPECT_THROW(parse_engine_setup("tunde"), InputError);
}

// A profile file for a class of GPUs overrides the engine's profile on these GPUs alone.
TEST(Engine, GpuClassesHaveFilesOfTheirOwn) {
  const Bundle bundle;
  const Gpu data_centre = Catalog().gpu("b200-sxm"), workstation = Catalog().gpu("rtx-pro-6000");
  EXPECT_EQ(load_engine("trtllm", data_centre, bundle).kernels.moe, "vllm");
  EXPECT_GT(load_engine("vllm", data_centre, bundle).execution.start_up, Seconds(0));
  EXPECT_EQ(load_engine("vllm", data_centre, bundle, false).execution.start_up, Seconds(0));
  EXPECT_EQ(load_engine("trtllm", workstation, bundle).kernels.moe, "trtllm");
}

TEST(Engine, FamiliesAreClassesCapabilitiesOrArchitectures) {
  const auto family = [](const char* gpu) { return engine_gpu_family(Catalog().gpu(gpu)); };
  EXPECT_EQ(family("b300-sxm"), "blackwell");
  EXPECT_EQ(family("rtx-5090"), "sm120");  // does not run what data-centre Blackwell runs
  EXPECT_EQ(family("mi300x"), "cdna3");
}

// A fit says which families of GPUs it has seen; on the others its predictions are less sure.
TEST(Engine, GpusThatNoFitHasSeenHaveTheWiderError) {
  const Bundle bundle = Bundle().replacing(
      "engines/fitted", {{"engines/fitted/lmdeploy.yaml",
                          "step_error: 0.1\nunfitted_error: 0.4\nfitted_on: [sm80]\n"},
                         {"engines/fitted/lmdeploy-sm86.yaml", "step_error: 0.2\n"}});
  Gpu gpu;
  gpu.sm_version = 80;
  EXPECT_EQ(load_engine("lmdeploy", gpu, bundle).step_error, 0.1);
  gpu.sm_version = 89;
  EXPECT_EQ(load_engine("lmdeploy", gpu, bundle).step_error, 0.4);
  gpu.sm_version = 86;  // constants of its own
  EXPECT_EQ(load_engine("lmdeploy", gpu, bundle).step_error, 0.2);
}

// The host is of no GPU: where nothing was fitted it is the one of data-centre Blackwell, of whose
// fit the profiles have a copy (rounded).
TEST(Engine, OtherGpusHaveTheHostThatWasFitted) {
  const Bundle bundle;
  const Gpu blackwell = Catalog().gpu("b200-sxm"), other = Catalog().gpu("a100-80g-sxm");
  for (const char* id : {"vllm", "sglang", "trtllm"}) {
    const auto fitted = load_engine(id, blackwell, bundle).execution;
    const auto copy = load_engine(id, other, bundle).execution;
    EXPECT_NEAR(copy.launch / fitted.launch, 1, 0.02) << id;
    EXPECT_NEAR(copy.host_per_moe_layer / fitted.host_per_moe_layer, 1, 0.02) << id;
  }
}

// ---- parameters that a scheduler has for itself ----

using ::testing::HasSubstr;

EngineProfile overridden(const char* engine, const std::string& keys) {
  EngineProfile e = load_engine(engine, Bundle());
  override_keys(e, parse_yaml(keys, "keys"));
  return e;
}

std::string value_of(EngineProfile e, const char* key) {
  Fields fields;
  declare(fields, e);
  return fields.find(key)->json().dump();
}

TEST(SchedulerParameters, AreKeysOfTheProfile) {
  EXPECT_EQ(value_of(load_engine("sglang", Bundle()), "scheduler.recv_interval"), "1");
  EXPECT_EQ(
      value_of(overridden("sglang", "scheduler: {recv_interval: 10}"), "scheduler.recv_interval"),
      "10");
}

TEST(SchedulerParameters, AreCopiedWithTheProfile) {
  const EngineProfile e = overridden("sglang", "scheduler: {recv_interval: 10}");
  EngineProfile copy;
  Fields fields;
  declare(fields, copy);
  copy = e;
  EXPECT_EQ(fields.find("scheduler.recv_interval")->json(), 10);
  copy = EngineProfile();
  EXPECT_EQ(fields.find("scheduler.recv_interval")->json(), 1);
}

TEST(SchedulerParameters, OfAnotherSchedulerAreRefused) {
  EXPECT_EQ(refusal_of([] { overridden("vllm", "scheduler:\n  recv_interval: 10\n"); }),
            "keys:2: scheduler.recv_interval: has no effect here: it needs "
            "engine.scheduler.policy sglang");
  EXPECT_THAT(refusal_of([] { overridden("sglang", "scheduler: {batch-wait-steps: 3}"); }),
              HasSubstr("it needs engine.scheduler.policy trtllm or trtllm-max-utilization"));
  // The policy may be chosen together with its parameter.
  EXPECT_NO_THROW(overridden("vllm", "scheduler: {policy: sglang, recv_interval: 10}"));
  EXPECT_NO_THROW(
      overridden("trtllm", "scheduler: {policy: trtllm-max-utilization, batch_wait_steps: 3}"));
}

// A resolved configuration states every value, also those without effect.
TEST(SchedulerParameters, StatingAValueOfAnotherSchedulerChangesNothing) {
  EXPECT_NO_THROW(overridden("vllm", "scheduler: {recv_interval: 1, batch_wait_steps: 0}"));
}

TEST(SchedulerParameters, AFlagOfAnotherSchedulerIsRefusedWhateverItsValue) {
  EngineProfile e = load_engine("vllm", Bundle());
  Node keys;
  set_path(keys, "scheduler.recv_interval", scalar_node("1", "--set"));
  EXPECT_THROW(override_keys(e, keys), InputError);
}

TEST(SchedulerParameters, HaveNamesOfTheirOwn) {
  EngineProfile e;
  Fields fields;
  declare(fields, e);
  std::set<std::string> names;
  for (const Field& f : fields.find("scheduler")->group()->all()) {
    EXPECT_TRUE(names.insert(f.name()).second) << f.name();
    for (const std::string& alias : f.aliases()) EXPECT_TRUE(names.insert(alias).second) << alias;
  }
}

}  // namespace engine_profile_test
}  // namespace orrery
