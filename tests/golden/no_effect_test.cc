// Is input without effect refused? Examples are flags whose switch is off, and pairs of hardware
// and software that do not exist. Are other tools' names of a flag accepted, and do several values
// make a sweep?
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/golden/program.h"

namespace orrery::golden {
namespace no_effect_test {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr int kBadInput = 2, kInfeasible = 3;

struct Case {
  const char* ask;   // a question that has an answer
  const char* flag;  // has no effect on it
  const char* needs;
};

const std::vector<Case> kCases = {
    {"train -m llama-3-8b -g h100-sxm", "--lora-rank 16", "training.tuning lora"},
    {"train -m llama-3-8b -g h100-sxm", "--lora-rank 64", "training.tuning lora"},
    {"train -m llama-3-8b -g h100-sxm", "--lora-targets q", "training.tuning lora"},
    {"train -m llama-3-8b -g h100-sxm", "--fp8-recipe mx", "training.compute fp8"},
    {"train -m llama-3-8b -g h100-sxm", "--recompute-layers 4", "training.recompute full"},
    {"train -m llama-3-8b -g h100-sxm", "--dispatcher flex", "training.ep above 1"},
    {"train -m llama-3-8b -g h100-sxm", "--route-nodes 4", "training.ep above 1"},
    {"train -m llama-3-8b -g h100-sxm", "--capacity-factor 1.5", "a model with experts"},
    {"train -m llama-3-8b -g h100-sxm", "--expert-skew 0.5", "a model with experts"},
    {"train -m llama-3-8b -g h100-sxm", "--eval-interval 100", "training.tokens"},
    {"estimate -m llama-3-8b -g h100-sxm --price 2", "--tier spot", "no cost.price"},
    {"estimate -m llama-3-8b -g h100-sxm", "--provider Nebius", "cost.tier"},
    {"train -m llama-3-8b -g h100-sxm --price 2", "--price-book prices.yaml", "cost.tier"},
    {"train -m llama-3-8b -g h100-sxm", "--tp-overlap-pieces 4", "training.tp_overlap"},
    {"simulate -m llama-3-8b -g h100-sxm", "--speculation-tokens 4", "speculation.method"},
    {"simulate -m llama-3-8b -g h100-sxm", "--burstiness 0.25", "load.arrivals gamma"},
    {"simulate -m llama-3-8b -g h100-sxm", "--end-rate 4", "load.arrivals ramp"},
    {"simulate -m llama-3-8b -g h100-sxm", "--amplitude 0.5", "load.arrivals diurnal"},
    {"simulate -m llama-3-8b -g h100-sxm", "--autoscale-target 4", "autoscale.policy"},
    {"simulate -m llama-3-8b -g h100-sxm", "--autoscale-decode-target 4",
     "autoscale.policy and disaggregation.decode"},
    {"simulate -m llama-3-8b -g h100-sxm", "--failures-restart 30s", "failures.mean_time"},
    {"simulate -m llama-3-8b -g h100-sxm", "--disaggregation-transfer layerwise",
     "disaggregation.decode"},
    {"simulate -m llama-3-8b -g h100-sxm", "--lora-rank 8", "lora.adapters"},
    {"simulate -m llama-3-8b -g h100-sxm", "--tool-time 100", "load.turns"},
    {"simulate -m llama-3-8b -g h100-sxm", "--time-scale 2", "load.trace"},
    {"simulate -m llama-3-8b -g h100-sxm --arrivals at-once", "--rate 4", "load.arrivals"},
    {"estimate -m llama-3-8b -g h100-sxm", "--expert-skew 0.5", "a model with experts"},
    {"estimate -m llama-3-8b -g h100-sxm", "--moe-quantization fp8", "a model with experts"},
    {"estimate -m llama-3-8b -g h100-sxm", "--requests-per-user 5", "workload.closed_loop"},
    {"network all-reduce -g h100-sxm", "--tokens 4096", "moe-dispatch"},
    {"network all-reduce -g h100-sxm --fidelity flow", "--power-limit 500W",
     "no effect on a collective at flow level"},
    {"network all-reduce -g h100-sxm --fidelity flow", "--clock 1410MHz",
     "no effect on a collective at flow level"},
    {"memory -m llama-3-8b -g h100-sxm", "--power-limit 500W", "no effect on memory"},
    {"estimate -m llama-3-8b -g h100-sxm", "--objective energy", "one point leaves no choice"},
    {"estimate -m llama-3-8b -g h100-sxm --batch 1,2", "--objective cost", "cost.price"},
    {"network moe-dispatch -g h100-sxm", "--bytes 1M", "another kind than moe-dispatch"},
    {"network all-reduce -g h100-sxm", "--efficiency 0.8", "fidelity flow"},
    {"network all-reduce -g h100-sxm --fidelity analytical", "--flow-algorithm ring",
     "fidelity flow"},
    {"network all-reduce -g h100-sxm --fidelity flow", "--algorithm ring", "flow_algorithm"},
};

TEST(NoEffect, AFlagWhoseSwitchIsOffIsRefusedByBothNames) {
  for (const Case& c : kCases) {
    const std::string flag = c.flag;
    const Result r = run_program(std::string(c.ask) + " " + flag);
    EXPECT_EQ(r.code, kBadInput) << c.ask << " " << flag;
    EXPECT_THAT(r.err, AllOf(HasSubstr(flag.substr(0, flag.find(' '))), HasSubstr(c.needs)))
        << c.ask;
    EXPECT_EQ(r.out, "") << c.ask << " " << flag;
  }
}

TEST(NoEffect, WithItsSwitchItIsTaken) {
  for (const char* ask :
       {"train -m llama-3-8b -g h100-sxm --lora-rank 64 --tuning lora",
        "train -m mixtral-8x7b -g h100-sxm --gpus 32 --ep 1,8 --dispatcher flex",
        "simulate -m llama-3-8b -g h100-sxm --requests 20 --arrivals gamma --burstiness 0.25",
        "estimate -m mixtral-8x7b -g h200-sxm --tp 2 --expert-skew 0.5",
        "network moe-dispatch -g h100-sxm --tokens 128"}) {
    const Result r = run_program(std::string(ask) + " -o json");
    EXPECT_EQ(r.code, 0) << ask << "\n" << r.err;
  }
}

// A resolved configuration states everything: its defaults are no wish.
TEST(NoEffect, AFileMayRepeatDefaults) {
  const Scratch s;
  const std::string head =
      "model: llama-3-8b\nhardware: {gpu: h100-sxm}\ntraining: {gpus: 8, lora_rank: ";
  EXPECT_EQ(run_program("run " + s.file("same.yaml", head + "16}\n")).code, 0);
  const Result other = run_program("run " + s.file("other.yaml", head + "64}\n"));
  EXPECT_EQ(other.code, kBadInput);
  EXPECT_THAT(other.err, HasSubstr("other.yaml:3: training.lora_rank: has no effect"));
}

// The points of an answer, without where they are.
std::string points_of(const std::string& ask) {
  const Result r = run_program(ask + " -o json");
  const json j = json::parse(r.out, nullptr, false);
  return j.is_object() ? j.at("points").dump() : r.err;
}

TEST(OtherToolsNames, MeanTheSame) {
  const std::string serve = "simulate -m llama-3-8b -g h100-sxm --no-intervals ";
  const std::string own = points_of(serve +
                                    "--rate 4 --requests 40 --isl 300 --osl 20 "
                                    "--slo-ttft 500ms --slo-tpot 50ms");
  EXPECT_THAT(own, StartsWith("["));
  EXPECT_EQ(points_of(serve + "--request-rate 4 --num-prompts 40 --input-len 300 --output-len 20 "
                              "--goodput ttft:500 tpot:50"),
            own);
  const std::string cached = serve + "--requests 40 --shared-prefix 512 ";
  EXPECT_EQ(points_of(cached), points_of(cached + "--enable-prefix-caching"));
  EXPECT_NE(points_of(cached), points_of(cached + "--no-enable-prefix-caching"));
  const std::string train = "train -m llama-3-8b -g h100-sxm --gpus 8 --stack megatron ";
  EXPECT_EQ(points_of(train + "--use-distributed-optimizer"), points_of(train + "--zero 1"));
  EXPECT_EQ(points_of(train + "--optimizer adamw"), points_of(train));
  EXPECT_EQ(points_of(train + "--compute fp8 --fp8-recipe blockwise"),
            points_of(train + "--compute fp8 --fp8-recipe block"));
  EXPECT_EQ(points_of(train + "--cp 8 --cp-comm-type a2a"),
            points_of(train + "--cp 8 --context-method ulysses"));
  EXPECT_THAT(run_program(serve + "--goodput ttft:0.5s").err, HasSubstr("milliseconds"));
}

TEST(Rate, IsSaidWhereItSaysWhenRequestsArrive) {
  const Scratch s;
  const std::string trace =
      s.file("t.csv", "arrived_at,num_prefill_tokens,num_decode_tokens\n0,100,10\n1,200,20\n");
  const std::string ask = "simulate -m llama-3-8b -g h100-sxm --no-intervals ";
  EXPECT_THAT(run_program(ask + "--requests 9 --rate 4").out, HasSubstr(" rate=4"));
  const Result traced = run_program(ask + "--trace " + trace);
  EXPECT_EQ(traced.code, 0) << traced.err;
  EXPECT_THAT(traced.out, Not(HasSubstr("rate=")));
  EXPECT_THAT(run_program(ask + "--requests 9 --arrivals at-once").out, Not(HasSubstr("rate=")));
  const Result both = run_program(ask + "--rate 400 --trace " + trace);
  EXPECT_EQ(both.code, kBadInput);
  EXPECT_THAT(both.err, AllOf(HasSubstr("load.rate"), HasSubstr("load.time_scale")));
  const std::string sought =
      run_program(ask + "--requests 100 --find-max-rate --slo-ttft 200ms").out;
  const std::string digits = sought.substr(sought.find("rate=") + 5, 12);
  EXPECT_LE(digits.substr(0, digits.find_first_of(" \n")).size(), 5u) << sought.substr(0, 200);
}

TEST(DoesNotFit, SaysThatOneRequestIsTooLong) {
  const Result r = run_program("memory -m llama-3-8b -g h100-sxm --max-model-len 1000000");
  EXPECT_EQ(r.code, kInfeasible);
  // 131,072 B a token.
  EXPECT_THAT(r.out,
              HasSubstr("DOES NOT FIT: one request of 1000000 tokens needs 131 GB of KV cache"));
  EXPECT_THAT(r.out, Not(HasSubstr("fits: takes")));
}

TEST(Pairs, ThatDoNotExistAreRefused) {
  const auto refused = [](const std::string& ask, const std::string& part,
                          const std::string& valid) {
    const Result r = run_program(ask);
    EXPECT_EQ(r.code, kBadInput) << ask;
    EXPECT_THAT(r.err, AllOf(HasSubstr(part), HasSubstr(valid))) << ask;
  };
  refused("estimate -m llama-3-8b -g mi300x --engine trtllm", "engine trtllm", "vllm");
  refused("estimate -m llama-3-8b -g h100-sxm --engine llama-cpp-metal", "apple", "llama-cpp");
  refused("estimate -m llama-3-8b -g a100-80g-sxm --node hgx-h100", "h100-96g-sxm", "hgx-a100");
  refused("train -m llama-3-8b -g a100-80g-sxm --node hgx-h100", "h100-96g-sxm", "hgx-a100");
  refused("network all-reduce -g a100-80g-sxm --node hgx-h100", "h100-96g-sxm", "hgx-a100");
  // Hardware that the user describes may have any surroundings.
  const Result own =
      run_program("estimate -m llama-3-8b -g tests/golden/reader/x100.yaml --tp 2 --node hgx-a100");
  EXPECT_EQ(own.code, 0) << own.err;
}

double time_of(const std::string& ask) {
  const Result r = run_program("network all-reduce --bytes 1G --gpus 64 -o json " + ask);
  const json j = json::parse(r.out, nullptr, false);
  EXPECT_TRUE(j.is_object()) << ask << r.err;
  return j.is_object() ? j.at("points").at(0).at("metrics").at("time").at("value").get<double>()
                       : 0;
}

TEST(Fabrics, AreNamesOfNetworksBetweenNodes) {
  EXPECT_EQ(time_of("-g h100-sxm --fabric ib-ndr"), time_of("-g h100-sxm"));
  EXPECT_GT(time_of("-g h100-sxm --fabric ib-hdr"), 1.3 * time_of("-g h100-sxm"));
  EXPECT_THAT(run_program("list fabrics").out, HasSubstr("\nib-ndr "));
  EXPECT_THAT(run_program("show ib-ndr").out, HasSubstr("InfiniBand NDR"));
  const Result inside = run_program("network -g h100-sxm --fabric nvlink4-nvswitch --gpus 16");
  EXPECT_EQ(inside.code, kBadInput);
  EXPECT_THAT(inside.err, AllOf(HasSubstr("inside a node"), HasSubstr("ib-ndr")));
  EXPECT_THAT(run_program("network --fabric ib-ndr").err, HasSubstr("--gpu"));
  EXPECT_THAT(run_program("network -g h100-sxm --fabric ib-nrd").err, HasSubstr("ib-ndr"));
}

TEST(SweepsByFlags, AreThoseOfTheFile) {
  const Scratch s;
  const std::string file = s.file("q.yaml",
                                  "model: llama-3-8b\nsweep: {hardware: {gpu: [h100-sxm, "
                                  "a100-80g-sxm]}}\n");
  const std::string points = points_of("run " + file);
  EXPECT_THAT(points, HasSubstr("a100-80g-sxm"));
  EXPECT_EQ(points_of("estimate -m llama-3-8b -g h100-sxm,a100-80g-sxm"), points);
  EXPECT_EQ(points_of("estimate -m llama-3-8b --set sweep.hardware.gpu=h100-sxm,a100-80g-sxm"),
            points);
  const std::string serve = "simulate -m llama-3-8b -g h100-sxm --requests 20 --no-intervals ";
  EXPECT_EQ(points_of(serve + "--rate 1-4*2"), points_of(serve + "--rate 1,2,4"));
  EXPECT_EQ(points_of(serve + "--replicas 1-2"), points_of(serve + "--replicas 1,2"));
  EXPECT_EQ(json::parse(points_of("network all-reduce -g h100-sxm,h200-sxm")).size(), 2u);
  const std::string train = "train -m llama-3-8b -g h100-sxm --gpus 8 ";
  EXPECT_EQ(json::parse(points_of(train + "--zero 1,3")).size(), 2u);
  EXPECT_EQ(points_of(train + "--sweep tp=1,2 --sweep hardware.gpu=h100-sxm,h200-sxm"),
            points_of("train -m llama-3-8b -g h100-sxm,h200-sxm --gpus 8 --tp 1,2"));
  // A value that is given ends the file's sweep of its key.
  EXPECT_EQ(points_of("run " + file + " -g a100-80g-sxm"),
            points_of("estimate -m llama-3-8b -g a100-80g-sxm"));
  EXPECT_EQ(points_of(train + "--sweep tensor-model-parallel-size=1-2"),
            points_of(train + "--tp 1,2"));
}

// `compare` takes the log of a training job as well as results of services.
TEST(Compare, TakesATrainingLog) {
  const Scratch s;
  const std::string log = s.file("run.log",
                                 " iteration 1/ 10 | elapsed time per iteration (ms): 9000.0 |\n"
                                 " iteration 2/ 10 | elapsed time per iteration (ms): 250.0 |\n");
  const std::string job = " -m llama-3-8b -g h100-sxm --gpus 8 --micro-batch 1 -o json";
  const Result compared = run_program("compare " + log + job);
  EXPECT_EQ(compared.code, 0) << compared.err;
  EXPECT_EQ(compared.out, run_program("train --log " + log + job).out);
  EXPECT_EQ(compared.out, run_program("compare training " + log + job).out);
  EXPECT_EQ(compared.out, run_program("compare" + job + " " + log).out);
  EXPECT_EQ(run_program("compare training --catalog catalog " + log + job).out, compared.out);
  const std::string page = s.file("compared.html", "");
  ASSERT_EQ(run_program("compare " + log + job + " --html " + page).code, 0);
  const std::string drawn = read_file(page);
  EXPECT_THAT(drawn, HasSubstr("<svg"));
  EXPECT_THAT(drawn, HasSubstr("iteration time"));
  EXPECT_EQ(run_program("compare " + log + job + " --svg x.svg").code, 2);
  EXPECT_EQ(run_program("--catalog catalog compare " + log + job).out, compared.out);
  const json j = json::parse(compared.out, nullptr, false);
  ASSERT_TRUE(j.is_object());
  EXPECT_EQ(j["tool"], "Megatron");
  EXPECT_DOUBLE_EQ(j["figures"]["iteration_time"]["measured"], 0.25);
}

// The file has two runs in the format of sglang.bench_serving.
TEST(Compare, TakesEveryRunOfAServicesFile) {
  const Scratch s;
  const std::string run =
      "\"completed\": 40, \"duration\": 20, \"total_input_tokens\": 20000, "
      "\"total_output_tokens\": 2000, \"mean_e2e_latency_ms\": 400, \"mean_ttft_ms\": 30, "
      "\"mean_tpot_ms\": 30, \"output_throughput\": 100}\n";
  const std::string file = s.file(
      "runs.jsonl", "{\"request_rate\": 2.0, " + run + "{\"request_rate\": Infinity, " + run);
  const std::string ask = file + " -m llama-3-8b -g h100-sxm";
  const Result all = run_program("compare " + ask);
  EXPECT_EQ(all.code, 0) << all.err;
  EXPECT_THAT(all.out, AllOf(HasSubstr("run 1 of 2: 2 requests/s, 40 requests"),
                             HasSubstr("run 2 of 2: all requests at once, 40 requests")));
  for (const std::string& line : lines_of(all.out)) EXPECT_LE(line.size(), 80u) << line;
  EXPECT_EQ(run_program("compare service " + ask).out, all.out);
  const json second =
      json::parse(run_program("compare " + ask + " --run 2 -o json").out, nullptr, false);
  ASSERT_TRUE(second.is_object());
  EXPECT_EQ(second["run"], "all requests at once, 40 requests");
  EXPECT_THAT(run_program("compare " + ask + " --run 3").err, HasSubstr("has 2 runs"));
  EXPECT_THAT(run_program("compare " + ask + " --isll 3").err, HasSubstr("'--isl'"));
  // The advice states the value that was tried and the figure that it predicts.
  EXPECT_THAT(run_program("compare " + ask + " --run 1").out,
              HasSubstr("--set engine.host_per_step='24.2 ms' predicts\ntpot 24.2 ms"));
}

// A file that is no log, asked about with a job's flags, is said to be none; and a log of another
// batch is not compared in silence.
TEST(Compare, SaysWhatIsWrongWithALog) {
  const Scratch s;
  const std::string job = " -m llama-3-8b -g h100-sxm --gpus 8 --global-batch 8";
  for (const std::string& file : {s.file("empty.log", ""), s.file("other.log", "hello\n")}) {
    const Result r = run_program("compare " + file + job);
    EXPECT_EQ(r.code, kBadInput);
    EXPECT_THAT(r.err, HasSubstr("no line of a training log"));
  }
  EXPECT_THAT(run_program("compare none.log" + job).err, HasSubstr("none.log: no such file"));
  const std::string log =
      s.file("run.log",
             " iteration 1/ 9 | elapsed time per iteration (ms): 250.0 | global batch size: 64\n");
  EXPECT_THAT(run_program("compare " + log + job).out, HasSubstr("64 sequences a step"));
}

TEST(Messages, SayWhatToAskInstead) {
  for (const char* ask : {"planner --help", "step --help", "catalog --help"}) {
    const Result r = run_program(ask);
    EXPECT_EQ(r.code, kBadInput) << ask;
    EXPECT_THAT(r.err, HasSubstr("unknown verb")) << ask;
  }
  EXPECT_EQ(run_program("estimate --help").code, 0);
  EXPECT_THAT(run_program("memory -m llama-3-8b").err, HasSubstr("orrery memory"));
  EXPECT_THAT(run_program("simulate -m llama-3-8b").err, HasSubstr("orrery simulate"));
  const Scratch s;
  EXPECT_THAT(run_program("compare " + s.file("run.log", " iteration 1/ 10 | elapsed\n") +
                          " -m llama-3-8b -g h100-sxm")
                  .err,
              HasSubstr("orrery compare training"));
  EXPECT_THAT(run_program("estimate -m llama-3-8b -g quadro-k620").err,
              HasSubstr("orrery list gpus"));
  EXPECT_THAT(run_program("estimate -m mamba2 -g h100-sxm").err, HasSubstr("orrery list models"));
  EXPECT_THAT(run_program("show 1f1b").out, HasSubstr("forward"));
  EXPECT_EQ(run_program("show megatron").code, 0);
  const json suites = json::parse(run_program("suite list suite45 -o json").out, nullptr, false);
  ASSERT_TRUE(suites.is_array());
  EXPECT_EQ(suites.size(), 45u);
}

}  // namespace no_effect_test
}  // namespace orrery::golden
