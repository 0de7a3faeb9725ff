// Do plans have the same bytes, wherever their results come from?
#include "orrery/planner/workers/search_context.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "orrery/base/error.h"
#include "orrery/base/node.h"
#include "orrery/kinds/all_kinds.h"
#include "orrery/planner/answer/planner.h"
#include "orrery/planner/question/plan_question.h"
#include "orrery/planner/runs/run_planner.h"
#include "orrery/planner/store/result_key.h"
#include "orrery/scenario/document/scenario_sweep.h"

namespace orrery {
namespace search_context_test {

using ::testing::HasSubstr;

Scenario question(const std::string& text) {
  return read_scenario(all_kinds(), parse_yaml(text, "plan")).points.front();
}

// Services by money, by rate, disaggregated; runs by time and as a front.
const std::vector<std::string> kQuestions = {
    "{model: llama-3-8b, cost: {price: 2}, load: {rate: 6, requests: 100, isl: 512, osl: 64}, slo: "
    "{tpot: 30 ms, ttft: 1 s}, plan: {gpu: [h100-sxm, l40s], tp: [1, 2], pp: [1]}}",
    "{model: llama-3-8b, load: {requests: 100, isl: 512, osl: 64}, slo: {tpot: 30 ms}, plan: {gpu: "
    "[h100-sxm, l40s], tp: [1, 2], pp: [1], objective: throughput, gpus: 4, top: 1}}",
    "{model: llama-3-8b, cost: {price: 2}, load: {rate: 9, requests: 100, isl: 512, osl: 64}, slo: "
    "{tpot: 30 ms}, plan: {gpu: [h100-sxm], tp: [1, 2], pp: [1], modes: [aggregated, "
    "disaggregated], spare: 1}}",
    "{model: llama-3-8b, chance: {draws: 10}, cost: {price: 2}, training: {tokens: 1e9, stack: "
    "megatron, seq: 2048, global_batch: 64}, plan: {gpu: [h100-sxm], gpu_counts: [8, 16, 32], "
    "objective: time}}",
    "{model: llama-3-8b, chance: {draws: 10}, cost: {price: 2}, training: {tokens: 1e9, stack: "
    "megatron, seq: 2048, global_batch: 64}, plan: {gpu: [h100-sxm, a100-80g-sxm], gpu_counts: [8, "
    "16], objective: pareto}}",
    // Not possible: the message has the closest plan.
    "{model: llama-3-8b, cost: {price: 2}, load: {rate: 6, requests: 100, isl: 512, osl: 64}, slo: "
    "{tpot: 30 ms}, plan: {gpu: [h100-sxm], tp: [1, 2], pp: [1], gpus: 1, budget: 3}}",
    "{model: llama-3-70b, cost: {price: 2}, training: {tokens: 1e9, stack: megatron, seq: 2048, "
    "global_batch: 64}, plan: {gpu: [l40s], gpu_counts: [8], objective: cost}}"};

// All of an answer, or the message why there is none; "" on ranks that do not answer.
std::string answered(const Scenario& asked, SearchContext& context) {
  Runner runner{Bundle()};
  try {
    const Answer a = asked.as<PlanQuestion>().training
                         ? find_run_plans(runner, asked, context).answer
                         : find_plans(runner, asked, context).answer;
    return to_json(a, true).dump(1);
  } catch (const Infeasible& e) {
    return e.what();
  } catch (const SearchOver&) {
    return "";
  }
}

std::string answered_alone(const Scenario& asked) {
  SearchContext context;
  return answered(asked, context);
}

// Counts the results that a search computes and those that it finds; ends it on request.
class Counts : public SearchWatcher {
 public:
  explicit Counts(std::int64_t most = -1) : most_(most) {}
  void see(const SearchState& state) override { state_ = state; }
  bool stops() override { return most_ >= 0 && state_.computed + state_.known >= most_; }
  const SearchState& state() const { return state_; }

 private:
  std::int64_t most_;
  SearchState state_;
};

class SearchContextTest : public ::testing::Test {
 protected:
  ~SearchContextTest() override {
    for (const char* end : {"", "-wal", "-shm"}) std::filesystem::remove(path_ + end);
  }
  const ResultStore::Scope scope_ = {"1", "c"};
  const std::string path_ =
      (std::filesystem::path(::testing::TempDir()) /
       (std::string("context-") + ::testing::UnitTest::GetInstance()->current_test_info()->name()))
          .string();
};

// The answers of all ranks, which are threads here.
std::vector<std::string> answered_by(int ranks, const std::vector<Scenario>& asked,
                                     ResultStore* store = nullptr) {
  const auto all = thread_ranks(ranks);
  std::vector<std::string> out(all.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < all.size(); ++i) {
    threads.emplace_back([&, i] {
      SearchContext context({i == 0 ? store : nullptr, nullptr, all[i].get()});
      for (const Scenario& s : asked) out[i] += answered(s, context);
    });
  }
  for (std::thread& t : threads) t.join();
  return out;
}

TEST_F(SearchContextTest, AnswersHaveTheSameBytesForAnyNumberOfRanks) {
  for (const std::string& text : kQuestions) {
    const Scenario asked = question(text);
    const std::string alone = answered_alone(asked);
    for (const int ranks : {2, 3}) {
      const std::vector<std::string> found = answered_by(ranks, {asked});
      EXPECT_EQ(found.front(), alone) << text << " on " << ranks;
      for (std::size_t i = 1; i < found.size(); ++i) EXPECT_EQ(found[i], "");
    }
  }
}

TEST_F(SearchContextTest, RanksShareOneQuestionAfterTheOther) {
  std::vector<Scenario> asked;
  std::string alone;
  for (const std::string& text : kQuestions) {
    asked.push_back(question(text));
    alone += answered_alone(asked.back());
  }
  EXPECT_EQ(answered_by(2, asked).front(), alone);
}

TEST_F(SearchContextTest, RanksShareTheWork) {
  const Scenario asked = question(kQuestions.front());
  const auto all = thread_ranks(2);
  Counts alone, first;
  {
    SearchContext context({nullptr, &alone, nullptr});
    answered(asked, context);
  }
  std::thread other([&] {
    SearchContext context({nullptr, nullptr, all[1].get()});
    answered(asked, context);
  });
  {
    SearchContext context({nullptr, &first, all[0].get()});
    answered(asked, context);
  }
  other.join();
  EXPECT_LT(first.state().computed, alone.state().computed);
}

TEST_F(SearchContextTest, AStoreChangesNothingAndNothingIsComputedTwice) {
  for (const std::string& text : kQuestions) {
    const Scenario asked = question(text);
    const std::string alone = answered_alone(asked);
    std::filesystem::remove(path_);
    ResultStore store(path_, scope_);
    for (int time = 0; time < 2; ++time) {
      Counts counts;
      SearchContext context({&store, &counts, nullptr});
      EXPECT_EQ(answered(asked, context), alone) << text;
      if (time == 1) {
        EXPECT_EQ(counts.state().computed, 0) << text;
      }
    }
    EXPECT_EQ(answered_by(2, {asked}, &store).front(), alone) << text;
  }
}

// Where a search is killed after some results, the next one computes the rest alone.
TEST_F(SearchContextTest, ASearchGoesOnWhereAnotherOneEnded) {
  for (const std::size_t i : {0U, 4U}) {
    const Scenario asked = question(kQuestions[i]);
    std::filesystem::remove(path_);
    ResultStore store(path_, scope_);
    Counts all;
    SearchContext counted({nullptr, &all, nullptr});
    const std::string alone = answered(asked, counted);
    const std::int64_t results = all.state().computed;
    class Killed : public Counts {
     public:
      explicit Killed(std::int64_t after) : after_(after) {}
      bool stops() override {
        if (state().computed >= after_) throw std::runtime_error("killed");
        return false;
      }

     private:
      std::int64_t after_;
    };
    Killed killed(results / 2);
    {
      SearchContext context({&store, &killed, nullptr});
      EXPECT_THROW(answered(asked, context), std::runtime_error);
    }
    const std::int64_t before = store.size();
    EXPECT_GE(before, results / 4);
    Counts rest;
    SearchContext context({&store, &rest, nullptr});
    EXPECT_EQ(answered(asked, context), alone);
    EXPECT_EQ(rest.state().computed, store.size() - before);
    EXPECT_LT(rest.state().computed, results);
  }
}

TEST_F(SearchContextTest, PlansOfOneLoadShareResults) {
  ResultStore store(path_, scope_);
  const auto ask = [&](const std::string& more) {
    Counts counts;
    SearchContext context({&store, &counts, nullptr});
    answered(question(fmt::format(
                 "{{model: llama-3-8b, cost: {{price: 2}}, load: {{rate: 6, requests: 100, isl: "
                 "512, osl: 64}}, slo: {{tpot: 30 ms}}, plan: {{gpu: [h100-sxm], pp: [1], {}}}}}",
                 more)),
             context);
    return counts.state();
  };
  ask("tp: [1]");
  const SearchState wider = ask("tp: [1, 2]");
  EXPECT_GT(wider.known, 0);
  EXPECT_GT(wider.computed, 0);
  EXPECT_EQ(ask("tp: [1], objective: gpus").computed, 0);
}

TEST_F(SearchContextTest, AFullDiskLosesNoAnswer) {
  const Scenario asked = question(kQuestions.front());
  ResultStore store(path_, scope_);
  store.limit_pages(10);
  SearchContext context({&store, nullptr, nullptr});
  EXPECT_EQ(answered(asked, context), answered_alone(asked));
  EXPECT_THAT(store.failure(), HasSubstr("the disk is full"));
}

TEST_F(SearchContextTest, AStoppedSearchHasTheBestSoFarAndSaysSo) {
  for (const std::size_t i : {0U, 1U, 3U, 4U}) {
    const Scenario asked = question(kQuestions[i]);
    Counts all;
    SearchContext whole({nullptr, &all, nullptr});
    const auto end = nlohmann::ordered_json::parse(answered(asked, whole));
    EXPECT_EQ(end["complete"], true);
    int plans = 0;
    for (const double share : {0.0, 0.2, 0.4, 0.6, 0.8, 0.98}) {
      const auto most =
          static_cast<std::int64_t>(share * static_cast<double>(all.state().computed));
      Counts counts(most);
      SearchContext context({nullptr, &counts, nullptr});
      try {
        const auto found = nlohmann::ordered_json::parse(answered(asked, context));
        ++plans;
        EXPECT_EQ(found["complete"], false) << share;
        EXPECT_THAT(found["points"][0].dump(), HasSubstr("incomplete, because")) << share;
      } catch (const Stopped&) {
        EXPECT_LT(share, 0.7) << "no plan after most of the search";
      }
    }
    EXPECT_GE(plans, 2) << kQuestions[i];
  }
}

TEST_F(SearchContextTest, AStoppedSearchOfRanksEndsOnAll) {
  const Scenario asked = question(kQuestions.front());
  const auto all = thread_ranks(2);
  std::thread other([&] {
    SearchContext context({nullptr, nullptr, all[1].get()});
    EXPECT_EQ(answered(asked, context), "");
    EXPECT_EQ(answered(asked, context), "");  // and it waits for nothing
  });
  Counts counts(3);
  {
    SearchContext context({nullptr, &counts, all[0].get()});
    try {
      answered(asked, context);
    } catch (const Stopped&) {
    }
  }
  other.join();
}

// A wrong question is refused by every rank, of which one says so.
TEST_F(SearchContextTest, AWrongQuestionEndsOnAll) {
  const Scenario asked = question(
      "{model: llama-3-8b, load: {requests: 100, isl: 512, osl: 64}, slo: {tpot: 30 ms}, plan: "
      "{gpu: [h100-sxm], tp: [1, 2], pp: [1], objective: throughput}}");
  const auto all = thread_ranks(2);
  std::thread other([&] {
    SearchContext context({nullptr, nullptr, all[1].get()});
    try {
      EXPECT_EQ(answered(asked, context), "");
    } catch (const InputError&) {
    }
  });
  {
    SearchContext context({nullptr, nullptr, all[0].get()});
    EXPECT_THROW(answered(asked, context), InputError);
  }
  other.join();
}

}  // namespace search_context_test
}  // namespace orrery
