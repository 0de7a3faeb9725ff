// Do the commands of emitted plans read back as the plans?
#include "orrery/planner/emit/launch_reader.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/error.h"
#include "orrery/base/node.h"
#include "orrery/kinds/all_kinds.h"
#include "orrery/planner/emit/from_command.h"
#include "orrery/planner/emit/launch.h"
#include "orrery/planner/emit/launch_facts.h"
#include "orrery/planner/emit/plan_files.h"
#include "orrery/planner/emit/platforms.h"
#include "orrery/planner/question/plan_question.h"
#include "orrery/planner/space/space.h"
#include "orrery/planner/workers/search_context.h"
#include "orrery/scenario/document/scenario_json.h"
#include "orrery/scenario/document/scenario_sweep.h"
#include "orrery/scenario/runner/runner.h"

namespace orrery {
namespace launch_reader_test {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Every engine of the space of a model, also over two nodes.
std::vector<EngineOption> space_of(const std::string& model, Scenario& question,
                                   const std::string& limits = "") {
  question = read_scenario(
                 all_kinds(),
                 parse_yaml(fmt::format("model: {}\nload: {{rate: 1}}\nslo: {{tpot: 1 s}}\nplan: "
                                        "{{gpu: [h100-sxm], engines: [vllm, sglang, trtllm], "
                                        "formats: [checkpoint, fp8, fp4], engine_gpus: 16{}}}",
                                        model, limits),
                            "plan"))
                 .points.front();
  Runner runner{Bundle()};
  return engine_options(question, runner.catalog(), runner.architecture(model));
}

// The option with what the command says of it. Formats that no flag tells are the checkpoint's.
EngineOption completed(const LaunchRead& read, const EngineOption& written,
                       const LaunchFacts& facts) {
  EngineOption out = read.option;
  out.gpu = written.gpu, out.boards = written.boards;
  if (out.format.empty() && !facts.formats.contains(written.format)) out.format = written.format;
  return out;
}

TEST(LaunchReader, GivesBackTheScenarioOfEveryEmittedCommand) {
  const Bundle bundle;
  std::size_t read = 0, in_files = 0;
  for (const char* model : {"llama-3-8b", "mixtral-8x7b"}) {
    Scenario question;
    for (const EngineOption& o : space_of(model, question)) {
      const LaunchFacts facts = *launch_facts(bundle, o.engine);
      for (const EngineRole role : {EngineRole::kBoth, EngineRole::kPrefill, EngineRole::kDecode}) {
        for (const std::int64_t longest : {0, 8192}) {
          const LaunchCommand c = launch_command(bundle, o, role, "org/some-model", longest);
          ASSERT_NE(c.command, "") << o.name() << ": " << c.refused;
          in_files += c.options.empty() ? 0 : 1;
          const LaunchRead back = read_launch(bundle, c.command, c.options);
          SCOPED_TRACE(c.command);
          const EngineOption got = completed(back, o, facts);
          EXPECT_EQ(got.name(), o.name());
          if (role == EngineRole::kBoth && longest == 0) {
            EXPECT_EQ(to_json(got.asked(question)), to_json(o.asked(question)));
          }
          EXPECT_EQ(back.model, "org/some-model");
          EXPECT_EQ(back.max_model_len, longest);
          EXPECT_EQ(back.apart, role != EngineRole::kBoth);
          EXPECT_THAT(back.unread, IsEmpty());
          // A format is told by a flag, or the user is told which checkpoint is needed.
          EXPECT_TRUE(back.option.format == o.format || c.needs.ends_with(" in " + o.format));
          ++read;
        }
      }
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(read, 300U);
  EXPECT_GT(in_files, 30U);  // of TensorRT-LLM
}

// The drafter and the prefix cache of each engine, in flags and in files of options.
TEST(LaunchReader, GivesBackDraftersAndPrefixCaching) {
  const Bundle bundle;
  std::size_t read = 0;
  for (const char* drafter :
       {"method: draft_model, model: llama-3.2-1b, tokens: 5, acceptance: 0.6",
        "method: mtp, tokens: 1, acceptance: 0.9", "method: ngram, tokens: 3"}) {
    const Scenario question =
        read_scenario(all_kinds(),
                      parse_yaml(fmt::format("model: llama-3-8b\nload: {{rate: 1, shared_prefix: "
                                             "512}}\nslo: {{tpot: 1 s}}\nspeculation: {{{}}}\n"
                                             "plan: {{gpu: [h100-sxm], engines: [vllm, sglang, "
                                             "trtllm], tp: [2], pp: [1]}}",
                                             drafter),
                                 "plan"))
            .points.front();
    Runner runner{Bundle()};
    for (const EngineOption& o :
         engine_options(question, runner.catalog(), runner.architecture("llama-3-8b"),
                        {"vllm", "sglang", "trtllm"})) {
      const LaunchCommand c = launch_command(bundle, o, EngineRole::kBoth, "org/model", 0);
      if (c.command.empty()) {
        EXPECT_THAT(c.refused, HasSubstr("no flags of sglang for speculation by ngram"));
        continue;
      }
      SCOPED_TRACE(c.command + "\n" + c.options);
      const LaunchRead back = read_launch(bundle, c.command, c.options);
      EXPECT_THAT(back.unread, IsEmpty());
      EngineOption got = completed(back, o, *launch_facts(bundle, o.engine));
      // How many drafts are accepted is the question's, and no flag.
      got.speculation.acceptance = o.speculation.acceptance;
      EXPECT_EQ(to_json(got.asked(question)), to_json(o.asked(question)));
      EXPECT_EQ(got.prefix_caching, o.prefix_caching);
      ++read;
    }
  }
  EXPECT_EQ(read, 34U);  // three drafters, with and without, three engines, two caches: 36 less two
}

TEST(LaunchReader, ReadsADrafterOnlyWhole) {
  const auto read = [](const std::string& flags, const std::string& options = "") {
    return read_launch(Bundle(), flags, options);
  };
  const std::string sglang =
      "python -m sglang.launch_server --model-path m --speculative-algorithm ";
  // A head of EAGLE has a checkpoint, and a tree has more drafts than steps.
  for (const char* flags :
       {"EAGLE --speculative-num-steps 3", "EAGLE3 --speculative-num-steps 3",
        "EAGLE --speculative-num-steps 3 --speculative-eagle-topk 1 --speculative-num-draft-tokens "
        "4 --speculative-draft-model-path head",
        "EAGLE --speculative-num-steps 3 --speculative-eagle-topk 1 --speculative-num-draft-tokens "
        "16"}) {
    const LaunchRead r = read(sglang + flags);
    EXPECT_FALSE(r.option.speculation.on()) << flags;
    EXPECT_THAT(r.unread, ::testing::Contains(HasSubstr("--speculative-algorithm"))) << flags;
    EXPECT_THAT(r.unread, ::testing::Contains("--speculative-num-steps 3")) << flags;
  }
  const LaunchRead vllm = read(
      "vllm serve m --speculative-config '{\"num_speculative_tokens\": 2, \"method\": "
      "\"mtp\"}' --no-enable-prefix-caching");
  EXPECT_EQ(vllm.option.speculation.method, "mtp");
  EXPECT_EQ(vllm.option.speculation.tokens, 2);
  EXPECT_FALSE(vllm.option.prefix_caching);
  EXPECT_THAT(read("vllm serve m --speculative-config '{\"method\":\"mtp\"}'").unread,
              ElementsAre(HasSubstr("--speculative-config")));
  EXPECT_THAT(read("vllm serve m --speculative-config [1").unread,
              ElementsAre("--speculative-config [1"));
  const std::string trtllm = "trtllm-serve m --config f.yaml";
  EXPECT_THAT(read(trtllm).unread, ElementsAre("--extra_llm_api_options f.yaml"));
  const LaunchRead file =
      read(trtllm, "kv_cache_config: {enable_block_reuse: false, dtype: fp8}\nother: 1\n");
  EXPECT_FALSE(file.option.prefix_caching);
  EXPECT_THAT(file.unread, ElementsAre("kv_cache_config.dtype: fp8", "other: 1"));
}

// The texts below `node` that look like commands.
void commands_of(const Node& node, std::vector<std::string>& out) {
  if (node.is_scalar()) {
    const std::string& text = node.text();
    if (text.find(" --") != text.npos || text.starts_with("vllm serve")) out.push_back(text);
    return;
  }
  for (const Node& item : node.items()) commands_of(item, out);
}

TEST(LaunchReader, GivesBackTheLimitsOfAStep) {
  const Bundle bundle;
  Scenario question;
  std::size_t read = 0;
  for (const EngineOption& o : space_of(
           "llama-3-8b", question, ", max_num_seqs: [64, 256], max_num_batched_tokens: [2048]")) {
    const LaunchCommand c = launch_command(bundle, o, EngineRole::kBoth, "org/some-model", 0);
    ASSERT_NE(c.command, "") << o.name();
    const LaunchRead back = read_launch(bundle, c.command);
    EXPECT_EQ(back.option.max_num_seqs, o.max_num_seqs) << c.command;
    EXPECT_EQ(back.option.max_num_batched_tokens, 2048) << c.command;
    EXPECT_THAT(back.unread, IsEmpty());
    ++read;
  }
  EXPECT_GT(read, 50U);
}

TEST(LaunchReader, GivesBackTheEnginesOfEveryPlatform) {
  const Bundle bundle;
  Scenario question;
  std::size_t read = 0;
  for (const EngineOption& o : space_of("mixtral-8x7b", question)) {
    for (const bool apart : {false, true}) {
      FleetPlan plan;
      plan.engine = o, plan.engines = 2;
      if (apart) plan.decode = o, plan.decode_engines = 3;
      for (const auto& [name, text] : platform_files(bundle, plan, "org/some-model", 4096, 8)) {
        std::vector<std::string> commands;
        commands_of(parse_yaml(text, name), commands);
        for (const std::string& command : commands) {
          SCOPED_TRACE(command);
          const LaunchRead back = read_launch(bundle, command);
          EngineOption got = completed(back, o, *launch_facts(bundle, o.engine));
          EXPECT_EQ(got.name(), o.name());
          EXPECT_EQ(back.model, "org/some-model");
          EXPECT_EQ(back.max_model_len, 4096);
          ++read;
        }
      }
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(read, 50U);
}

// A document of a file of several, from its line "kind: ...".
std::string kind_of(const std::string& text, const std::string& kind) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find("---\n", at), text.size());
    const std::string one = text.substr(at, end - at);
    if (one.find("kind: " + kind + "\n") != std::string::npos) return one;
    at = end + 4;
  }
  return "";
}

TEST(PlanFiles, ScaleAsTheHeadroomAllows) {
  const Scenario question =
      read_scenario(all_kinds(),
                    parse_yaml("model: llama-3-8b\ncost: {price: 2}\nload: {rate: 40, requests: "
                               "150, isl: 512, osl: 64}\nslo: {tpot: 30 ms, ttft: 1 s}\nplan: "
                               "{gpu: [\"l40s:30\"], tp: [1], pp: [1], spare: 1}",
                               "plan"))
          .points.front();
  Runner runner{Bundle()};
  const Plans plans = find_plans(runner, question);
  const FleetPlan& f = plans.fleets.at(0);
  for (const auto& [path, text] : plan_files(Bundle(), plans)) {
    if (path != "1/kubernetes.yaml") continue;
    const Node spec = parse_yaml(kind_of(text, "HorizontalPodAutoscaler"), path).at("spec");
    EXPECT_EQ(spec.at("minReplicas").text(), fmt::format("{}", f.engines));
    EXPECT_EQ(spec.at("maxReplicas").text(), "30");
    const Node& target = spec.at("metrics").items().at(0).at("pods").at("target");
    // Engines that work are loaded up to 1.1 times the target before another one starts.
    const double each = std::stod(target.at("averageValue").text()) / 1000;
    const double headroom = plans.answer.points.at(0).find("headroom")->value;
    EXPECT_NEAR(1.1 * each * static_cast<double>(f.engines - 1), 40 * (1 + headroom / 100), 0.05);
    std::vector<std::string> commands;
    commands_of(parse_yaml(kind_of(text, "Deployment"), path), commands);
    ASSERT_EQ(commands.size(), 1U);
    EXPECT_EQ(read_launch(Bundle(), commands[0]).option.layout.tp, 1);
    return;
  }
  FAIL() << "no kubernetes.yaml";
}

TEST(LaunchReader, ListsWhatItDoesNotKnow) {
  const LaunchRead r = read_launch(
      Bundle(),
      "vllm serve meta/model --tensor-parallel-size=4 --swap-space 16 --enforce-eager \\\n"
      "  --quantization awq --enable-expert-parallel");
  EXPECT_EQ(r.option.layout.tp, 4);
  EXPECT_EQ(r.option.layout.ep, 4);
  EXPECT_EQ(r.option.format, "");
  EXPECT_THAT(r.unread, ElementsAre("--swap-space 16", "--enforce-eager", "--quantization awq"));
}

TEST(LaunchReader, RefusesWhatIsNoCommandOfAnEngine) {
  const auto refusal = [](const std::string& command) -> std::string {
    try {
      read_launch(Bundle(), command);
    } catch (const InputError& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_THAT(refusal("ls --tp 4"), HasSubstr("no engine of catalog/launch"));
  EXPECT_THAT(refusal("vllm"), HasSubstr("no engine of catalog/launch"));
  EXPECT_THAT(refusal("vllm serve m --tensor-parallel-size four"), HasSubstr("whole number"));
  EXPECT_THAT(refusal("python -m sglang.launch_server --model-path m --tp-size 8 --dp-size 3 "
                      "--enable-dp-attention"),
              HasSubstr("do not divide"));
}

TEST(ShellWords, AreThoseOfAShell) {
  EXPECT_THAT(shell_words("a 'b c' \"d \\\" e\" f\\ g \\\n h''"),
              ElementsAre("a", "b c", "d \" e", "f g", "h"));
  EXPECT_THAT(shell_words("  "), IsEmpty());
}

TEST(LaunchReader, KnowsOtherWordsForAFlag) {
  const LaunchRead vllm = read_launch(Bundle(), "vllm serve meta/model -tp 4 -pp=2 -q fp8");
  EXPECT_EQ(vllm.option.layout.tp, 4);
  EXPECT_EQ(vllm.option.layout.pp, 2);
  EXPECT_EQ(vllm.option.format, "fp8");
  EXPECT_THAT(vllm.unread, IsEmpty());
  const LaunchRead sglang = read_launch(
      Bundle(),
      "python3 -m sglang.launch_server --model meta/model --tensor-parallel-size=8 --dp 2 "
      "--enable-dp-attention");
  EXPECT_EQ(sglang.model, "meta/model");
  EXPECT_EQ(sglang.option.layout.tp, 4);
  EXPECT_EQ(sglang.option.layout.dp, 2);
  EXPECT_THAT(sglang.unread, IsEmpty());
}

Scenario planned(const std::string& more = "") {
  return read_scenario(all_kinds(),
                       parse_yaml("model: llama-3.1-8b\ncost: {price: 2}\nload: {rate: 20, "
                                  "requests: 150, isl: 512, osl: 64}\nslo: {tpot: 30 ms}\n"
                                  "plan: {gpu: [h100-sxm], tp: [1, 2, 4], pp: [1], top: 1" +
                                      more + "}",
                                  "plan"))
      .points.front();
}

// The command of the plan is the plan; another one takes as much as a plan of its layout alone.
TEST(FromCommand, IsRatedAsThePlansAre) {
  Runner runner{Bundle()};
  const Scenario question = planned();
  const Plans plans = find_plans(runner, question);
  const FleetPlan& best = plans.fleets.front();
  const auto told = [&](const std::string& flags) {
    return beside_command(runner, question, "vllm serve meta-llama/Llama-3.1-8B-Instruct" + flags,
                          plans);
  };
  EXPECT_THAT(told(fmt::format(" -tp {}", best.engine.layout.tp)),
              ElementsAre(AllOf(HasSubstr(best.engine.name()), EndsWith("it is the plan"))));
  const int other = best.engine.layout.tp == 4 ? 1 : 4;
  const std::vector<std::string> rival = told(fmt::format(" -tp {} --swap-space 4", other));
  ASSERT_EQ(rival.size(), 2U);
  EXPECT_THAT(rival[0], HasSubstr(fmt::format("; the plan has tp {} in the place of {}",
                                              best.engine.layout.tp, other)));
  EXPECT_THAT(rival[1], EndsWith(": --swap-space 4"));
}

// A command with a drafter is rated with the acceptance of the question, or with the default.
TEST(FromCommand, SaysWhichAcceptanceItAssumes) {
  Runner runner{Bundle()};
  const std::string command =
      "vllm serve meta-llama/Llama-3.1-8B-Instruct --speculative-config "
      "'{\"method\":\"ngram\",\"num_speculative_tokens\":3,\"prompt_lookup_max\":4}'";
  const auto told = [&](const Scenario& question) {
    return beside_command(runner, question, command, find_plans(runner, question));
  };
  const std::vector<std::string> usual = told(planned());
  ASSERT_EQ(usual.size(), 2U);
  EXPECT_THAT(usual[0], HasSubstr("the plan has speculation none in the place of ngram"));
  EXPECT_THAT(usual[1], EndsWith("by ngram with 3 drafts: their acceptance is 0.7, the default of "
                                 "speculation.acceptance"));
  Scenario question = planned();
  auto& drafts = question.ask<PlanQuestion>().service.speculation;
  drafts.method = "ngram", drafts.tokens = 3, drafts.acceptance = {0.2};
  EXPECT_THAT(told(question).at(1), EndsWith("their acceptance is that of the question"));
}

// The key of a scenario says the same. A comma in it separates nothing.
TEST(FromCommand, IsAKeyOfThePlan) {
  Runner runner{Bundle()};
  const std::string command = "vllm serve meta-llama/Llama-3.1-8B-Instruct -tp 4 --names a,b";
  SearchContext context;
  const Answer answer =
      answer_plan(runner, planned(", from_command: \"" + command + "\""), context);
  const Plans plans = find_plans(runner, planned());
  const std::vector<std::string>& notes = answer.points.front().notes;
  const std::vector<std::string> told = beside_command(runner, planned(), command, plans);
  EXPECT_EQ(std::vector(notes.begin() + 1, notes.begin() + 3), told);
  EXPECT_EQ(notes.size(), plans.answer.points.front().notes.size() + 2);
  EXPECT_THROW(answer_plan(runner, planned(", from_command: ollama serve"), context), InputError);
}

TEST(FromCommand, RefusesWhatIsNoRival) {
  Runner runner{Bundle()};
  const Scenario question = planned();
  const Plans plans = find_plans(runner, question);
  for (const char* bad : {"ollama serve", "vllm serve meta-llama/Llama-3.1-70B-Instruct",
                          "vllm serve meta-llama/Llama-3.1-8B-Instruct -tp x",
                          "python -m sglang.launch_server --model-path m --disaggregation-mode "
                          "prefill"})
    EXPECT_THROW(beside_command(runner, question, bad, plans), InputError) << bad;
}

}  // namespace launch_reader_test
}  // namespace orrery
