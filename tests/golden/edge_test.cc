// Questions about the edge as flags and as scenario files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/golden/program.h"

namespace orrery::golden {
namespace edge_test {

using nlohmann::json;
using testing::HasSubstr;

json answers_of(const std::string& words) {
  const Result r = run_program(words + " -o json");
  EXPECT_EQ(r.code, 0) << words << r.err;
  return json::parse(r.out)["answers"];
}

// A list in a key of a scenario is a sweep over it: each point is what its flags ask.
TEST(EdgeScenario, AListInAnyKeyIsASweep) {
  const Scratch s;
  const std::string file = s.file("edge.yaml",
                                  "edge:\n  network: [mobilenet_v2, resnet50]\n"
                                  "  device: [raspberry-pi-5, rk3588]\n  threads: [1, 4]\n");
  const json all = answers_of("run " + file);
  ASSERT_EQ(all.size(), 8u);
  std::size_t i = 0;
  for (const char* network : {"mobilenet_v2", "resnet50"}) {
    for (const char* device : {"raspberry-pi-5", "rk3588"}) {
      for (const char* threads : {"1", "4"}) {
        json one = answers_of(std::string("edge ") + network + " -d " + device + " --threads " +
                              threads)[0];
        one["threads"] = threads;
        EXPECT_EQ(all[i++], one) << network << " " << device << " " << threads;
      }
    }
  }
}

TEST(EdgeScenario, LlmsAreAskedLikewise) {
  const Scratch s;
  const std::string file = s.file("llm.yaml",
                                  "edge: {network: llama-3.1-8b, device: rtx-4090, format: "
                                  "[Q4_K_M, Q8_0], prompt: 1024}\n");
  const json flags = answers_of("edge llama-3.1-8b -d rtx-4090 --format Q4_K_M,Q8_0 --prompt 1024");
  EXPECT_EQ(answers_of("run " + file), flags);
}

TEST(EdgeScenario, WhatIsWrongIsNamedWithItsPlace) {
  const Scratch s;
  const auto error = [&](const std::string& text) {
    const Result r = run_program("run " + s.file("bad.yaml", text));
    EXPECT_EQ(r.code, 2) << text;
    return r.err;
  };
  EXPECT_THAT(error("edge: {network: mobilenet_v2, device: raspberry-pi-5, thread: 4}\n"),
              HasSubstr("threads"));
  EXPECT_THAT(error("edge: {network: mobilenet_v3x, device: raspberry-pi-5}\n"),
              HasSubstr("mobilenet_v3"));
  EXPECT_THAT(error("edge: {device: raspberry-pi-5}\n"), HasSubstr("network"));
  EXPECT_THAT(error("edge: {network: mobilenet_v2, device: rk3588, precision: int4}\n"),
              HasSubstr("int8"));
  EXPECT_THAT(error("model: llama-3-8b\nedge: {network: mobilenet_v2, device: rk3588}\n"),
              HasSubstr("`edge` alone"));
}

// A network of bytes is the network of floats with --precision int8.
TEST(EdgeNetworks, BytesByNameOrByPrecision) {
  json named = answers_of("edge resnet50_int8 -d raspberry-pi-5")[0];
  json asked = answers_of("edge resnet50 -d raspberry-pi-5 --precision int8")[0];
  EXPECT_EQ(named["latency_ms"], asked["latency_ms"]);
  EXPECT_LT(named["latency_ms"], answers_of("edge resnet50 -d raspberry-pi-5")[0]["latency_ms"]);
}

TEST(EdgeNetworks, GpusOfTheCatalogRunEngines) {
  const json a = answers_of("edge retinanet -d rtx-4090,l4 --runtime tensorrt --precision int8");
  ASSERT_EQ(a.size(), 2u);
  EXPECT_LT(a[0]["latency_ms"], a[1]["latency_ms"]);
  EXPECT_LT(a[0]["low90"], a[0]["latency_ms"]);
}

}  // namespace edge_test
}  // namespace orrery::golden
