// Questions about networks and LLMs at the edge: files, refusals and answers.
#include "orrery/scenario/kinds/edge/edge_question.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "orrery/kinds/all_kinds.h"
#include "orrery/scenario/document/scenario_json.h"
#include "orrery/scenario/kinds/edge/edge_points.h"
#include "orrery/scenario/runner/runner.h"
#include "orrery/scenario/runner/scenario_check.h"
#include "tests/refusal.h"
#include "tests/unit/edge/onnx_llama.h"

namespace orrery {
namespace edge_question_test {

using testing::HasSubstr;

Answer run(const std::string& edge) {
  Runner runner{Bundle()};
  return runner.run(read_scenario(all_kinds(), parse_yaml("edge: {" + edge + "}\n", "s.yaml")));
}
std::string refusal(const std::string& edge) {
  return refusal_of([&] { run(edge); });
}
// All that the answer says about its first point, except for the keys.
std::string said(const std::string& edge) {
  nlohmann::ordered_json p = to_json(run(edge).points.at(0), true);
  return p.dump();
}

const std::string kNetwork = "network: squeezenet, device: jetson-nano";
const std::string kEngine = "network: resnet50, device: rtx-4090";
const std::string kLlm = "network: llama-3-8b, device: rtx-4090";
const std::string kDraft = kLlm + ", draft: llama-3.2-1b";

struct OtherValue {
  std::string asked, value;
};

// A value of each key that is not its default, and a question that it changes.
const std::map<std::string, OtherValue>& other_values() {
  static const std::map<std::string, OtherValue> all = {
      {"sustained", {"network: squeezenet, device: raspberry-pi-5", "true"}},
      {"gpu", {kNetwork, "true"}},
      {"threads", {kNetwork, "1"}},
      {"slow_cores", {"network: squeezenet, device: rk3588, threads: 2", "true"}},
      {"precision", {kNetwork, "int8"}},
      {"runtime", {kEngine, "pytorch"}},
      {"batch", {kEngine, "8"}},
      {"format", {kLlm, "Q8_0"}},
      {"backend", {kLlm, "vulkan"}},
      {"prompt", {kLlm, "2048"}},
      {"generate", {kLlm, "4096"}},
      {"depth", {kLlm, "4096"}},
      {"ubatch", {kLlm, "128"}},
      {"devices", {kLlm, "2"}},
      {"memory", {kLlm, "16 GiB"}},
      {"file_size", {kLlm, "6 GB"}},
      {"flash_attention", {kLlm, "false"}},
      {"draft", {kLlm, "llama-3.2-1b"}},
      {"draft_tokens", {kDraft, "8"}},
      {"acceptance", {kDraft, "0.4"}}};
  return all;
}

// Each key changes the answer, and one of the other kind of question is refused.
TEST(EdgeQuestion, EveryKeyHasItsEffectOrIsRefused) {
  EdgeQuestion q;
  Fields fields;
  declare(fields, q);
  for (const Field& f : fields.all()) {
    if (f.name() == "network" || f.name() == "device" || f.name() == "measured") continue;
    ASSERT_TRUE(other_values().contains(f.name())) << f.name();
    const auto& [asked, value] = other_values().at(f.name());
    const std::string given = fmt::format(", {}: {}", f.name(), value);
    EXPECT_NE(said(asked), said(asked + given)) << f.name();
    if (f.need() == kNeedsNetwork) {
      EXPECT_THAT(refusal(kLlm + given), HasSubstr("edge." + f.name() + ": has no effect"));
    } else if (f.need() == kNeedsLlm) {
      EXPECT_THAT(refusal(kNetwork + given), HasSubstr("edge." + f.name() + ": has no effect"));
    } else if (!f.need().empty()) {
      EXPECT_THAT(refusal(kLlm + given), HasSubstr("it needs edge.draft")) << f.name();
    }
  }
}

// In a sweep over both kinds each key has an effect on one of them.
TEST(EdgeQuestion, NetworksAndLlmsShareASweep) {
  const Answer a = run("network: [resnet50, llama-3-8b], device: rtx-4090, batch: 4, depth: 512");
  ASSERT_EQ(a.points.size(), 2u);
  EXPECT_NE(a.points[0].find("latency"), nullptr);
  EXPECT_NE(a.points[1].find("tpot"), nullptr);
  EXPECT_EQ(a.points[1].find("latency"), nullptr);
}

TEST(EdgeQuestion, AllDevicesAreEachByItself) {
  for (const std::string asked : {"network: squeezenet", "network: squeezenet, gpu: true",
                                  "network: llama-3-8b, format: Q8_0"}) {
    const Answer all = run(asked + ", device: all");
    ASSERT_GT(all.points.size(), 20u);
    std::set<std::string> devices;
    for (std::size_t i = 0; i < all.points.size(); i += 7) {
      const std::string device = all.points[i].at["device"];
      devices.insert(device);
      EXPECT_EQ(to_json(all.points[i], true),
                to_json(run(asked + ", device: " + device).points[0], true));
    }
    EXPECT_EQ(devices.size(), (all.points.size() + 6) / 7);
  }
}

TEST(EdgeQuestion, RowsAddUpToWhatIsAsked) {
  for (const std::string& asked : {kNetwork, kEngine}) {
    const Point p = run(asked).points[0];
    double us = 0, share = 0, macs = 0;
    for (const KernelRow& k : p.kernels) {
      us += k.time.value.value() * 1e6, share += k.share, macs += k.flops.value() / 2e9;
    }
    EXPECT_NEAR(us, 1e3 * p.find("latency")->value, 1e-6 * us);
    EXPECT_NEAR(share, 1, 1e-9);
    EXPECT_NEAR(macs, p.find("macs")->value, 1e-9 * macs);
    EXPECT_EQ(p.kernels.size(), std::size_t(p.find("kernels")->value));
  }
  const Point p = run(kLlm).points[0];
  std::map<std::string, double> ms;
  for (const KernelRow& k : p.kernels) ms[k.phase] += k.time.value.value() * 1e3;
  EXPECT_NEAR(ms["prefill"], p.find("ttft")->value, 1e-6 * ms["prefill"]);
  EXPECT_NEAR(p.find("tpot")->value * p.find("output_throughput")->value, 1e3, 1e-6);
  EXPECT_LT(p.find("output_throughput")->low90, p.find("output_throughput")->value);
  EXPECT_LT(p.find("tpot")->low90, p.find("tpot")->value);
}

TEST(EdgeQuestion, WhatDoesNotFitHasItsMemoryAndNoTimes) {
  const Answer a = run("network: llama-3-70b, device: rtx-3090");
  ASSERT_EQ(a.points.size(), 1u);
  const Point& p = a.points[0];
  EXPECT_FALSE(p.feasibility.fits);
  EXPECT_THAT(p.feasibility.reason, HasSubstr("2 such devices would have the memory"));
  EXPECT_EQ(p.find("tpot"), nullptr);
  EXPECT_TRUE(p.kernels.empty());
  Bytes sum;
  for (const MemoryRow& m : p.memory) sum += m.size;
  EXPECT_GT(sum, p.memory_capacity);
  const nlohmann::ordered_json json = to_json(p, true);
  EXPECT_EQ(json["memory"]["unit"], "GB per device");
  // Two of them share the layers.
  const Point two = run("network: llama-3-70b, device: rtx-3090, devices: 2").points[0];
  EXPECT_TRUE(two.feasibility.fits);
  Bytes half;
  for (const MemoryRow& m : two.memory) half += m.size;
  EXPECT_NEAR(half / sum, 0.5, 0.02);
}

// The inputs of a batch are counted once, by the device that takes several and in the file that
// leaves their number open.
TEST(EdgeQuestion, ABatchOfAnOnnxFileIsCountedOnce) {
  OnnxWriter out;
  out.input("x", {-1, 64, 64, 64});
  out.weight("w", {64, 64, 3, 3});
  out.node("Conv", {"x", "w"}, {"y"}, {});
  out.output("y");
  const std::string file = testing::TempDir() + "orrery-edge-question.onnx";
  std::ofstream(file, std::ios::binary) << out.bytes();
  for (const std::string device : {"l4", "rk3588"}) {
    const auto answer = [&](int batch) {
      return run(fmt::format("network: {}, device: {}, batch: {}", file, device, batch));
    };
    const auto flops = [&](int batch) {
      const Answer a = answer(batch);
      Flops sum;
      for (const KernelRow& k : a.points[0].kernels) sum += k.flops;
      return sum.value();
    };
    EXPECT_DOUBLE_EQ(flops(1), 2.0 * 64 * 64 * 9 * 62 * 62) << device;
    EXPECT_DOUBLE_EQ(flops(8), 8 * flops(1)) << device;
    const double one = answer(1).points[0].find("latency")->value,
                 eight = answer(8).points[0].find("latency")->value;
    EXPECT_GT(eight, one) << device;
    EXPECT_LE(eight, 8 * one * (1 + 1e-9)) << device;
  }
}

// The ONNX file of an LLM is the LLM. A key of networks, or a device on which llama.cpp was never
// measured, asks for one pass over its graph.
TEST(EdgeQuestion, TheFileOfAnLlmIsTheLlm) {
  const std::string file = testing::TempDir() + "orrery-edge-llama.onnx";
  std::ofstream(file, std::ios::binary) << llama_onnx(kLlama32);
  const auto first = [&](const std::string& network, const std::string& with) {
    return run(fmt::format("network: {}, {}", network, with)).points.at(0);
  };
  for (const std::string with :
       {"device: rtx-4090", "device: m4-max-40, format: Q8_0, prompt: 2048, depth: 512"}) {
    Point of_file = first(file, with);
    ASSERT_FALSE(of_file.notes.empty());
    EXPECT_THAT(of_file.notes.front(), HasSubstr("the matrices of llama-3.2-1b"));
    of_file.notes.erase(of_file.notes.begin());
    EXPECT_EQ(to_json(of_file, true), to_json(first("llama-3.2-1b", with), true));
  }
  for (const std::string with :
       {"device: rtx-4090, runtime: onnxruntime", "device: rk3399", "device: rk3588, threads: 4"}) {
    const Point pass = first(file, with);
    EXPECT_NE(pass.find("latency"), nullptr) << with;
    EXPECT_EQ(pass.find("tpot"), nullptr) << with;
  }
  EXPECT_THAT(refusal("device: rtx-4090, runtime: tensorrt, depth: 9, network: " + file),
              HasSubstr("edge.depth: has no effect"));
}

// Heat widens the interval to one side and leaves the other as it is.
TEST(EdgeQuestion, ASustainedLoadIsAnInterval) {
  for (const std::string asked : {"network: squeezenet, device: raspberry-pi-5",
                                  "network: llama-3.2-1b, device: snapdragon-8-elite"}) {
    const Point burst = run(asked).points.at(0),
                long_load = run(asked + ", sustained: true").points.at(0);
    const double least = burst.find("latency") != nullptr ? 1500.0 / 2400 : 0.5;
    for (const Metric& m : burst.metrics) {
      if (!m.has_interval()) continue;
      const Metric& now = *long_load.find(m.name);
      const bool rate = m.name.ends_with("throughput");
      EXPECT_DOUBLE_EQ(rate ? now.high90 : now.low90, rate ? m.high90 : m.low90) << m.name;
      EXPECT_NEAR(rate ? now.low90 / m.low90 : m.high90 / now.high90, least, 1e-9) << m.name;
      EXPECT_NEAR(rate ? now.value / m.value : m.value / now.value, std::sqrt(least), 1e-9);
    }
    double ms = 0;
    for (const KernelRow& k : long_load.kernels)
      if (k.phase != "decode") ms += k.time.value.value() * 1e3;
    const char* time = burst.find("latency") != nullptr ? "latency" : "ttft";
    EXPECT_NEAR(ms, long_load.find(time)->value, 1e-6 * ms);
  }
  EXPECT_THROW(run("network: squeezenet, device: jetson-nano, sustained: true"), NoData);
  const Answer all = run("network: squeezenet, device: all, sustained: true");
  EXPECT_GT(all.points.size(), 10u);
  EXPECT_LT(all.points.size(), 30u);
}

// Microcontrollers and NPUs answer networks of bytes, with the energy where the board's was
// measured; what nothing is known of is no data.
TEST(EdgeQuestion, SmallProcessors) {
  const std::string asked = "network: resnet8, device: ndp120-30mhz, precision: int8";
  const Point npu = run(asked).points.at(0);
  ASSERT_NE(npu.find("energy_per_inference"), nullptr);
  // MLPerf tiny v1.0, Syntiant: 15.98 ms and 0.1018 mJ.
  EXPECT_NEAR(npu.find("latency")->value, 16, 4);
  EXPECT_NEAR(npu.find("energy_per_inference")->value, 0.1, 0.03);
  const Point other = run("network: resnet8, device: m467, precision: int8").points.at(0);
  EXPECT_EQ(other.find("energy_per_inference"), nullptr);
  const Point large = run("network: resnet50, device: m467, precision: int8").points.at(0);
  EXPECT_FALSE(large.feasibility.fits);
  EXPECT_EQ(large.find("latency"), nullptr);
  EXPECT_THROW(run("network: resnet8, device: ndp120-30mhz"), NoData);
  EXPECT_THROW(run("network: resnet8, device: rk3588-npu, precision: int8"), NoData);
  EXPECT_THAT(refusal(asked + ", threads: 2"), HasSubstr("one core"));
  EXPECT_THAT(refusal("network: resnet8, device: ndp120-3mhz"), HasSubstr("ndp120-30mhz"));
}

TEST(EdgeQuestion, IsReadBackAsWritten) {
  for (const std::string& edge :
       {kNetwork + ", threads: [1, 4], precision: int8", kDraft + ", memory: 20 GiB, depth: 9"}) {
    const ScenarioSweep asked =
        read_scenario(all_kinds(), parse_yaml("edge: {" + edge + "}", "s.yaml"));
    const nlohmann::ordered_json written = to_json(asked);
    const ScenarioSweep again =
        read_scenario(all_kinds(), parse_json(written.dump(), "again.json"));
    EXPECT_EQ(to_json(again), written);
    EXPECT_EQ(again.points.size(), asked.points.size());
  }
}

TEST(EdgeQuestion, RefusesWhatMakesNoSense) {
  EXPECT_THAT(refusal("network: mobilenet_v3x, device: rk3588"), HasSubstr("mobilenet_v3"));
  EXPECT_THAT(refusal("network: mobilenet_v2, device: rk358"), HasSubstr("rk3588"));
  EXPECT_THAT(refusal("network: llama-3-8b, device: rtx-409"), HasSubstr("rtx-4090"));
  EXPECT_THAT(refusal("network: mobilenet_v2"), HasSubstr("device"));
  EXPECT_THAT(refusal("device: rk3588"), HasSubstr("network"));
  EXPECT_THAT(refusal("network: mobilenet_v2, device: rk3588, precision: half"),
              HasSubstr("GPUs of the catalog"));
  EXPECT_THAT(refusal("network: mobilenet_v2, device: rk3588, batch: 2"), HasSubstr("edge.batch"));
  EXPECT_THAT(refusal("network: none.onnx, device: rk3588"), HasSubstr("no such file"));
  EXPECT_THAT(refusal("network: mobilenet_v2, device: rk3588, thread: 4"), HasSubstr("threads"));
  EXPECT_THAT(refusal_of([] {
                read_scenario(all_kinds(),
                              parse_yaml("model: llama-3-8b\n"
                                         "edge: {network: mobilenet_v2, device: rk3588}\n",
                                         "s.yaml"));
              }),
              HasSubstr("s.yaml:1: model: a scenario with an edge has no such key"));
}

// Laws, networks and engines are read once for all points of a sweep, and for the next question.
TEST(EdgeTables, AreReadOnce) {
  Facts facts{Bundle()};
  EdgeTables& tables = facts.own<EdgeTables>();
  EXPECT_EQ(&tables, &facts.own<EdgeTables>());
  const std::string law = EdgePredictor::law_name({});
  EXPECT_EQ(&tables.law(law), &tables.law(law));
  EXPECT_EQ(&tables.network("resnet50", 1), &tables.network("resnet50", 1));
  EXPECT_EQ(&tables.llm_laws(), &tables.llm_laws());
  const Gpu gpu = tables.catalog().gpu("l4");
  EXPECT_EQ(&tables.engine(gpu, "tensorrt"), &tables.engine(gpu, "tensorrt"));
  EXPECT_NE(&tables.engine(gpu, "tensorrt"), &tables.engine(gpu, "pytorch"));
}

TEST(EdgeQuestion, IsChecked) {
  Runner runner{Bundle()};
  const auto check = [&](const std::string& edge) {
    return check_scenario(read_scenario(all_kinds(), parse_yaml("edge: {" + edge + "}", "s.yaml")),
                          runner);
  };
  const ScenarioCheck c = check("network: llama-3-70b, device: rtx-3090, devices: [1, 2]");
  EXPECT_EQ(c.what, "2 points, networks and LLMs at the edge; swept: edge.devices (2 values)");
  EXPECT_EQ(c.misfits, 1);
  ASSERT_EQ(c.reasons.size(), 1u);
  EXPECT_THAT(c.reasons[0], HasSubstr("does not fit on rtx-3090"));
  const ScenarioCheck none = check("network: llama-3-70b, device: rtx-3090");
  EXPECT_EQ(none.misfits, none.points);
}

}  // namespace edge_question_test
}  // namespace orrery
