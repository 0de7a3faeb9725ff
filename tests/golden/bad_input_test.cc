// Do malformed questions end with the right exit code and a message with the place, the expected
// value and the nearest name?
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/golden/program.h"

namespace orrery::golden {
namespace bad_input_test {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr int kBadInput = 2, kInfeasible = 3, kNoData = 4;

const std::string kConfig = read_file(ORRERY_SOURCE_DIR "/catalog/models/llama-3-8b.json");
const std::string kGpu = read_file(ORRERY_SOURCE_DIR "/catalog/gpus/h100-sxm.yaml");

std::string with(std::string text, const std::string& old_part, const std::string& new_part) {
  const std::size_t at = text.find(old_part);
  EXPECT_NE(at, std::string::npos) << old_part;
  return at == std::string::npos ? text : text.replace(at, old_part.size(), new_part);
}

// A wrong question prints one line on stderr and nothing on stdout.
void expect_refused(const std::string& arguments, int code,
                    const testing::Matcher<const std::string&>& message) {
  const Result r = run_program(arguments);
  EXPECT_EQ(r.code, code) << arguments << "\n" << r.err;
  EXPECT_THAT(r.err, message) << arguments;
  EXPECT_EQ(r.out, "") << arguments;
  EXPECT_LE(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
}

void expect_model_refused(const std::string& path,
                          const testing::Matcher<const std::string&>& message) {
  expect_refused("estimate --gpu h100-sxm --model '" + path + "'", kBadInput, message);
}

TEST(BadConfig, TruncatedJson) {
  const Scratch s;
  const std::string path = s.file("config.json", kConfig.substr(0, kConfig.size() / 2));
  expect_model_refused(path, AllOf(HasSubstr(path + ":"), HasSubstr("not valid JSON")));
}

TEST(BadConfig, HeadsThatDoNotDivideHidden) {
  const Scratch s;
  const std::string path = s.file(
      "config.json", with(kConfig, "\"num_attention_heads\": 32", "\"num_attention_heads\": 33"));
  expect_model_refused(path, AllOf(HasSubstr(path), HasSubstr("33"), HasSubstr("4096")));
}

TEST(BadConfig, EmptyBinaryAndDirectory) {
  const Scratch s;
  expect_model_refused(s.file("empty.json", ""), HasSubstr("empty.json"));
  expect_model_refused(s.file("binary.json", std::string("\x7f"
                                                         "ELF\0\xff\xfe\x80{",
                                                         9)),
                       HasSubstr("binary.json:1: not valid JSON"));
  expect_model_refused(s.path(), HasSubstr("config.json: no such file"));
  std::filesystem::create_directory(s.path() / "config.json");
  expect_model_refused(s.path() / "config.json", HasSubstr("no such file"));
}

TEST(BadConfig, HalfAGigabyteIsRefusedUnread) {
  const Scratch s;
  const std::string path = s.file("config.json", "{");
  std::filesystem::resize_file(path, 500'000'000);  // sparse
  expect_model_refused(path,
                       AllOf(HasSubstr(path), HasSubstr("500000000 bytes"), HasSubstr("MiB")));
}

// A class without a reader needs complete fields, none of which is unknown.
TEST(BadConfig, UnknownArchitecture) {
  const Scratch s;
  const std::string unknown = with(kConfig, "LlamaForCausalLM", "LamaForCausalLM");
  expect_model_refused(s.file("config.json", with(unknown, "\"hidden_size\"",
                                                  "\"conv_kernel\": 4, \"hidden_size\"")),
                       AllOf(HasSubstr("'LamaForCausalLM' is not supported"),
                             HasSubstr("'LlamaForCausalLM'"), HasSubstr("'conv_kernel'")));
  const std::string read = s.file("config.json", unknown);
  EXPECT_THAT(run_program("show -o json '" + read + "'").out, HasSubstr("no reader of its own"));
}

TEST(BadNames, NearestIsNamed) {
  expect_refused("estimate -m llama-3-8b -g h100-smx", kBadInput,
                 AllOf(HasSubstr("h100-smx"), HasSubstr("'h100-sxm'")));
  expect_refused("estimate -m lama-3-8b -g h100-sxm", kBadInput,
                 AllOf(HasSubstr("lama-3-8b"), HasSubstr("'llama-3-8b'")));
  expect_refused("estimate -m llama-3-8b -g h100-sxm --engine vlm", kBadInput, HasSubstr("'vllm'"));
  expect_refused("validate kitchens --data /tmp", kBadInput,
                 HasSubstr("all, kernels, layers, steps"));
  expect_refused("validate layers --data /nonexistent", kBadInput, HasSubstr("attention_mixed"));
  expect_refused("estimate -m llama-3-8b -g h100-sxm --max-num-seq 4", kBadInput,
                 HasSubstr("'--max-num-seqs'"));
  expect_refused("estimat", kBadInput, HasSubstr("'estimate'"));
  expect_refused("list gpu", kBadInput, HasSubstr("'gpus'"));
  expect_refused("show h100-smx", kBadInput, HasSubstr("'h100-sxm'"));
}

TEST(BadNames, Formats) {
  const std::string ask = "estimate -m llama-3-8b -g h100-sxm ";
  expect_refused(ask + "--dtype bf61", kBadInput, AllOf(HasSubstr("--dtype"), HasSubstr("'bf16'")));
  expect_refused(ask + "--dtype fp64", kBadInput, AllOf(HasSubstr("--dtype"), HasSubstr("fp32")));
  expect_refused(ask + "--quantization fp9", kBadInput,
                 AllOf(HasSubstr("--quantization"), HasSubstr("int4_weight"), HasSubstr("'fp8'")));
  expect_refused(ask + "--kv-cache-dtype fp7", kBadInput,
                 AllOf(HasSubstr("--kv-cache-dtype"), HasSubstr("'fp8'")));
}

TEST(MissingParts, AreNamedTogether) {
  expect_refused("estimate", kBadInput,
                 AllOf(HasSubstr("--model and --gpu"), HasSubstr("orrery estimate --model")));
  expect_refused("estimate -m llama-3-8b", kBadInput,
                 AllOf(HasSubstr("--gpu"), Not(HasSubstr("--model and"))));
  expect_refused("estimate -m llama-3-8b -g h100-sxm --isl", kBadInput,
                 HasSubstr("--isl: a value is missing"));
  // The last of a repeated flag wins.
  const std::string ask = " -m llama-3-8b --no-breakdown -o csv -g ";
  EXPECT_EQ(run_program("estimate" + ask + "l40s -g h100-sxm --batch 1,2 --batch 4").out,
            run_program("estimate" + ask + "h100-sxm --batch 4").out);
  EXPECT_EQ(run_program("train" + ask + "l40s -g h100-sxm --gpus 16 --gpus 8").out,
            run_program("train" + ask + "h100-sxm --gpus 8").out);
  expect_refused("--catalog catalog", kBadInput, HasSubstr("memory, estimate, simulate"));
}

TEST(BadNumbers, NegativeAndHugeLengths) {
  const std::string ask = "estimate -m llama-3-8b -g h100-sxm ";
  expect_refused(ask + "--isl -5", kBadInput,
                 AllOf(HasSubstr("--isl"), HasSubstr("-5"), HasSubstr("1 to")));
  expect_refused(ask + "--isl 0", kBadInput, HasSubstr("--isl: 0"));
  expect_refused(ask + "--osl 999999999999", kBadInput,
                 AllOf(HasSubstr("--osl"), HasSubstr("100000000")));
  expect_refused(ask + "--isl 99999999999999999999", kBadInput, HasSubstr("--isl"));
  expect_refused(ask + "--batch 1e3", kBadInput, HasSubstr("--batch"));
  expect_refused(ask + "--batch 64-1", kBadInput,
                 AllOf(HasSubstr("--batch"), HasSubstr("backwards")));
  expect_refused(ask + "--max-num-seqs 0", kBadInput, HasSubstr("--max-num-seqs"));
  expect_refused(ask + "--gpu-memory-utilization 1.5", kBadInput,
                 HasSubstr("--gpu-memory-utilization"));
  expect_refused(ask + "--set engine.max_num_seqs=many", kBadInput,
                 AllOf(HasSubstr("--set engine.max_num_seqs"), HasSubstr("'many'")));
  expect_refused(ask + "--past 1024 --isl 1024", kBadInput, HasSubstr("past"));
  const std::string serve = "simulate -m llama-3-8b -g h100-sxm --slo ";
  for (const char* bad : {"ttft", "ttft:99:5s", ":5s", "ttft:5s,", "ttft:p:5s"})
    expect_refused(serve + bad, kBadInput, HasSubstr("expected limits like ttft:p99:500ms"));
  expect_refused(serve + "tftt:5s", kBadInput, AllOf(HasSubstr("--slo tftt"), HasSubstr("'ttft'")));
  expect_refused(serve + "ttft:p101:5s", kBadInput, HasSubstr("101"));
}

TEST(BadNumbers, SweepsThatNeverEnd) {
  const std::string ask = "estimate -m llama-3-8b -g h100-sxm ";
  expect_refused(ask + "--batch 1-1000000", kBadInput,
                 AllOf(HasSubstr("--batch"), HasSubstr("10000")));
  expect_refused(ask + "--isl 1-9999 --batch 1-9999", kBadInput, HasSubstr("at most 100000"));
}

TEST(BadLayout, ValidValuesAreListed) {
  expect_refused("estimate -m llama-3-8b -g h100-sxm --tp 3", kInfeasible,
                 AllOf(HasSubstr("32 attention heads"), HasSubstr("1, 2, 4, 8, 16, 32")));
  expect_refused("estimate -m llama-3-8b -g h100-sxm --pp 33", kInfeasible, HasSubstr("1 to 32"));
  expect_refused("estimate -m llama-3-8b -g h100-sxm --ep 2", kInfeasible, HasSubstr("no experts"));
  expect_refused("estimate -m llama-3-8b -g h100-sxm --kv-heads 5", kBadInput,
                 AllOf(HasSubstr("5 KV heads"), HasSubstr("32")));
}

TEST(BadLayout, InASweepIsAPointThatDoesNotFit) {
  const Result r = run_program("estimate -m llama-3-8b -g h100-sxm --tp 2,3 -o csv --no-breakdown");
  EXPECT_EQ(r.code, 0);
  EXPECT_THAT(r.out, AllOf(HasSubstr(",yes,"), HasSubstr(",no,")));
}

TEST(BadScenario, UnknownKeyWithItsPlace) {
  const Scratch s;
  const std::string path =
      s.file("s.yaml",
             "model: llama-3-8b\nhardware: {gpu: h100-sxm}\nworkload:\n  isl: 128\n  bacth: 4\n");
  expect_refused("run '" + path + "'", kBadInput,
                 AllOf(HasSubstr(path + ":5: workload.bacth"), HasSubstr("'batch'")));
  expect_refused("run '" + s.file("empty.yaml", "") + "'", kBadInput,
                 AllOf(HasSubstr("empty.yaml"), HasSubstr("model")));
  expect_refused("run nowhere.yaml", kBadInput, HasSubstr("nowhere.yaml: no such file"));
  expect_refused("run '" + s.file("list.yaml", "[1, 2]") + "'", kBadInput, HasSubstr("list.yaml"));
  const std::string bad_format =
      s.file("f.yaml", "model: llama-3-8b\nhardware: {gpu: h100-sxm}\nprecision:\n  dtype: bf61\n");
  expect_refused("run '" + bad_format + "'", kBadInput,
                 AllOf(HasSubstr(bad_format + ":4: precision.dtype"), HasSubstr("'bf16'")));
}

TEST(BadGpu, UnitsAreRequiredAndKeptApart) {
  const Scratch s;
  const std::string gib =
      s.file("gib.yaml", with(with(kGpu, "80 GiB", "80GiB"), "  usable: 79.18 GiB\n", ""));
  const std::string gb =
      s.file("gb.yaml", with(with(kGpu, "80 GiB", "80GB"), "  usable: 79.18 GiB\n", ""));
  const std::string ask = "memory -m llama-3-8b -o jsonl --gpu ";
  EXPECT_THAT(run_program(ask + gib).out, HasSubstr("\"capacity\":85.8993"));
  EXPECT_THAT(run_program(ask + gb).out, HasSubstr("\"capacity\":80.0"));
  const std::string bare = s.file("bare.yaml", with(kGpu, "80 GiB", "80"));
  expect_refused(ask + bare, kBadInput,
                 AllOf(HasSubstr("bare.yaml:"), HasSubstr("memory.capacity"), HasSubstr("'80 GiB'"),
                       HasSubstr("'80'")));
}

TEST(DoesNotFit, IsAnAnswerWithItsBreakdown) {
  const Result r = run_program("estimate -m llama-3-70b -g a100-80g-sxm");
  EXPECT_EQ(r.code, kInfeasible);
  EXPECT_THAT(r.out,
              AllOf(HasSubstr("DOES NOT FIT"), HasSubstr("weights 141 GB"), HasSubstr("reserve")));
  EXPECT_EQ(r.err, "");
  // Some points of a sweep that fit make an answer.
  EXPECT_EQ(
      run_program("estimate -m llama-3-70b -g a100-80g-sxm --tp 1,4 --no-breakdown -o csv").code,
      0);
}

TEST(NoSuchArithmetic, WeightsAreStoredSoOrRefused) {
  // Narrow weights are widened, as engines' weight-only kernels do, and a note says so.
  const Result r =
      run_program("estimate -m llama-3-8b -g a100-80g-sxm --quantization fp8 -o jsonl");
  EXPECT_EQ(r.code, 0);
  EXPECT_THAT(r.out, AllOf(HasSubstr("has no fp8 arithmetic"), HasSubstr("multiplied in bf16")));
  // A 16-bit format that is asked for is not replaced.
  expect_refused("estimate -m llama-2-7b -g v100-32g-sxm --dtype bf16", kNoData,
                 HasSubstr("v100-32g-sxm does not support bf16"));
}

TEST(BadOutput, UnwritableFiles) {
  expect_refused("estimate -m llama-3-8b -g h100-sxm --html /nowhere/x.html", kBadInput,
                 HasSubstr("--html /nowhere/x.html: cannot be written"));
  expect_refused("estimate -m llama-3-8b -g h100-sxm --trace /nowhere/x.json", kBadInput,
                 HasSubstr("--trace /nowhere/x.json"));
  expect_refused("estimate -m llama-3-8b -g h100-sxm -o xml", kBadInput, HasSubstr("jsonl"));
}

TEST(Spellings, UnderscoresAndShortNamesAreTaken) {
  const std::string ask = "estimate -m llama-3-8b -g h100-sxm --no-breakdown -o csv --batch 8 ";
  const std::string expected = run_program(ask + "--tp 2 --max-num-seqs 4").out;
  EXPECT_NE(expected, "");
  EXPECT_EQ(run_program(ask + "--tensor_parallel_size=2 --max_num_seqs 4").out, expected);
  EXPECT_EQ(run_program(ask + "-tp 2 --set engine.max_num_seqs=4").out, expected);
  EXPECT_EQ(run_program(ask + "-tp=2 --set engine.scheduler.max_num_seqs=4").out, expected);
  EXPECT_EQ(run_program(ask + "-tp 2 --set engine.overrides.scheduler.max_num_seqs=4").out,
            expected);
}

// Every kind of error in a scenario file ends in one message that says where.
TEST(BadScenario, EveryKindOfErrorIsOneMessage) {
  const Scratch s;
  const std::string good = "model: llama-3-8b\nhardware: {gpu: h100-sxm}\n";
  const auto refused = [&](const std::string& text, int code,
                           const testing::Matcher<const std::string&>& message) {
    expect_refused("run " + s.file("q.yaml", text), code, message);
  };
  refused(good + "load: {rate: 1}\nslo: {ttft: 5 parsecs}\n", kBadInput,
          AllOf(HasSubstr("q.yaml:4: slo.ttft"), HasSubstr("with its unit")));
  refused(good + "load: {rate: 1}\nslo: {ttft: 500}\n", kBadInput, HasSubstr("with its unit"));
  refused(good + "workload: {ils: 5}\n", kBadInput, HasSubstr("did you mean 'isl'"));
  refused(good + "workload: {isl: many}\n", kBadInput, HasSubstr("q.yaml:3: workload.isl"));
  refused(good + "parallel: {tp: 3}\n", kInfeasible, HasSubstr("tp 3"));
  refused(good + "training: {gpus: 8, tp: 3}\n", kInfeasible, HasSubstr("do not divide"));
  refused(good + "include: q.yaml\n", kBadInput, HasSubstr("a file includes itself"));
  refused(good + "include: nowhere.yaml\n", kBadInput, HasSubstr("nowhere.yaml: no such file"));
  refused(good + "workload: {isl: 1-1000, osl: 1-1000}\n", kBadInput,
          HasSubstr("a sweep of 1000000 points"));
  refused(good + "sweep: {workload: {isl: 1-1000, osl: 1-1000}}\n", kBadInput,
          HasSubstr("1000000 combinations"));
  refused(good + "sweep: {workload: {isl: 1-1000}}\nworkload: {osl: 1-1000}\n", kBadInput,
          HasSubstr("a sweep of 1000000 points"));
  refused("hardware: {gpu: h100-sxm}\ncollective: {bytes: 1-5000, gpus: 2-1000}\n", kBadInput,
          HasSubstr("points"));
  refused(good + "workload: {isl: [1, 2\n", kBadInput, HasSubstr("not valid YAML"));
  expect_refused("run " + s.path().string() + "/none", kBadInput, HasSubstr("no such file"));
  std::filesystem::create_directory(s.path() / "empty");
  expect_refused("run " + s.path().string() + "/empty", kBadInput, HasSubstr("no scenario files"));
  expect_refused("diff " + s.file("a.json", "{}") + " " + s.file("b.json", "["), kBadInput,
                 HasSubstr("json: not valid JSON"));
  expect_refused("diff " + s.file("a.json", "{}") + " " + s.file("b.json", "{}"), kBadInput,
                 HasSubstr("a.json: no answer"));
}

TEST(BadSuite, FilesAndNames) {
  const Scratch s;
  const auto refused = [&](const std::string& questions, const std::string& message) {
    expect_refused("suite run " + s.file("x.yaml", "suite: x\nquestions:\n" + questions), kBadInput,
                   HasSubstr(message));
  };
  refused("- {id: A, question: q, run: one, metrics: {t: it.ttft <}}\n", "column 10");
  refused("- {id: A, question: q, run: one, metrics: {t: its.ttft}}\n", "did you mean 'it'");
  refused("- {id: A, question: q, run: one}\n", "'metrics' is missing");
  expect_refused("suite run suite455", kBadInput, HasSubstr("did you mean 'suite45'"));
  expect_refused("suite show T9.9", kBadInput, HasSubstr("no suite or question"));
  expect_refused("suite", kBadInput, HasSubstr("subcommand"));
  // An answer that lacks the metric, or a run that is refused, is no internal error.
  s.file("one.yaml", "model: llama-3-8b\nhardware: {gpu: h100-sxm}\n");
  const std::string file =
      s.file("x.yaml",
             "suite: x\nquestions:\n- {id: A, question: q, run: one, metrics: {t: it.tftt}}\n"
             "- {id: B, question: q, run: two, metrics: {t: it.ttft}}\n");
  const Result r = run_program("suite run " + file);
  EXPECT_EQ(r.code, 5);
  EXPECT_THAT(r.out, AllOf(HasSubstr("did you mean 'ttft'"), HasSubstr("two.yaml: no such file"),
                           HasSubstr("2 unanswered")));
}

TEST(BadNetwork, TopologiesAndTraces) {
  const Scratch s;
  const std::string ring =
      "dimensions: [{kind: ring, size: 4, bandwidth: 1 GB/s, latency: 1 us}]\n";
  const auto refused = [&](const std::string& arguments,
                           const testing::Matcher<const std::string&>& message) {
    expect_refused("network all-reduce " + arguments, kBadInput, message);
  };
  const std::string good = s.file("good.yaml", ring);
  refused("--topology " + s.file("zero.yaml", with(ring, "1 GB/s", "0 GB/s")),
          AllOf(HasSubstr("zero.yaml:1"), HasSubstr("bandwidth")));
  refused("--topology " + s.file("apart.yaml",
                                 "gpus: 3\nlinks: [{from: gpu0, to: gpu1, "
                                 "bandwidth: 1 GB/s}]\n"),
          HasSubstr("no path from gpu1 to gpu2"));
  refused("--topology " + good + " --gpus 3", HasSubstr("do not divide 4 GPUs"));
  refused("--topology " + good + " --gpus 1", HasSubstr("out of range"));
  refused("--topology " + good + " --bytes 0", HasSubstr("--bytes"));
  refused("--topology " + good + " --fail gpu0-gpu9", HasSubstr("gpu9"));
  refused("--topology " + good + " --flow-algorithm rign", HasSubstr("did you mean 'ring'?"));
  refused("--topology nowhere.yaml", HasSubstr("nowhere.yaml"));
  refused("--topology " + good + " --chakra nowhere", HasSubstr("nowhere.0.et"));
  s.file("bad.0.et", "abc");
  refused("--topology " + good + " --chakra " + (s.path() / "bad").string(),
          HasSubstr("bad.0.et: byte"));
}

TEST(BadValidation, KernelTiersSystemsAndFolders) {
  const Scratch s;
  s.file("gemm.csv",
         "system,framework,version,kernel_source,dtype,m,n,k,latency_us\n"
         "h100_sxm,vllm,1,default,bfloat16,64,4096,4096,20\n");
  const std::string validate = "validate kernels --data '" + s.path().string() + "' ";
  expect_refused(validate + "--tier transfered", kBadInput,
                 AllOf(HasSubstr("--tier"), HasSubstr("did you mean 'transferred'")));
  expect_refused(validate + "--fit-on h100_sxn", kBadInput, HasSubstr("did you mean 'h100-sxm'"));
  expect_refused(validate + "--table gemn", kBadInput, HasSubstr("did you mean 'gemm'"));
  expect_refused("validate kernels --data /no/such/folder", kBadInput,
                 HasSubstr("/no/such/folder: no such directory"));
  expect_refused("validate kernel --data .", kBadInput, HasSubstr("did you mean 'kernels'"));
}

// A folder without tables is no fit of nothing.
TEST(BadFit, FoldersWithoutTables) {
  const Scratch s;
  for (const char* area :
       {"kernels", "network", "engines", "services", "layers", "training", "training-memory"}) {
    const std::string fit = std::string("fit ") + area + " --date 2026-01-01 --out '" +
                            (s.path() / "out").string() + "' --data ";
    expect_refused(fit + "/no/such/folder", kBadInput,
                   HasSubstr("/no/such/folder: no such directory"));
    expect_refused(fit + "'" + s.path().string() + "'", kBadInput, HasSubstr(s.path().string()));
    EXPECT_FALSE(std::filesystem::exists(s.path() / "out")) << area;
  }
}

TEST(BadCheck, PlacesAreThoseOfRun) {
  const Scratch s;
  const std::string file = s.file("q.yaml", "model: llama-3-8b\nhardware: {gpu: h100-sxm}\nx: 1\n");
  EXPECT_THAT(run_program("check " + file).out, testing::StartsWith(file + ":3: x: unknown key"));
  EXPECT_THAT(run_program("check /no/such.yaml").out,
              testing::StartsWith("/no/such.yaml: no such file"));
  const std::string quoted =
      s.file("n.yaml", "model: llama-3-8b\nhardware: {gpu: h100-sxm}\nload: {requests: '10'}\n");
  expect_refused("run " + quoted, kBadInput, HasSubstr("a whole number, got the text '10'"));
}

TEST(BadTrace, WhatIsNoJsonIsSaidInWords) {
  const Scratch s;
  expect_refused("simulate -m llama-3-8b -g h100-sxm --trace " + s.path().string(), kBadInput,
                 HasSubstr("a folder; expected a file"));
  expect_refused("simulate -m llama-3-8b -g h100-sxm --trace " + s.file("t.jsonl", "a\n"),
                 kBadInput, AllOf(HasSubstr("t.jsonl:1"), Not(HasSubstr("json.exception"))));
}

TEST(BadFit, PointsWithoutATable) {
  const Scratch s;
  expect_refused("fit points --gpu mi300x", kBadInput, HasSubstr("--from"));
  expect_refused("fit --gpu mi300x --from /no/such.csv", kBadInput, HasSubstr("/no/such.csv"));
  expect_refused("fit --gpu mi300y --from '" + s.file("p.csv", "m,latency_us\n1,2\n") + "'",
                 kBadInput, HasSubstr("did you mean"));
  expect_refused("fit --gpu mi300x --from '" + s.file("p.csv", "m,latency_us\n1,2\n") + "'",
                 kBadInput, HasSubstr("gemm (dtype m n k)"));
  expect_refused("fit", kBadInput, HasSubstr("expected kernels"));
  expect_refused("fit kernels", kBadInput, HasSubstr("--date"));
}

// Issue 6: every rule of a training layout, by flags.
TEST(BadInput, TrainingLayouts) {
  const auto refused = [](const std::string& flags, int code, const std::string& part) {
    expect_refused("train -g h100-sxm " + flags, code, HasSubstr(part));
  };
  refused("-m llama-3-8b --gpus 8 --global-batch 12", kInfeasible,
          "global batch of 12 sequences does not divide by micro batch 1 x dp 8 = 8");
  refused("-m llama-3-8b --gpus 6 --pp 6", kInfeasible,
          "32 layers of llama-3-8b do not divide by pp 6 x vp 1 = 6");
  refused("-m llama-3-8b --gpus 64 --tp 64", kInfeasible,
          "tp 64 does not divide the 32 attention heads");
  refused("-m mixtral-8x7b --gpus 16 --ep 16", kInfeasible, "does not divide the 8 experts");
  refused("-m nemotron-nano-9b --gpus 2 --cp 2", kInfeasible, "recurrent layers");
  refused("-m llama-3-8b --gpus 8 --tp 16", kInfeasible, "8 GPUs do not divide by tp 16");
  refused("-m llama-3-8b --seq 0", kBadInput, "seq must be at least 1, got 0");
  refused("-m llama-3-8b --gpus 8 --rank 8", kBadInput,
          "rank 8 is out of range: a job on 8 GPUs has ranks 0 to 7");
  refused("-m llama-3-8b --gpus 8 --rank -1", kBadInput, "--rank");
  refused("-m llama-3-8b --gpus 8 --micro-batch 0", kBadInput, "--micro-batch: 0 is out of range");
  refused("-m llama-3-8b --gpus 8 --tp 0", kBadInput, "--tp: 0 is out of range");
  refused("-m llama-3-8b --gpus 8 --cp 8 --seq 8200", kInfeasible,
          "8200 tokens do not divide by 16");
  refused("-m llama-3-8b --gpus 16 --cp 16 --seq 8192 --context-method ulysses", kInfeasible,
          "key-value heads");
  refused("-m llama-3-8b --gpus 4 --pp 4 --split 8,8,8,9", kInfeasible, "adds up to 33 layers");
  refused("-m llama-3-8b --gpus 8 --shard 3 --zero 3", kInfeasible, "shard 3 does not divide");
  refused("-m llama-3-8b --gpus 4 --pp 4 --schedule 1f2b", kBadInput, "1f1b");
  refused("-m llama-3-8b --gpus 4 --pp 4 --vp 2 --schedule 1f1b", kInfeasible, "one chunk");
  refused("-m llama-3-8b --stack megaton", kBadInput, "megatron");
  refused("-m llama-3-8b --gpus 8 --tokens 0", kBadInput, "--tokens: 0 is out of range: 1 to");
  refused("-m llama-3-8b --gpus 8 --tokens 1e9 --samples 1e6", kBadInput,
          "one of tokens, samples and iterations");
  refused("-m llama-3-8b --gpus 8 --sweep tp", kBadInput, "expected KEY=VALUES");
  refused("-m llama-3-8b --gpus 8 --sweep tpp=1,2", kBadInput, "did you mean 'tp'?");
  refused("-m llama-3-8b --gpus 8 --sweep tp=1,0", kBadInput, "0 is out of range");
}

}  // namespace bad_input_test
}  // namespace orrery::golden
