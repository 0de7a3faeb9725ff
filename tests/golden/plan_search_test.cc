// Does the program keep the results of plans, end them on request, and share them among ranks?
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/golden/program.h"

namespace orrery::golden {
namespace plan_search_test {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string kAsk =
    "plan -m llama-3-8b --gpu h100-sxm,l40s --rate 12 --slo tpot:30ms --isl 512 --osl 64 "
    "--requests 200 -o json";
const std::string kRun =
    "plan -m llama-3-8b --train --tokens 1e9 --gpu h100-sxm --gpu-counts 8,16 --stack megatron "
    "--global-batch 64 --seq 2048 --objective pareto -o json";
// Some seconds of work on one core.
const std::string kLong =
    "plan -m llama-3-8b --gpu h100-sxm,h200-sxm,l40s --rate 60 --isl 512 --osl 64 --slo tpot:40ms "
    "--objective energy -o json";

// Ranks as root in a container and on fewer cores, with Open MPI.
const std::string kMpi =
    "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
    "OMPI_MCA_rmaps_base_oversubscribe=1 mpirun --bind-to none -n ";
const std::string kProgram = "'" ORRERY_PROGRAM "' ";

Result on_ranks(int ranks, const std::string& command) {
  return run_in(ORRERY_SOURCE_DIR, kMpi + std::to_string(ranks) + " " + command);
}

bool has_mpi() {
  return run_in(ORRERY_SOURCE_DIR, "command -v mpirun").code == 0 &&
         run_program("--version").out.find("not built in") == std::string::npos;
}

TEST(PlanStore, ChangesNoByteOfTheAnswer) {
  const Scratch s;
  const std::string store = " --resume '" + (s.path() / "a.db").string() + "'";
  for (const std::string& ask : {kAsk, kRun}) {
    const Result alone = run_program(ask);
    ASSERT_EQ(alone.code, 0) << alone.err;
    for (int time = 0; time < 2; ++time) {
      const Result kept = run_program(ask + store);
      EXPECT_EQ(kept.code, 0) << kept.err;
      EXPECT_EQ(kept.out, alone.out);
      EXPECT_EQ(kept.err, "");  // and no line of progress
    }
  }
}

TEST(PlanStore, RefusesOtherFilesWithOneMessage) {
  const Scratch s;
  for (const std::string& text : {std::string(3000, 'x'), std::string("SQLite format 3")}) {
    const std::string file = s.file("a.db", text);
    const Result r = run_program(kAsk + " --resume '" + file + "'");
    EXPECT_EQ(r.code, 2);
    EXPECT_EQ(r.out, "");
    EXPECT_THAT(r.err, AllOf(HasSubstr("--resume"), HasSubstr(file)));
    EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
    EXPECT_EQ(read_file(file), text) << "the file was changed";
  }
}

TEST(PlanStore, OnAFullDiskTheAnswerIsWhole) {
  const Scratch s;
  const std::string folder = s.path().string();
  const std::string mounted = "mount -t tmpfs -o size=48k none '" + folder + "' && ";
  const Result r = run_in(ORRERY_SOURCE_DIR, "unshare -m sh -c \"" + mounted + kProgram + kAsk +
                                                 " --resume '" + folder + "/a.db'\"");
  if (r.err.find("unshare") != std::string::npos || r.err.find("mount") != std::string::npos)
    GTEST_SKIP() << "no folder of a limited size can be made here: " << r.err;
  EXPECT_EQ(r.code, 1);
  EXPECT_THAT(r.err, HasSubstr("the answer is whole"));
  EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
  EXPECT_EQ(r.out, run_program(kAsk).out);
}

// Whenever the signal comes, what is printed is an incomplete answer or nothing.
TEST(PlanStop, CtrlCEndsWithTheBestSoFar) {
  for (const char* after : {"0.4", "1"}) {
    const Result r = run_in(ORRERY_SOURCE_DIR, std::string("timeout --preserve-status -s INT ") +
                                                   after + " " + kProgram + kLong);
    EXPECT_EQ(r.code, 130) << r.err;
    if (r.out.empty()) continue;
    EXPECT_EQ(nlohmann::json::parse(r.out)["complete"], false);
  }
}

TEST(PlanRanks, AnswersHaveTheSameBytes) {
  if (!has_mpi()) GTEST_SKIP() << "needs mpirun and a program with MPI";
  for (const std::string& ask : {kAsk, kRun}) {
    const Result alone = run_program(ask);
    for (const int ranks : {1, 2, 4}) {
      const Result r = on_ranks(ranks, kProgram + ask);
      EXPECT_EQ(r.code, 0) << r.err;
      EXPECT_EQ(r.out, alone.out) << ranks;
    }
  }
}

TEST(PlanRanks, AWrongQuestionIsRefusedOnce) {
  if (!has_mpi()) GTEST_SKIP() << "needs mpirun and a program with MPI";
  for (const char* ask : {"plan -m llama-3-8b --gpu h100-sxm --rate 2 --slo tpot:30ms --tp 3x",
                          "plan -m llama-3-8b --gpu h100-sxm --rate 2",
                          "plan -m llama-3-8b --gpu h100-sxm --rate 2 --slo tpot:30ms --resume /",
                          "plan -m llama-3-8b --gpu h100-sxm --rate 2 --slo tpot:0.01ms"}) {
    const Result r = on_ranks(2, kProgram + ask);
    EXPECT_NE(r.code, 0);
    EXPECT_EQ(r.out, "");
    const std::size_t at = r.err.find("orrery: ");
    ASSERT_NE(at, std::string::npos) << r.err;
    EXPECT_EQ(r.err.find("orrery: ", at + 1), std::string::npos) << r.err;
  }
}

TEST(PlanRanks, AKilledRankEndsTheJobAndAStoreGoesOn) {
  if (!has_mpi()) GTEST_SKIP() << "needs mpirun and a program with MPI";
  const Scratch s;
  const std::string ask = kLong + " --resume " + (s.path() / "a.db").string();
  const Result r =
      on_ranks(2, "sh -c 'if [ \"$OMPI_COMM_WORLD_RANK\" = 1 ]; then exec timeout -s KILL 0.6 \"" +
                      std::string(ORRERY_PROGRAM) + "\" " + ask + "; else exec \"" +
                      std::string(ORRERY_PROGRAM) + "\" " + ask + "; fi'");
  EXPECT_NE(r.code, 0);
  EXPECT_EQ(r.out, "");
  EXPECT_THAT(r.err, HasSubstr("mpirun"));
  const Result resumed = run_program(ask);
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_EQ(resumed.out, run_program(kLong).out);
}

}  // namespace plan_search_test
}  // namespace orrery::golden
