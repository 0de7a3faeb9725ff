// Every output format that programs read is well formed, and all formats say the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/golden/program.h"

namespace orrery::golden {
namespace faces_test {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

const std::string kAsk = "estimate -m llama-3-8b -g h100-sxm --isl 256 --osl 32 --batch 1,4 ";

TEST(Faces, JsonIsVersionedAndHasUnitsIntervalsAndOrigins) {
  const json j = json::parse(run_program(kAsk + "-o json").out);
  EXPECT_EQ(j["format"], 1);
  EXPECT_EQ(j["configuration"]["engine"]["profile"], "vllm");
  ASSERT_EQ(j["points"].size(), 2u);
  const json& tpot = j["points"][1]["metrics"]["tpot"];
  EXPECT_EQ(tpot["unit"], "ms");
  EXPECT_LT(tpot["interval90"][0], tpot["value"]);
  EXPECT_GT(tpot["interval90"][1], tpot["value"]);
  EXPECT_EQ(tpot["origin"], "fitted");
  EXPECT_FALSE(j["points"][1]["kernels"].empty());
}

// A table shows an energy in the unit of its magnitude, and programs read it in that of the metric.
TEST(Faces, EnergiesAreShownInTheUnitOfTheirMagnitude) {
  const std::string run = "train -m llama-3-8b -g h100-sxm --gpus 8 --zero 3 --tokens 1e9 -o ";
  const json energy = json::parse(run_program(run + "json").out)["points"][0]["metrics"]["energy"];
  EXPECT_EQ(energy["unit"], "MWh");
  ASSERT_LT(energy["value"], 0.1);
  const std::string table = run_program(run + "table").out;
  const std::size_t at = table.find("\nenergy  ");
  ASSERT_NE(at, std::string::npos) << table;
  std::istringstream line(table.substr(at));
  std::string name, unit;
  double value = 0;
  line >> name >> value >> unit;
  EXPECT_EQ(unit, "kWh");
  EXPECT_NEAR(value, 1e3 * energy["value"].get<double>(), 1e-3 * value);
}

// The energy of kernels by kind is in the JSON and on the page, and adds up to the energy by unit.
TEST(Faces, TheEnergyOfKernelsByKindAddsUp) {
  const Scratch s;
  const std::string page = s.path() / "e.html";
  for (const std::string& ask :
       {std::string("estimate -m llama-3-8b -g h100-sxm --batch 8 --scope facility --breakdown "),
        std::string("simulate -m llama-3-8b -g h100-sxm --rate 4 --requests 40 "),
        std::string("train -m llama-3-8b -g h100-sxm --gpus 8 --zero 3 --breakdown ")}) {
    const json point = json::parse(run_program(ask + "-o json --html " + page).out)["points"][0];
    const json &rows = point["energy_by_kernel"], &units = point["energy"];
    double sum = 0;
    for (const auto& [name, energy] : rows.items())
      if (energy.is_number() && name != "total") sum += energy.get<double>();
    EXPECT_NEAR(sum, units["total"].get<double>(), 1e-4 * sum) << ask;
    EXPECT_EQ(rows["unit"], units["unit"]);
    EXPECT_THAT(read_file(page), HasSubstr("by kind of kernel")) << ask;
  }
}

TEST(Faces, JsonlAndCsvHaveALineAPoint) {
  const std::string lines = run_program(kAsk + "-o jsonl").out;
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 2);
  const json first = json::parse(lines.substr(0, lines.find('\n')));
  EXPECT_EQ(first["format"], 1);
  EXPECT_EQ(first["batch"], 1);
  const std::string csv = run_program(kAsk + "-o csv").out;
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 3);
}

TEST(Faces, PlotsOfEveryKindOfNetworkQuestion) {
  const Scratch s;
  const std::string page = s.path() / "p.html";
  const std::string topology = s.file(
      "ring.yaml", "dimensions: [{kind: ring, size: 4, bandwidth: 1 GB/s, latency: 1 us}]\n");
  for (const std::string& ask :
       {std::string("all-reduce -g h100-sxm"), std::string("moe-dispatch -g h100-sxm"),
        std::string("all-reduce -g h100-sxm --fidelity flow"), "all-reduce --topology " + topology,
        std::string("all-gather --as astra-sim --topology tests/golden/hgx-astra-sim.yml")}) {
    const Result r = run_program("network " + ask + " --plot " + page);
    EXPECT_EQ(r.code, 0) << ask << r.err;
    EXPECT_THAT(read_file(page), HasSubstr("busbw [GB/s]")) << ask;
  }
}

// Each verb has the picture that its question is about first, and all of its pictures in its page.
TEST(Faces, PicturesOfEveryVerb) {
  const Scratch s;
  const std::string svg = s.path() / "p.svg", page = s.path() / "p.html";
  const std::string load = "simulate -m llama-3-8b -g h100-sxm --requests 30 --rate ";
  for (const auto& [ask, title] : std::vector<std::pair<std::string, std::string>>{
           {load + "2,4", "Latency under load"},
           {"estimate -m llama-3-8b -g h100-sxm", "Roofline of NVIDIA H100"},
           {"estimate -m llama-3-8b -g h100-sxm --batch 1,2,4", "Trade-offs"},
           {"memory -m llama-3-8b -g h100-sxm --tp 1,2", "memory over "},
           {"train -m llama-3-8b -g h100-sxm --gpus 8 --pp 4 --global-batch 8", "Timeline"},
           {"kernel gemm -g h100-sxm -m 1,64", "rate over m"},
           {"network all-reduce -g h100-sxm --gpus 8 --bytes 1K,1M", "busbw over bytes"},
           {"plan -m llama-3-8b --gpu h100-sxm,l40s --rate 1 --slo tpot:40ms", "Trade-offs"}}) {
    const Result r = run_program(ask + " --svg " + svg + " --html " + page);
    ASSERT_EQ(r.code, 0) << ask << r.err;
    const std::string picture = read_file(svg);
    EXPECT_TRUE(picture.starts_with("<svg ")) << ask;
    EXPECT_THAT(picture, HasSubstr("<title>" + title)) << ask;
    // An element of a page has no name space of its own.
    EXPECT_THAT(read_file(page), HasSubstr("<svg" + picture.substr(picture.find(" class="))))
        << ask;
    EXPECT_THAT(read_file(page), Not(HasSubstr("src="))) << ask;
  }
  const std::string front =
      "plan -m llama-3-8b --gpu h100-sxm --tp 1,2 --pp 1 --rate 20 --requests 100 --objective "
      "pareto --slo tpot:p95:40ms --svg ";
  EXPECT_EQ(run_program(front + svg).code, 0);
  EXPECT_THAT(read_file(svg), HasSubstr("tpot p95 [ms]"));
  const std::string one = "estimate -m llama-3-8b -g h100-sxm --svg " + svg;
  EXPECT_EQ(run_program(one + " --picture kernels").code, 0);
  EXPECT_THAT(read_file(svg), HasSubstr("gate_up_proj"));
  EXPECT_THAT(run_program(one + " --picture load").err,
              HasSubstr("`load` needs several rates of a simulated service, as in --rate 4-36+4; "
                        "this answer has roofline"));
  EXPECT_THAT(run_program(one + " --picture rooflin").err, HasSubstr("did you mean 'roofline'?"));
  EXPECT_EQ(run_program("kernel decode -g h100-sxm --svg " + svg).code, 0);
  EXPECT_EQ(run_program("memory -m llama-3-8b -g h100-sxm --picture load").code, 2);
}

TEST(Faces, ThePageOfASuiteDrawsItsIntervals) {
  const std::string page = run_program("suite run T1.1 -o html").out;
  EXPECT_THAT(page, HasSubstr("90 % intervals, in percent of the value"));
  EXPECT_THAT(page, HasSubstr(">T1.1 latency<"));
  EXPECT_THAT(page, HasSubstr("the question passes"));
}

TEST(Faces, NoTwoColumnsOfCsvHaveOneName) {
  for (const char* ask :
       {"estimate -m llama-3-8b -g h100-sxm", "train -m llama-3-8b -g h100-sxm --gpus 8",
        "simulate -m llama-3-8b -g h100-sxm --requests 5", "network all-reduce -g h100-sxm",
        "kernel gemm --gpu h100-sxm"}) {
    const std::string csv = run_program(std::string(ask) + " -o csv").out;
    std::istringstream header(csv.substr(0, csv.find('\n')));
    std::multiset<std::string> columns;
    for (std::string column; std::getline(header, column, ',');) columns.insert(column);
    EXPECT_GT(columns.size(), 5u) << ask;
    for (const std::string& column : columns) EXPECT_EQ(columns.count(column), 1u) << column;
  }
}

// A line each, all four figures under their heads, within 80 columns.
TEST(Faces, DistributionsOfLongNames) {
  const Result r = run_program(
      "simulate -m llama-3-8b -g h100-sxm --rate 40 --requests 200 --isl 512 --osl 16 "
      "--priorities 1,3 --scheduling-policy priority");
  ASSERT_EQ(r.code, 0) << r.err;
  std::size_t found = 0;
  for (const std::string& line : lines_of(r.out)) {
    EXPECT_LE(line.size(), 80u) << line;
    if (!line.starts_with("ttft")) continue;
    std::istringstream words(line);
    std::string name;
    double figure[4];
    EXPECT_TRUE(words >> name >> figure[0] >> figure[1] >> figure[2] >> figure[3]) << line;
    ++found;
  }
  EXPECT_EQ(found, 3u) << r.out;  // all, and of each priority
}

TEST(Faces, SeveralScenariosAreOneDocument) {
  const std::string file = "scenarios/llama-3-70b-8xh100.yaml ";
  const json j = json::parse(run_program("run " + file + file + "--no-breakdown -o json").out);
  ASSERT_TRUE(j.is_array());
  EXPECT_EQ(j.size(), 2u);
  EXPECT_EQ(j[0], j[1]);
}

TEST(Faces, FlagsWinOverSetOverFile) {
  const std::string ask = "run scenarios/llama-3-70b-8xh100.yaml --no-breakdown -o jsonl ";
  EXPECT_EQ(json::parse(run_program(ask).out)["batch"], 16);
  EXPECT_EQ(json::parse(run_program(ask + "--set workload.batch=8").out)["batch"], 8);
  EXPECT_EQ(json::parse(run_program(ask + "--set workload.batch=8 --batch 4").out)["batch"], 4);
}

TEST(Faces, VersionNamesTheCommit) {
  EXPECT_THAT(run_program("--version").out,
              testing::MatchesRegex("orrery 0\\.1\\.0 \\(([0-9a-f]+|unknown commit)\\)\nmany "
                                    "machines \\(mpirun\\): (Open MPI [0-9.]+|not "
                                    "built in)\n"));
}

TEST(Faces, ListsAndFactsInEveryForm) {
  for (const char* kind : {"models", "gpus", "engines"}) {
    const std::string ask = std::string("list ") + kind + " -o ";
    const json j = json::parse(run_program(ask + "json").out);
    ASSERT_TRUE(j.is_array());
    for (const char* form : {"jsonl", "csv", "md", "table"}) {
      const std::string text = run_program(ask + form).out;
      for (const json& row : j) EXPECT_THAT(text, HasSubstr(row["id"].get<std::string>())) << form;
    }
  }
  EXPECT_GE(json::parse(run_program("list models -o json").out).size(), 60u);
  EXPECT_EQ(json::parse(run_program("show llama-3-8b -o json").out)["parameters"], 8030261248);
  for (const char* verb : {"memory -m llama-3-8b -g h100-sxm", "kernel gemm --gpu h100-sxm"}) {
    EXPECT_EQ(json::parse(run_program(std::string(verb) + " -o json").out)["format"], 1) << verb;
  }
}

TEST(Faces, ListsTheModelsOfAFamily) {
  const json glm = json::parse(run_program("list models --family glm4 -o json").out);
  ASSERT_GE(glm.size(), 5u);
  for (const json& row : glm)
    EXPECT_THAT(row["family"].get<std::string>(), testing::StartsWith("glm4"));
  const json deepseek = json::parse(run_program("list models --family DeepSeek-V3 -o json").out);
  for (const json& row : deepseek) {
    const bool r1 = row["id"] == "deepseek-r1";
    EXPECT_EQ(r1, row["variants"] == json::array({"deepseek-r1-nvfp4"})) << row["id"];
  }
  EXPECT_EQ(deepseek.front()["id"], "deepseek-r1");
  const Result none = run_program("list models --family lama");
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.err, HasSubstr("did you mean 'llama'?"));
  EXPECT_EQ(run_program("list gpus --family llama").code, 2);
}

TEST(Faces, ShowsTheLayersOfAModelInTheirOrder) {
  const json gemma = json::parse(run_program("show gemma-3-27b -o json").out);
  EXPECT_EQ(gemma["layer_order"], "10 x (5 x A, B), 2 x A");
  EXPECT_THAT(gemma["layer_kinds"]["A"].get<std::string>(),
              testing::StartsWith("52 x window of 1024"));
  EXPECT_THAT(gemma["layer_kinds"]["B"].get<std::string>(),
              testing::StartsWith("10 x full attention"));
  const json by_hub_id = json::parse(run_program("show nvidia/Qwen3-235B-A22B-NVFP4 -o json").out);
  EXPECT_EQ(by_hub_id["id"], "qwen3-235b-a22b-nvfp4");
  EXPECT_EQ(by_hub_id["parameters"], 235093634560);
}

TEST(Faces, PageIsSelfContainedAndTimelineAddsUp) {
  const Scratch s;
  const std::string page = s.path() / "a.html", timeline = s.path() / "a.json";
  const Result r = run_program("run scenarios/llama-3-70b-8xh100.yaml -o jsonl --html '" + page +
                               "' --trace '" + timeline + "'");
  ASSERT_EQ(r.code, 0) << r.err;
  const std::string text = read_file(page);
  EXPECT_THAT(text, HasSubstr("What does Llama-3-70B"));
  EXPECT_THAT(text, HasSubstr("tpot"));
  for (const char* outside : {"http:", "https:", "<script", "<link", "@import", "url("})
    EXPECT_THAT(text, Not(HasSubstr(outside)));
  double drawn = 0, listed = 0;
  for (const json& e : json::parse(read_file(timeline))["traceEvents"]) {
    if (e["ph"] == "X") drawn += e["dur"].get<double>();
  }
  for (const json& k : json::parse(r.out)["kernels"]) listed += k["time_us"].get<double>();
  EXPECT_NEAR(drawn, listed, 1e-4 * listed);
}

TEST(Faces, ChunkedPrefillIsSwitched) {
  const std::string ask = "estimate -m llama-3-8b -g h100-sxm -o json ";
  auto chunked = [](const Result& r) {
    return json::parse(
        r.out)["configuration"]["engine"]["constants"]["scheduler"]["chunked_prefill"];
  };
  EXPECT_EQ(chunked(run_program(ask + "--no-enable-chunked-prefill")), false);
  EXPECT_EQ(chunked(run_program(ask + "--engine vllm-2024 --enable-chunked-prefill")), true);
}

TEST(Faces, TablesFitEightyColumns) {
  for (const char* ask :
       {"list models", "list gpus", "list engines", "list stacks", "list schedules",
        "kernel decode --gpu a100-80g-pcie", "kernel gemm --gpu rtx-6000-ada -m 1-4096*64",
        "estimate -m llama-3-8b -g h100-sxm --batch 8 --price 2.5",
        "train -m llama-3-8b -g h100-sxm --gpus 8 --tokens 1T --price 2.5",
        "simulate -m llama-3-8b -g h100-sxm --requests 100 --price 2.5"}) {
    std::istringstream table(run_program(ask).out);
    for (std::string line; std::getline(table, line);) EXPECT_LE(line.size(), 80u) << line;
  }
}

TEST(Faces, HelpOfEveryVerbFitsEightyColumns) {
  for (const char* verb :
       {"", "estimate", "memory", "kernel", "run", "list", "show", "fit", "validate"}) {
    const Result r = run_program(std::string(verb) + " --help");
    EXPECT_EQ(r.code, 0) << verb;
    for (std::size_t at = 0; at < r.out.size();) {
      const std::size_t end = std::min(r.out.find('\n', at), r.out.size());
      EXPECT_LE(end - at, 80u) << verb << ": " << r.out.substr(at, end - at);
      at = end + 1;
    }
  }
  EXPECT_THAT(run_program("estimate --help").out, HasSubstr("the first excluded"));
}

// A step that is written as a Chakra trace takes the same time in the replay as in the estimate:
// the trace names the engine's all-reduce and what the engine adds to each call.
TEST(Faces, AStepGoesOutAndComesBackAsATrace) {
  const Scratch scratch;
  const std::string prefix = (scratch.path() / "step").string();
  const json asked = json::parse(run_program("estimate -m llama-3-8b -g h100-sxm --tp 8 --isl 2048 "
                                             "--osl 16 --batch 8 -o json --chakra " +
                                             prefix)
                                     .out);
  for (const std::string phase : {"prefill", "decode"}) {
    double computing = 0, talking = 0;
    for (const json& k : asked["points"][0]["kernels"]) {
      if (k["phase"] != phase || k["part"] == "host") continue;
      (k["part"] == "communication" ? talking : computing) += k["time_us"].get<double>();
    }
    const json replayed =
        json::parse(run_program("network --gpus 8 -g h100-sxm --fidelity analytical "
                                "-o json --chakra " +
                                prefix + "." + phase)
                        .out);
    const json& m = replayed["points"][0]["metrics"];
    EXPECT_NEAR(m["computing"]["value"].get<double>(), computing, 2) << phase;
    EXPECT_NEAR(m["exposed"]["value"].get<double>(), talking, 0.01 * talking) << phase;
  }
  const Result many =
      run_program("estimate -m llama-3-8b -g h100-sxm --batch 1,2 --chakra " + prefix);
  EXPECT_EQ(many.code, 2);
  EXPECT_THAT(many.err, HasSubstr("--chakra: expected one point, got a sweep"));
}

TEST(Faces, ReducesAndUnevenExchanges) {
  const auto time = [](const std::string& arguments) {
    const json j = json::parse(run_program("network " + arguments + " -g h100-sxm -o json").out);
    return j["points"][0]["metrics"]["time"]["value"].get<double>();
  };
  for (const std::string more :
       {"--gpus 8 --bytes 1G", "--gpus 32 --bytes 1G", "--gpus 32 --bytes 1G --fidelity flow"}) {
    EXPECT_LT(time("reduce " + more), time("all-reduce " + more)) << more;
  }
  // The collective is as slow as the rank with the most data.
  EXPECT_DOUBLE_EQ(time("all-to-all --gpus 16 --bytes 64M --imbalance 2"),
                   time("all-to-all --gpus 16 --bytes 128M"));
  EXPECT_EQ(run_program("network all-reduce --gpus 16 -g h100-sxm --imbalance 2").code, 2);
}

}  // namespace faces_test
}  // namespace orrery::golden
