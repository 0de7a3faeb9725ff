// Questions about the edge as flags and as scenario files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/golden/program.h"

namespace orrery::golden {
namespace edge_test {

using nlohmann::json;
using testing::HasSubstr;

json points_of(const std::string& words) {
  const Result r = run_program(words + " -o json");
  EXPECT_EQ(r.code, 0) << words << r.err;
  return json::parse(r.out)["points"];
}

double latency(const json& point) { return point["metrics"]["latency"]["value"]; }

// A list in a key of a scenario is a sweep over it: each point is what its flags ask.
TEST(EdgeScenario, AListInAnyKeyIsASweep) {
  const Scratch s;
  const std::string file = s.file("edge.yaml",
                                  "edge:\n  network: [mobilenet_v2, resnet50]\n"
                                  "  device: [raspberry-pi-5, rk3588]\n  threads: [1, 4]\n");
  const json all = points_of("run " + file);
  ASSERT_EQ(all.size(), 8u);
  std::size_t i = 0;
  for (const char* network : {"mobilenet_v2", "resnet50"}) {
    for (const char* device : {"raspberry-pi-5", "rk3588"}) {
      for (const char* threads : {"1", "4"}) {
        json one = points_of(std::string("edge ") + network + " -d " + device + " --threads " +
                             threads)[0];
        one["threads"] = std::stoi(threads);
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
  const json flags = points_of("edge llama-3.1-8b -d rtx-4090 --format Q4_K_M,Q8_0 --prompt 1024");
  EXPECT_EQ(points_of("run " + file), flags);
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
              HasSubstr("bad.yaml:1: model: a scenario with an edge has no such key"));
}

// A network of bytes is the network of floats with --precision int8.
TEST(EdgeNetworks, BytesByNameOrByPrecision) {
  const json named = points_of("edge resnet50_int8 -d raspberry-pi-5")[0];
  const json asked = points_of("edge resnet50 -d raspberry-pi-5 --precision int8")[0];
  EXPECT_EQ(latency(named), latency(asked));
  EXPECT_LT(latency(named), latency(points_of("edge resnet50 -d raspberry-pi-5")[0]));
}

TEST(EdgeNetworks, GpusOfTheCatalogRunEngines) {
  const json a = points_of("edge retinanet -d rtx-4090,l4 --runtime tensorrt --precision int8");
  ASSERT_EQ(a.size(), 2u);
  EXPECT_LT(latency(a[0]), latency(a[1]));
  EXPECT_LT(a[0]["metrics"]["latency"]["interval90"][0].get<double>(), latency(a[0]));
}

// Scenarios of several kinds are one document, each as it is by itself.
TEST(EdgeScenario, SeveralScenariosAreOneDocument) {
  const std::string edge = "scenarios/edge/too-small.yaml",
                    other = "scenarios/llama-3-70b-8xh100.yaml";
  const json both = json::parse(run_program("run " + edge + " " + other + " -o json").out);
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(both[0], json::parse(run_program("run " + edge + " -o json").out));
  EXPECT_EQ(both[1], json::parse(run_program("run " + other + " -o json").out));
  EXPECT_EQ(run_program("run " + edge + " --set edge.devices=2 -o jsonl").code, 0);
  EXPECT_EQ(run_program("run " + edge + " --set edge.devices=1").code, 3);
}

// The table has a line for each point, within 80 columns, and says what would fit.
TEST(EdgeTable, LinesFit) {
  for (const char* ask :
       {"edge mobilenet_v2,resnet50 -d all", "edge llama-3-8b -d all --format F16",
        "edge squeezenet -d rk3588 --explain", "edge llama-3-8b -d rtx-4090 --explain",
        "edge resnet50,llama-3-8b -d rtx-4090", "edge squeezenet -d rk3588 --threads 1,2,4",
        "check scenarios/edge/laptop-llms.yaml"}) {
    const Result r = run_program(ask);
    EXPECT_EQ(r.code, 0) << ask << r.err;
    if (std::string(ask).starts_with("check")) continue;
    for (const std::string& line : lines_of(r.out)) EXPECT_LE(line.size(), 80u) << line;
  }
  const Result none = run_program("edge llama-3-70b -d m1-8");
  EXPECT_EQ(none.code, 3);
  EXPECT_THAT(none.out, HasSubstr("no room"));
  EXPECT_THAT(none.out, HasSubstr("4 such devices would"));
}

// A device that is asked alone states the share of each kind of core; many share one line.
TEST(EdgeTable, NotesOfManyDevicesAreOneLine) {
  const auto lines = [](const std::string& device) {
    std::vector<std::string> about;
    for (const std::string& line : lines_of(run_program("edge squeezenet -d " + device).out)) {
      if (line.find("are split by") != std::string::npos) about.push_back(line);
    }
    return about;
  };
  EXPECT_THAT(lines("rk3588"), testing::ElementsAre(HasSubstr("rk3588: ")));
  EXPECT_THAT(lines("all"), testing::ElementsAre(HasSubstr("by the rates of the cores")));
  EXPECT_THAT(lines("raspberry-pi-5"), testing::IsEmpty());
}

// Every form and picture of other verbs' answers.
TEST(EdgeFaces, FormsAndPictures) {
  const Scratch s;
  const std::string svg = s.path() / "e.svg", page = s.path() / "e.html";
  for (const auto& [ask, title] : std::vector<std::pair<std::string, std::string>>{
           {"edge squeezenet -d rk3588 --threads 1,2,4", "latency over threads"},
           {"edge squeezenet -d rk3588", "Kernels of a step (inference)"},
           {"edge llama-3-8b -d rtx-4090 --picture memory", "Memory of a device"},
           {"edge llama-3-8b -d rtx-4090,m4-max-40,rtx-3060", "Trade-offs"}}) {
    const Result r = run_program(ask + " --svg " + svg + " --html " + page);
    ASSERT_EQ(r.code, 0) << ask << r.err;
    EXPECT_THAT(read_file(svg), HasSubstr("<title>" + title)) << ask;
  }
  const std::string csv = run_program("edge squeezenet -d rk3588,jetson-nano -o csv").out;
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 3);
  EXPECT_THAT(csv, HasSubstr("latency_high90"));
}

}  // namespace edge_test
}  // namespace orrery::golden
