// Does the program explain itself: by helps, completions, manual, doctor, and things to try?
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/golden/program.h"

namespace orrery::golden {
namespace help_test {

using nlohmann::json;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// The verbs, by the words that bash would complete.
std::vector<std::string> verbs() {
  const std::string script = run_program("completion bash").out;
  const std::size_t at = script.find("'') words='") + 11;
  std::istringstream words(script.substr(at, script.find("--help", at) - at));
  return {std::istream_iterator<std::string>(words), {}};
}

TEST(Help, EveryVerbOpensWithTwoExamples) {
  std::vector<std::string> all = verbs();
  ASSERT_GT(all.size(), 20u);
  for (const char* below : {"compare service", "compare training"}) all.push_back(below);
  for (const std::string& verb : all) {
    const std::string help = run_program(verb + " --help").out;
    const std::size_t examples = help.find("\nExamples:\n  "), usage = help.find("\nUsage:");
    ASSERT_NE(examples, std::string::npos) << verb;
    EXPECT_LT(examples, usage) << verb;
    for (const std::string& line : lines_of(help))
      EXPECT_LE(line.size(), 80u) << verb << ": " << line;
    const std::string block = help.substr(examples, usage - examples);
    int count = 0;
    for (const std::string& line : lines_of(block))
      count += line.starts_with("  ") && !line.starts_with("   ");
    EXPECT_EQ(count, 2) << verb << block;
    EXPECT_THAT(block, HasSubstr("orrery " + verb)) << verb;
  }
}

TEST(Help, TheProgramAloneShowsFiveThingsToTry) {
  const Result r = run_program("");
  EXPECT_EQ(r.code, 0);
  EXPECT_EQ(r.err, "");
  std::vector<std::string> commands;
  for (const std::string& line : lines_of(r.out))
    if (line.starts_with("    orrery ")) commands.push_back(line.substr(11));
  ASSERT_EQ(commands.size(), 5u);
  for (const std::string& command : commands) EXPECT_EQ(run_program(command).code, 0) << command;
}

TEST(Help, CompletionOfBashKnowsVerbsFlagsAndValues) {
  const Scratch s;
  const std::string script = s.file("orrery.bash", run_program("completion bash").out);
  const auto completed = [&](const std::string& words, int at) {
    return run_in(s.path(), "bash -c '. " + script + "; COMP_WORDS=(" + words + "); COMP_CWORD=" +
                                std::to_string(at) + "; _orrery; echo \"${COMPREPLY[*]}\"'")
        .out;
  };
  EXPECT_EQ(completed("orrery est", 1), "estimate\n");
  EXPECT_EQ(completed("orrery estimate --max-num-s", 2), "--max-num-seqs\n");
  EXPECT_EQ(completed("orrery compare serv", 2), "service\n");
  EXPECT_EQ(completed("orrery plan --objective thr", 3), "throughput\n");
}

bool has_shell(const std::string& shell) { return run_in("/", "command -v " + shell).code == 0; }

// The program's name in a folder of commands, as shells look it up.
std::string path_of_program(const Scratch& s) {
  std::filesystem::create_symlink(ORRERY_PROGRAM, s.path() / "orrery");
  return "PATH=" + s.path().string() + ":$PATH ";
}

TEST(Help, FishCompletes) {
  if (!has_shell("fish")) GTEST_SKIP() << "fish is not installed (apt-get install fish)";
  const Scratch s;
  const std::string path = path_of_program(s);
  const std::string script = s.file("orrery.fish", run_program("completion fish").out);
  const auto completed = [&](const std::string& line) {
    const Result r =
        run_in(s.path(), path + "HOME=" + s.path().string() + " fish --no-config -c 'source " +
                             script + "; complete -C \"" + line + "\"'");
    EXPECT_EQ(r.err, "") << line;
    std::set<std::string> words;  // without their descriptions
    for (const std::string& candidate : lines_of(r.out))
      words.insert(candidate.substr(0, candidate.find('\t')));
    return words;
  };
  using Words = std::set<std::string>;
  EXPECT_EQ(completed("orrery est"), Words{"estimate"});
  EXPECT_EQ(completed("orrery estimate --mod"), Words{"--model"});
  EXPECT_EQ(completed("orrery plan --objective thr"), Words{"throughput"});
  EXPECT_EQ(completed("orrery compare serv"), Words{"service"});
  EXPECT_EQ(completed("orrery compare service --ru"), Words{"--run"});
  EXPECT_THAT(completed("orrery estimate --gpu h100-s"), Contains("h100-sxm"));
}

// A shell with a terminal of its own gets the line and a tabulator, and prints what it made of it.
TEST(Help, ZshCompletes) {
  if (!has_shell("zsh")) GTEST_SKIP() << "zsh is not installed (apt-get install zsh)";
  const Scratch s;
  const std::string path = path_of_program(s);
  s.file("_orrery", run_program("completion zsh").out);
  const std::string asked = s.file("asked.zsh", R"(zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'PS1=; stty -echo columns 200; autoload -Uz compinit; compinit -u -d ./dump
source ./_orrery; bindkey "^I" complete-word
show() { print -r -- "<$BUFFER>"; zle kill-whole-line }; zle -N show; bindkey "^X" show
print REA""DY'
zpty -r -m shell out '*READY*'
for line in "$@"; do
  zpty -w -n shell "$line"$'\t\x18'
  zpty -r -m shell out '*<*>*'
  print -r -- "${${out##*<}%%>*}"
done
zpty -d shell
)");
  const Result r = run_in(s.path(), path + "timeout 30 zsh -f " + asked +
                                        " 'orrery est' 'orrery estimate --mod'"
                                        " 'orrery plan --objective thr' 'orrery compare serv'"
                                        " 'orrery compare service --ru'"
                                        " 'orrery estimate --gpu h100-sx'");
  EXPECT_EQ(r.out,
            "orrery estimate \norrery estimate --model \norrery plan --objective throughput \n"
            "orrery compare service \norrery compare service --run \n"
            "orrery estimate --gpu h100-sxm \n")
      << r.err;
}

TEST(Help, CompletionsAndManualHaveEveryVerb) {
  const Scratch s;
  const std::string zsh = run_program("completion zsh").out,
                    fish = run_program("completion fish").out;
  EXPECT_THAT(zsh, StartsWith("#compdef orrery\n"));
  ASSERT_EQ(run_program("man --out " + s.path().string()).code, 0);
  for (const std::string& verb : verbs()) {
    EXPECT_THAT(zsh, HasSubstr("    " + verb + ") _arguments")) << verb;
    EXPECT_THAT(fish, HasSubstr("-f -a " + verb + " -d '")) << verb;
    const std::string page = read_file(s.path() / ("orrery-" + verb + ".1"));
    EXPECT_THAT(page, StartsWith(".TH ORRERY-")) << verb;
    EXPECT_THAT(page, HasSubstr(".SH EXAMPLES\n")) << verb;
    EXPECT_THAT(page, Not(HasSubstr("\n'"))) << verb;
  }
  EXPECT_THAT(read_file(s.path() / "orrery-estimate.1"), HasSubstr("\\fB\\-\\-max\\-num\\-seqs"));
  EXPECT_EQ(run_program("man estimat").code, 2);
  EXPECT_EQ(run_program("completion tcsh").code, 2);
}

TEST(Help, DoctorSaysWhatThereIs) {
  const json j = json::parse(run_program("doctor -o json", "ORRERY_DATA=/nowhere").out);
  EXPECT_THAT(j["version"].get<std::string>(), StartsWith("orrery "));
  EXPECT_GT(j["catalog"]["gpus"], 20);
  EXPECT_GT(j["catalog"]["models"], 50);
  EXPECT_EQ(j["measured_tables"]["folder"], "/nowhere");
  EXPECT_TRUE(j["measured_tables"]["found"].empty());
  EXPECT_GE(j["machine"]["cores"], 1);
  EXPECT_EQ(j["trial"], "answered");
  EXPECT_THAT(run_program("doctor").out, HasSubstr("a question       answered\n"));
}

TEST(Help, UnknownFlagsNameTheNearest) {
  for (const auto& [command, nearest] :
       std::map<std::string, std::string>{{"estimate --modle x", "--model"},
                                          {"plan --robst load:20%", "--robust"},
                                          {"compare service r.json --rn 1", "--run"},
                                          {"accelerator map --objektive delay", "--objective"},
                                          {"doctor --outpt json", "--output"}}) {
    const Result r = run_program(command);
    EXPECT_EQ(r.code, 2) << command;
    EXPECT_THAT(r.err, HasSubstr("did you mean '" + nearest + "'?")) << command;
  }
}

TEST(Help, MissingAndUnexpectedWordsNameTheHelp) {
  const Result missing = run_program("compare service");
  EXPECT_EQ(missing.code, 2);
  EXPECT_EQ(missing.err,
            "orrery: RESULT is missing ('orrery compare service --help' shows examples)\n");
  const Result more = run_program("show h100-sxm h200-sxm");
  EXPECT_EQ(more.code, 2);
  EXPECT_EQ(more.err,
            "orrery: unexpected argument 'h200-sxm' ('orrery show --help' shows examples)\n");
}

// No line about progress goes where no terminal is.
TEST(Help, ProgressIsSilentWithoutATerminal) {
  for (const char* ask :
       {"simulate -m llama-3-8b -g h100-sxm --rate 8 --requests 20000 --no-intervals -o csv",
        "edge llama-3-8b,resnet50 --device all -o csv",
        "run scenarios/edge scenarios/llama-3-70b-8xh100.yaml -o csv"}) {
    const Result r = run_program(ask);
    EXPECT_EQ(r.code, 0) << ask;
    EXPECT_EQ(r.err, "") << ask;
  }
}

// On a terminal, work of more than a second has a line. The long run would take several seconds on
// any machine; it ends when its line has been seen, or at the time limit, which a loaded machine
// does not reach either.
TEST(Help, ProgressHasABarOnATerminal) {
  const auto seen = [](const std::string& requests) {
    return run_in("/", "timeout 60 script -qefc '" ORRERY_PROGRAM
                       " simulate -m llama-3-8b -g h100-sxm --rate 8 --no-intervals --requests " +
                           requests +
                           "' /dev/null | stdbuf -oL tr '\\r' '\\n' | grep -m 1 'simulate \\['")
        .out;
  };
  EXPECT_THAT(seen("4000000"),
              testing::ContainsRegex("simulate \\[[#-]{20}\\] [0-9]+/4000000 requests, [0-9]+ s"));
  EXPECT_EQ(seen("20"), "");
}

}  // namespace help_test
}  // namespace orrery::golden
