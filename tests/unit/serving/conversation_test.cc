// Conversations: turns that follow each other, with a tool's time between them.
#include <gtest/gtest.h>

#include "orrery/base/error.h"
#include "orrery/serving/requests/load.h"
#include "orrery/serving/state/adapters.h"
#include "orrery/serving/traces/trace.h"
#include "tests/refusal.h"
#include "tests/unit/serving/service_fixture.h"

namespace orrery {
namespace conversation_test {

// Two turns with a tool of 100 ms between them, then a request of its own.
RequestLoad two_turns() {
  RequestLoad load =
      load_of({request_at(ms(0), 20, 2), request_at(ms(0), 30, 1), request_at(ms(5), 10, 1)});
  load.follow(0, 1, ms(100));
  return load;
}

//   turn 1        sent 0, its prompt's step to 30, its second token at 40
//   the other     sent 5, waits for the step, with the second token in a step of 10 + 10 to 50
//   turn 2        sent 50 + 100, step to 190
TEST(Conversation, ATurnIsSentWhenItsToolIsDone) {
  PlainTimer timer;
  const SimulationResult r = simulate(plain_service(), two_turns(), timer);
  EXPECT_EQ(r.records[0].finished, ms(50));
  EXPECT_EQ(r.records[2].finished, ms(50));
  EXPECT_EQ(r.records[1].arrival, ms(150));
  EXPECT_EQ(r.records[1].first_token, ms(190));
  EXPECT_EQ(r.end, ms(190));
}

// One conversation at a time, tools included: the other request waits for turn 2.
TEST(Conversation, TheClosedLoopCountsConversations) {
  SimulationConfig c = plain_service();
  c.max_concurrency = 1;
  PlainTimer timer;
  const SimulationResult r = simulate(c, two_turns(), timer);
  EXPECT_EQ(r.records[0].finished, ms(40));
  EXPECT_EQ(r.records[1].arrival, ms(140));
  EXPECT_EQ(r.records[1].finished, ms(180));
  EXPECT_EQ(r.records[2].arrival, ms(180));
  EXPECT_EQ(r.records[2].finished, ms(200));
}

TEST(Conversation, ATurnThatCannotRunDoesNotKeepTheRest) {
  SimulationConfig c = plain_service();
  c.max_concurrency = 1;
  c.replica.kv.max_model_len = 25;
  PlainTimer timer;
  const SimulationResult r = simulate(c, two_turns(), timer);
  EXPECT_EQ(r.records[1].outcome, Outcome::kTooLong);
  EXPECT_EQ(r.records[1].arrival, ms(140));
  EXPECT_EQ(r.records[2].arrival, ms(140));
  EXPECT_EQ(r.records[2].outcome, Outcome::kDone);
}

// Turns of 32, 15 and 15 new tokens with outputs of 17: prompts of 32, 64 and 96.
TEST(Conversation, PromptsHoldWhatWasSaid) {
  LoadSpec spec;
  spec.requests = 5;
  spec.arrivals = "even";
  spec.input = Lengths::parse("15");
  spec.output = Lengths::parse("17");
  spec.shared_prefix = 31;
  spec.turns = Lengths::parse("3");
  spec.tool_time = Lengths::parse("250");
  const RequestLoad load = make_load(spec);
  ASSERT_EQ(load.requests.size(), 5u);
  const std::int32_t prompts[] = {32, 64, 96, 32, 64};
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(load.requests[i].input, prompts[i]);
  EXPECT_EQ(load.follow_ups[0].next, 1u);
  EXPECT_EQ(load.follow_ups[0].delay, ms(250));
  EXPECT_EQ(load.follow_ups[2].next, FollowUp::kNone);
  EXPECT_FALSE(load.waits(3));
  EXPECT_EQ(load.requests[3].session, 1);
  EXPECT_EQ(load.requests[3].arrival - load.requests[0].arrival, ms(1000));
  // The shared prefix is 1 block of 16; all other blocks of the two conversations differ.
  const auto id = [&](std::size_t r, std::uint32_t b) {
    return load.ids[load.requests[r].first_id + b];
  };
  EXPECT_EQ(id(0, 0), id(3, 0));
  EXPECT_NE(id(0, 1), id(3, 1));
  EXPECT_EQ(load.requests[2].ids, 8u);  // 113 tokens
}

// After the first turn the cache holds 48 of its 49 tokens, 3 blocks; after the second 80, 5
// blocks.
TEST(Conversation, OutputsAreFoundByTheNextTurn) {
  LoadSpec spec;
  spec.requests = 3;
  spec.input = Lengths::parse("32");
  spec.output = Lengths::parse("17");
  spec.turns = Lengths::parse("3");
  SimulationConfig c = plain_service();
  c.replica.engine.scheduler.prefix_caching = true;
  PlainTimer timer;
  const SimulationResult r = simulate(c, make_load(spec), timer);
  EXPECT_EQ(r.records[0].cached, 0);
  EXPECT_EQ(r.records[1].cached, 48);  // of a prompt of 81
  EXPECT_EQ(r.records[2].cached, 96);  // of 98 tokens so far 97 are cached: 6 blocks
}

TEST(Conversation, KeepsItsAdapter) {
  LoadSpec spec;
  spec.requests = 60;
  spec.turns = Lengths::parse("4");
  RequestLoad load = make_load(spec);
  assign_adapters(load, 5, 0, 1);
  for (const auto& f : load.follow_ups) {
    if (f.next == FollowUp::kNone) continue;
    const auto i = static_cast<std::size_t>(&f - load.follow_ups.data());
    EXPECT_EQ(load.requests[f.next].adapter, load.requests[i].adapter);
  }
}

TEST(Conversation, WhatCannotBeIsRefused) {
  LoadSpec spec;
  spec.turns = Lengths::parse("100");
  spec.input = Lengths::parse("1000000");
  EXPECT_THROW(make_load(spec), InputError);
  spec.input = Lengths::parse("10");
  spec.samples = 2;
  EXPECT_THROW(make_load(spec), InputError);
}

std::string error_of(const std::string& lines) {
  return refusal_of([&] { parse_trace(lines, "t.jsonl"); });
}

TEST(Conversation, SessionsOfLlmServingSim) {
  const Trace t = parse_trace(
      "{\"session_id\": \"a\", \"arrival_time_ns\": 1000000000, \"sub_requests\": ["
      "{\"input_toks\": 100, \"output_toks\": 10, \"tool_duration_ns\": 500000000}, "
      "{\"input_toks\": 130, \"output_toks\": 0, \"tool_duration_ns\": 20000000}, "
      "{\"input_toks\": 150, \"output_toks\": 12, \"tool_duration_ns\": 0}]}\n"
      "{\"input_toks\": 50, \"output_toks\": 5, \"arrival_time_ns\": 1250000000}\n",
      "sessions.jsonl", {.time_scale = 2});
  ASSERT_EQ(t.load.requests.size(), 3u);
  EXPECT_EQ(t.zero_lengths, 1);
  EXPECT_EQ(t.load.follow_ups[0].next, 1u);
  EXPECT_EQ(t.load.follow_ups[0].delay, ms(520));  // of both tools
  EXPECT_EQ(t.load.requests[1].input, 150);
  EXPECT_EQ(t.load.requests[1].session, t.load.requests[0].session);
  EXPECT_FALSE(t.load.waits(2));
  EXPECT_EQ(t.load.requests[2].arrival, ms(500));
  EXPECT_EQ(t.load.requests[2].session, -1);
}

// The second prompt begins with the 32 tokens of the first and its 16 of output.
TEST(Conversation, TokenIdsOfLlmServingSimAreNames) {
  const auto list = [](int from, int to) {
    std::string text = "[";
    for (int i = from; i < to; ++i) text += (i > from ? "," : "") + std::to_string(i);
    return text + "]";
  };
  const Trace t = parse_trace(
      "{\"session_id\": \"a\", \"arrival_time_ns\": 0, \"sub_requests\": ["
      "{\"input_toks\": 32, \"output_toks\": 17, \"tool_duration_ns\": 0, \"input_tok_ids\": " +
          list(0, 32) + ", \"output_tok_ids\": " + list(32, 49) +
          "}, {\"input_toks\": 60, \"output_toks\": 1, \"tool_duration_ns\": 0, "
          "\"input_tok_ids\": " +
          list(0, 60) + "}]}\n",
      "ids.jsonl");
  EXPECT_EQ(t.load.requests[0].ids, 3u);
  EXPECT_EQ(t.load.requests[1].ids, 3u);
  SimulationConfig c = plain_service();
  c.replica.engine.scheduler.prefix_caching = true;
  PlainTimer timer;
  EXPECT_EQ(simulate(c, t.load, timer).records[1].cached, 48);
  EXPECT_NE(error_of("{\"arrival_time_ns\": 0, \"input_toks\": 3, \"output_toks\": 1, "
                     "\"input_tok_ids\": [1, 2]}")
                .find("t.jsonl:1: input_tok_ids has 2 tokens, expected 3"),
            std::string::npos);
}

TEST(Conversation, DelaysOfMooncakeTraces) {
  const Trace t = parse_trace(
      "{\"timestamp\": 0, \"session_id\": \"s\", \"input_length\": 600, \"output_length\": 5, "
      "\"hash_ids\": [1, 2]}\n"
      "{\"timestamp\": 40, \"input_length\": 10, \"output_length\": 5}\n"
      "{\"session_id\": \"s\", \"delay\": 1500, \"input_length\": 700, \"output_length\": 6, "
      "\"hash_ids\": [1, 3]}\n",
      "m.jsonl");
  ASSERT_EQ(t.load.requests.size(), 3u);
  EXPECT_TRUE(t.has_arrivals);
  EXPECT_EQ(t.load.follow_ups[0].next, 2u);
  EXPECT_EQ(t.load.follow_ups[0].delay, ms(1500));
  EXPECT_EQ(t.load.follow_ups[1].next, FollowUp::kNone);
  EXPECT_FALSE(t.load.names_outputs);
}

TEST(Conversation, DelaysThatMakeNoSense) {
  const std::string first =
      "{\"timestamp\": 0, \"session_id\": \"s\", \"input_length\": 6, \"output_length\": 5}\n";
  const std::string rest = ", \"session_id\": \"s\", \"input_length\": 7, \"output_length\": 5}";
  EXPECT_NE(error_of(first + "{\"delay\": -1" + rest).find("t.jsonl:2: a delay of -0.001 s"),
            std::string::npos);
  EXPECT_NE(error_of(first + "{\"delay\": 1, \"timestamp\": 3" + rest).find("not both"),
            std::string::npos);
  EXPECT_NE(
      error_of(first + "{\"input_length\": 7, \"output_length\": 5}").find("others have none"),
      std::string::npos);
  const std::string session =
      "{\"session_id\": 1, \"arrival_time_ns\": 0, \"sub_requests\": [{\"input_toks\": 1, "
      "\"output_toks\": 1}]}\n";
  EXPECT_NE(error_of(session + session).find("given twice"), std::string::npos);
}

}  // namespace conversation_test
}  // namespace orrery
