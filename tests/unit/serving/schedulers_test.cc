// Each scheduler on a few requests, step by step; expectations are worked out by hand from its
// rules.
#include "orrery/serving/schedulers/scheduler.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "tests/refusal.h"
#include "tests/scheduler_keys.h"

namespace orrery {
namespace schedulers_test {

// A synchronous engine whose steps are written as "request:tokens ... | evicted ... | stalled ...".
class Bench {
 public:
  Bench(const char* policy, EngineProfile profile, std::int64_t blocks, bool caching = false)
      : profile_(std::move(profile)), blocks_(blocks) {
    profile_.scheduler.policy = policy;
    profile_.scheduler.prefix_caching = caching;
    scheduler_ = make_scheduler({profile_.scheduler});
    load_.id_tokens = 1;
  }

  // A request arrives. `text`: names of its first tokens, one a letter.
  void arrive(std::int32_t input, std::int32_t output, std::int32_t priority = 0,
              const std::string& text = "") {
    Request r;
    r.input = input;
    r.output = output;
    r.priority = priority;
    r.first_id = static_cast<std::uint32_t>(load_.ids.size());
    r.ids = static_cast<std::uint32_t>(text.size());
    std::uint64_t chain = 0;
    for (char c : text) load_.ids.push_back(chain = chain * 31 + static_cast<std::uint64_t>(c));
    load_.requests.push_back(r);
    if (!engine_) engine_ = std::make_unique<EngineState>(profile_, blocks_, load_);
    engine_->enter(static_cast<std::uint32_t>(load_.requests.size() - 1),
                   load_.requests.back().output);
  }

  std::string step() {
    StepPlan plan;
    scheduler_->plan(*engine_, plan);
    std::string text;
    for (const Work& w : plan.work)
      text += fmt::format(" {}:{}", engine_->at(w.slot).request, w.new_tokens);
    text += list(" | evicted", plan.evicted) + list(" | stalled", plan.stalled);
    for (const Work& w : plan.work) {
      Sequence& s = engine_->at(w.slot);
      s.computed += w.new_tokens;
      if (s.computed < s.tokens) continue;
      ++s.tokens;
      ++s.made;
      if (s.tokens < s.target) continue;
      std::erase(engine_->queues.running, w.slot);
      engine_->leave(w.slot, false);
    }
    return text.empty() ? text : text.substr(1);
  }

  std::vector<std::string> steps(int n) {
    std::vector<std::string> out;
    for (int i = 0; i < n; ++i) out.push_back(step());
    return out;
  }

  const EngineState& engine() const { return *engine_; }

 private:
  std::string list(const char* title, const std::vector<Slot>& slots) const {
    std::string text = slots.empty() ? "" : title;
    for (Slot s : slots) text += fmt::format(" {}", engine_->at(s).request);
    return text;
  }

  EngineProfile profile_;
  std::int64_t blocks_;
  RequestLoad load_;
  std::unique_ptr<Scheduler> scheduler_;
  std::unique_ptr<EngineState> engine_;
};

EngineProfile limits(std::int64_t budget, std::int32_t block = 4) {
  EngineProfile e;
  e.scheduler.max_num_batched_tokens = budget;
  e.memory.block_size = block;
  return e;
}

using testing::ElementsAre;

TEST(VllmV1, ASpareBudgetGoesToAChunkOfTheNextPrompt) {
  Bench b("vllm", limits(8), 100);
  b.arrive(6, 3);
  b.arrive(10, 2);
  EXPECT_THAT(b.steps(5), ElementsAre("0:6 1:2", "0:1 1:7", "0:1 1:1", "1:1", ""));
}

TEST(VllmV1, NoMoreRunThanMaxNumSeqs) {
  EngineProfile l = limits(1000);
  l.scheduler.max_num_seqs = 20;
  Bench b("vllm", l, 1000);
  for (int i = 0; i < 30; ++i) b.arrive(4, 2);
  b.step();
  EXPECT_EQ(b.engine().queues.running.size(), 20u);
}

TEST(VllmV1, OnePromptTakesNoMoreThanTheThreshold) {
  EngineProfile l = limits(8);
  set_keys(l.scheduler, "long_prefill_token_threshold: 3");
  Bench b("vllm", l, 100);
  b.arrive(7, 1);
  b.arrive(4, 1);
  EXPECT_THAT(b.steps(3), ElementsAre("0:3 1:3", "0:3 1:1", "0:1"));
}

TEST(VllmV1, TheLastOfTheRunningIsEvictedAndComputedAgain) {
  Bench b("vllm", limits(100), 4);
  b.arrive(7, 8);
  b.arrive(7, 8);
  // Two blocks each. The ninth token of the first needs a third one; the second then has 9 tokens
  // to compute, which fit when the first has gone, 8 steps after it came.
  EXPECT_THAT(b.steps(9), ElementsAre("0:7 1:7", "0:1 1:1", "0:1 | evicted 1", "0:1", "0:1", "0:1",
                                      "0:1", "0:1", "1:9"));
}

TEST(VllmV1, NoNewcomersInAStepThatEvicts) {
  Bench b("vllm", limits(100), 4);
  b.arrive(7, 8);
  b.arrive(7, 8);
  b.steps(2);
  b.arrive(1, 1);
  EXPECT_EQ(b.step(), "0:1 | evicted 1");
  // One block is free and the newcomer needs no more, but it waits behind the evicted one.
  EXPECT_EQ(b.step(), "0:1");
}

TEST(VllmV1, APriorityVictimGivesItsBudgetBack) {
  EngineProfile l = limits(14);
  l.scheduler.order = QueueOrder::kPriority;
  Bench b("vllm", l, 9);
  b.arrive(10, 9, 2);
  EXPECT_EQ(b.step(), "0:10");
  for (int i = 0; i < 3; ++i) b.arrive(4, 9, 0);
  b.arrive(12, 2, 1);
  EXPECT_EQ(b.step(), "0:1 1:4 2:4 3:4 4:1");
  // Seven of 9 blocks are held: 3 and one by each of the others. The fifth tokens of 1 and 2 take
  // the last two. That of 3 evicts 0, which was planned already: 11 tokens are left for 4, which
  // wants as many.
  EXPECT_EQ(b.step(), "1:1 2:1 3:1 4:11 | evicted 0");
}

TEST(VllmV1, AHigherPriorityGoesFirstThoughItCameLater) {
  EngineProfile l = limits(100);
  l.scheduler.order = QueueOrder::kPriority;
  l.scheduler.max_num_seqs = 1;
  Bench b("vllm", l, 100);
  b.arrive(4, 1, 1);
  b.arrive(5, 1, 0);
  b.arrive(6, 1, 1);
  EXPECT_THAT(b.steps(3), ElementsAre("1:5", "0:4", "2:6"));
}

TEST(VllmV1, ShortestFirst) {
  EngineProfile l = limits(100);
  l.scheduler.order = QueueOrder::kSjf;
  l.scheduler.max_num_seqs = 1;
  Bench b("vllm", l, 100);
  b.arrive(6, 1);
  b.arrive(5, 1);
  b.arrive(6, 1);
  EXPECT_THAT(b.steps(3), ElementsAre("1:5", "0:6", "2:6"));
}

TEST(VllmV1, APrefixIsSharedWithinTheStepThatComputesIt) {
  Bench b("vllm", limits(100), 100, true);
  b.arrive(9, 2, 0, "abcdefgh");
  b.arrive(9, 2, 0, "abcdxxxx");
  b.arrive(8, 2, 0, "abcdefgh");  // its last token is computed again, and with it its last block
  EXPECT_EQ(b.step(), "0:9 1:5 2:4");
  EXPECT_EQ(b.engine().kv.pool().free(), 100 - 3 - 2 - 1);
}

TEST(VllmV1, AnEvictedSequenceFindsItsOwnBlocks) {
  Bench b("vllm", limits(100), 6, true);
  b.arrive(7, 8);
  b.arrive(7, 9);
  EXPECT_EQ(b.step(), "0:7 1:7");
  for (int i = 0; i < 5; ++i) EXPECT_EQ(b.step(), "0:1 1:1");
  // Three blocks each, all full. The thirteenth token of the first takes the last block of the
  // second, whose first two stay in the cache.
  EXPECT_EQ(b.step(), "0:1 | evicted 1");
  EXPECT_EQ(b.step(), "0:1");
  EXPECT_EQ(b.step(), "1:5") << "8 of its 13 tokens were found";
}

TEST(VllmV1, ANewcomerNeedsRoomForItsWholePrompt) {
  for (int prompt : {8, 9}) {
    Bench b("vllm", limits(6), 4);
    b.arrive(4, 5);
    b.step();
    b.arrive(prompt, 1);
    // 0 holds two blocks and two are free. 1 needs two or three in the end, and two for 5 tokens.
    EXPECT_EQ(b.step(), prompt == 8 ? "0:1 1:5" : "0:1");
  }
}

TEST(VllmV1, WithoutChunkingAPromptWaitsForTheWholeBudget) {
  EngineProfile l = limits(10);
  l.scheduler.chunked_prefill = false;
  Bench b("vllm", l, 100);
  b.arrive(6, 3);
  b.arrive(6, 1);
  b.arrive(15, 1);  // more than the budget ever is: whole, the only newcomer
  EXPECT_THAT(b.steps(3), ElementsAre("0:6", "0:1 1:6", "0:1 2:15"));
}

TEST(VllmV0, PromptsStallDecodes) {
  Bench b("vllm-v0", limits(100), 100);
  b.arrive(4, 3);
  EXPECT_EQ(b.step(), "0:4");
  b.arrive(5, 3);
  EXPECT_THAT(b.steps(4), ElementsAre("1:5 | stalled 0", "0:1 1:1", "0:1 1:1", ""));
}

TEST(VllmV0, PromptsArePaddedToTheLongest) {
  Bench b("vllm-v0", limits(10), 100);
  b.arrive(3, 2);
  b.arrive(5, 2);  // 2 x 5 tokens are the budget
  b.arrive(2, 2);  // 3 x 5 are more
  EXPECT_THAT(b.steps(2), ElementsAre("0:3 1:5", "2:2 | stalled 0 1"));
}

TEST(VllmV0, OnePercentOfTheBlocksStaysFree) {
  for (int second : {39, 40}) {
    Bench b("vllm-v0", limits(1000, 1), 100);
    b.arrive(60, 2);
    b.arrive(second, 1);
    EXPECT_EQ(b.step(), second == 39 ? "0:60 1:39" : "0:60");
  }
}

TEST(VllmV0, TheLatestIsEvictedAndStartsAgainWithWhatItHad) {
  Bench b("vllm-v0", limits(100), 4);
  b.arrive(6, 4);
  b.arrive(5, 5);
  // No block is free where a decode wants one at hand: the second goes, and comes back before the
  // next decode.
  EXPECT_THAT(b.steps(7),
              ElementsAre("0:6 1:5", "0:1 | evicted 1", "1:6 | stalled 0", "0:1 | evicted 1",
                          "1:7 | stalled 0", "0:1 | evicted 1", "1:8"));
}

TEST(Sarathi, PromptsTakeWhatDecodesLeaveOfAChunk) {
  Bench b("sarathi", limits(8), 100);
  b.arrive(5, 4);
  b.arrive(12, 2);
  b.arrive(3, 1);
  EXPECT_THAT(b.steps(4), ElementsAre("0:5 1:3", "0:1 1:7", "0:1 1:2 2:3", "0:1 1:1"));
}

TEST(Sarathi, ANewcomerTakesTheBlocksOfItsWholePrompt) {
  Bench b("sarathi", limits(8), 100);
  b.arrive(20, 1);
  b.step();
  EXPECT_EQ(b.engine().kv.pool().free(), 95);
}

TEST(Orca, MemoryIsReservedForAllOutput) {
  Bench b("orca", limits(4), 4);
  b.arrive(4, 6);  // 9 tokens in the end: 3 blocks of 4
  b.arrive(4, 2);  // 5 tokens: 2 blocks
  EXPECT_EQ(b.step(), "0:4");
  EXPECT_EQ(b.engine().kv.pool().free(), 1);
  EXPECT_THAT(b.steps(6), ElementsAre("0:1", "0:1", "0:1", "0:1", "0:1", "1:4"));
}

TEST(Orca, WholePromptsRunBesideDecodes) {
  Bench b("orca", limits(4), 100);
  b.arrive(4, 3);
  b.step();
  b.arrive(30, 2);
  EXPECT_EQ(b.step(), "0:1 1:30");
}

TEST(StaticBatching, TheNextBatchWaitsForTheLastMember) {
  Bench b("static", limits(100), 100);
  b.arrive(4, 1);
  b.arrive(5, 3);
  EXPECT_EQ(b.step(), "0:4 1:5");
  b.arrive(6, 1);
  EXPECT_THAT(b.steps(3), ElementsAre("1:1", "1:1", "2:6"));
}

TEST(StaticBatching, DecodesWaitForAllPrompts) {
  EngineProfile l = limits(8);
  l.scheduler.chunked_prefill = false;
  Bench b("static", l, 100);
  b.arrive(5, 2);
  b.arrive(4, 2);
  EXPECT_THAT(b.steps(3), ElementsAre("0:5", "1:4 | stalled 0", "0:1 1:1"));
}

TEST(Sglang, TheLongestCachedPrefixGoesFirstIfAsked) {
  for (const QueueOrder order : {QueueOrder::kLpm, QueueOrder::kFcfs}) {
    EngineProfile l = limits(100);
    l.scheduler.max_num_seqs = 2;
    l.scheduler.order = order;
    Bench b("sglang", l, 100, true);
    b.arrive(8, 3, 0, "abcdefgh");
    b.step();
    b.arrive(8, 1, 0, "xxxxxxxx");
    b.arrive(8, 1, 0, "abcdefgh");
    if (order == QueueOrder::kLpm) {
      EXPECT_THAT(b.steps(3), ElementsAre("2:4 | stalled 0", "1:8 | stalled 0", "0:1"));
    } else {
      EXPECT_THAT(b.steps(3), ElementsAre("1:8 | stalled 0", "2:4 | stalled 0", "0:1"));
    }
  }
}

TEST(Sglang, DecodesJoinPromptsWhenMixed) {
  for (bool mixed : {false, true}) {
    EngineProfile l = limits(8);
    set_keys(l.scheduler, fmt::format("mixed_chunk: {}", mixed));
    Bench b("sglang", l, 100);
    b.arrive(4, 3);
    b.step();
    b.arrive(10, 2);
    if (mixed) {
      EXPECT_THAT(b.steps(3), ElementsAre("0:1 1:7", "0:1 1:3", "1:1"));
    } else {
      EXPECT_THAT(b.steps(3), ElementsAre("1:8 | stalled 0", "1:2 | stalled 0", "0:1 1:1"));
    }
  }
}

// SGLang looks for new requests when nothing runs, after a prompt, and after recv_interval decode
// steps.
TEST(Sglang, NewcomersAreLookedForNowAndThen) {
  EngineProfile l = limits(100);
  set_keys(l.scheduler, "recv_interval: 3");
  Bench b("sglang", l, 100);
  b.arrive(4, 20);
  EXPECT_EQ(b.step(), "0:4");
  b.arrive(5, 20);
  EXPECT_EQ(b.step(), "1:5 | stalled 0");  // after a prompt
  EXPECT_EQ(b.step(), "0:1 1:1");          // looked, and nobody was there
  b.arrive(6, 20);
  EXPECT_THAT(b.steps(3), ElementsAre("0:1 1:1", "0:1 1:1", "2:6 | stalled 0 1"));
}

TEST(Sglang, RoomIsKeptForTheOutputOfTheRunning) {
  Bench b("sglang", limits(100, 1), 100);
  b.arrive(20, 51);
  b.step();
  // 80 tokens are free. The first is expected to make 0.7 of 50 more: 45 are left, for prompt and
  // output (of which the first token counts).
  b.arrive(20, 25);
  EXPECT_EQ(b.step(), "0:1") << "45 tokens do not fit into 45";
}

TEST(Sglang, OfEqualOutputsTheLongestPromptIsEvicted) {
  Bench b("sglang", limits(1000, 1), 181);
  b.arrive(5, 101);
  EXPECT_EQ(b.step(), "0:5");
  b.arrive(4, 101);  // 105 tokens; 176 - 0.7 x 100 = 106 are left for it
  EXPECT_EQ(b.step(), "1:4 | stalled 0");
  // 9 tokens are held and each decode adds two: 86 fit.
  for (int i = 0; i < 86; ++i) ASSERT_EQ(b.step(), "0:1 1:1");
  EXPECT_EQ(b.step(), "1:1 | evicted 0");
}

TEST(TrtLlm, ANewcomerMustFitToTheEndWhereNothingIsEvicted) {
  Bench b("trtllm", limits(100), 4);
  b.arrive(4, 6);  // 3 blocks in the end
  b.arrive(4, 2);  // 2
  EXPECT_THAT(b.steps(7), ElementsAre("0:4", "0:1", "0:1", "0:1", "0:1", "0:1", "1:4"));
}

TEST(TrtLlm, WithMaximumUtilisationTheLastIsPaused) {
  Bench b("trtllm-max-utilization", limits(100), 3);
  b.arrive(4, 6);
  b.arrive(4, 2);
  // A block each, and one is free: the first takes it for its second token, the other is paused; it
  // needs two blocks for its 5 tokens and gets them when the first has ended.
  EXPECT_THAT(b.steps(3), ElementsAre("0:4 1:4", "0:1 | evicted 1", "0:1"));
  EXPECT_THAT(b.steps(4), ElementsAre("0:1", "0:1", "0:1", "1:5"));
}

TEST(TrtLlm, ChunksThatDoNotEndAPromptAreWholeBlocks) {
  Bench b("trtllm", limits(10), 100);
  b.arrive(5, 3);
  b.arrive(9, 1);
  // 5 tokens are left for the second: one block. Then 9: all of its rest.
  EXPECT_THAT(b.steps(3), ElementsAre("0:5 1:4", "0:1 1:5", "0:1"));
}

// batch_wait_timeout_iters and batch_wait_max_tokens_ratio.
TEST(TrtLlm, PromptsWaitForALargerStepWhileOthersDecode) {
  EngineProfile l = limits(20);
  set_keys(l.scheduler, "{batch_wait_steps: 2, batch_wait_ratio: 0.6}");
  Bench b("trtllm", l, 1000);
  b.arrive(5, 30);
  EXPECT_EQ(b.step(), "0:5") << "nothing decodes: nothing to wait for";
  b.arrive(5, 30);
  EXPECT_THAT(b.steps(3), ElementsAre("0:1", "0:1", "0:1 1:5")) << "2 steps pass";
  b.arrive(5, 30);
  EXPECT_EQ(b.step(), "0:1 1:1");
  b.arrive(5, 30);
  EXPECT_EQ(b.step(), "0:1 1:1 2:5 3:5") << "2 decodes and 10 tokens are enough";
}

TEST(LightLlm, ANewcomerIsTakenIfTheComingPeakFits) {
  for (int blocks : {23, 24}) {
    Bench b("lightllm", limits(100, 1), blocks);
    b.arrive(8, 11);  // 10 more tokens after its first: 18 in the end
    b.arrive(3, 4);
    // When the second ends, 3 tokens on, both hold 8 + 3 + 3 + 3 = 17; at the end of the first 18.
    b.arrive(4, 5);
    // With the third: after 3 tokens 8 + 3 + 4 + 9 = 24, after 4 without the second 8 + 4 + 8 = 20.
    EXPECT_EQ(b.step(), blocks == 24 ? "0:8 1:3 2:4" : "0:8 1:3");
  }
}

TEST(LightLlm, NewcomersComeAfterEveryTenDecodes) {
  Bench b("lightllm", limits(100), 100);
  b.arrive(4, 20);
  b.step();
  b.arrive(4, 1);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(b.step(), "0:1");
  EXPECT_EQ(b.step(), "1:4 | stalled 0");
}

TEST(Schedulers, AnUnknownNameIsRefusedWithTheNearest) {
  EngineProfile::Scheduler scheduler;
  scheduler.policy = "vllm-v2";
  EXPECT_THAT(refusal_of([&] { make_scheduler({scheduler}); }), testing::HasSubstr("vllm-v"));
  EXPECT_THROW(set_keys(scheduler, "order: fifo"), InputError);
}

}  // namespace schedulers_test
}  // namespace orrery
