// Beam search as rounds of requests for one token.
#include "orrery/serving/cluster/beam_search.h"

#include <gtest/gtest.h>

#include <set>

#include "orrery/base/error.h"
#include "tests/unit/serving/service_fixture.h"

namespace orrery {
namespace beam_search_test {

SimulationConfig two_beams(bool prefix_caching) {
  SimulationConfig c = plain_service();
  c.replica.engine.scheduler.prefix_caching = prefix_caching;
  c.beams.width = 2;
  return c;
}

SimulationResult run(const SimulationConfig& c, std::vector<Request> requests) {
  PlainTimer timer;
  return simulate(c, load_of(std::move(requests)), timer);
}

// A prompt of 16 tokens and 4 rounds. The first round computes the prompt: 10 + 16 ms. In later
// rounds each beam finds the block of the prompt in the cache and computes the tokens after it: 1
// (a decode), 2 and 3. The first beam to arrive has a step of its own, the second the next one.
TEST(BeamSearch, RoundsByHand) {
  const SimulationResult r = run(two_beams(true), {request_at({}, 16, 4)});
  const RequestRecord& q = r.records[0];
  EXPECT_EQ(q.outcome, Outcome::kDone);
  EXPECT_EQ(q.first_token, ms(26));
  EXPECT_EQ(q.finished, ms(26 + 2 * 10 + 2 * 12 + 2 * 13));
  EXPECT_EQ(r.total().steps, 7);
  EXPECT_EQ(r.total().output_tokens, 7);
  EXPECT_EQ(r.gaps.count(), 3);
  EXPECT_EQ(r.gaps.largest(), ms(26).time());
}

TEST(BeamSearch, EachRequestOfARoundTakesTheFrontEnd) {
  SimulationConfig c = two_beams(true);
  c.replica.engine.execution.beam_overhead =
      milliseconds(1);  // the second beam's passes while the first one's step runs
  const SimulationResult r = run(c, {request_at({}, 16, 4)});
  EXPECT_EQ(r.records[0].finished, ms(26 + 1 + 2 * 10 + 1 + 2 * 12 + 1 + 2 * 13));
  c.replica.engine.execution.beam_overhead =
      milliseconds(30);  // each of a round comes when the step of the one before has ended
  const SimulationResult slow = run(c, {request_at({}, 16, 4)});
  EXPECT_EQ(slow.records[0].finished, ms(26 + 60 + 10 + 60 + 12 + 60 + 13));
}

TEST(BeamSearch, WithoutAPrefixCacheAllIsComputedAgain) {
  const SimulationResult r = run(two_beams(false), {request_at({}, 16, 4)});
  EXPECT_EQ(r.records[0].finished, ms(26 + 2 * 27 + 2 * 28 + 2 * 29));
}

TEST(BeamSearch, ASearchStaysOnItsEngine) {
  SimulationConfig c = two_beams(true);
  c.replicas = 3;
  const SimulationResult r = run(c, {request_at({}, 16, 40), request_at(ms(1), 32, 40)});
  EXPECT_EQ(r.replicas[0].output_tokens, 1 + 2 * 39);
  EXPECT_EQ(r.replicas[1].output_tokens, 1 + 2 * 39);
  EXPECT_EQ(r.replicas[2].output_tokens, 0);
}

TEST(BeamSearch, EverySearchEndsUnderPressureAndFailures) {
  SimulationConfig c = two_beams(true);
  c.beams.width = 5;
  c.replica.kv_blocks = 12;  // the largest needs 9
  c.replicas = 2;
  c.failures.at = {0.5, 0.9};
  c.failures.restart = milliseconds(50);
  c.max_concurrency = 6;
  std::vector<Request> requests;
  for (std::int32_t i = 0; i < 30; ++i)
    requests.push_back(request_at(ms(10 * i), 1 + i * 37 % 90, 1 + i * 11 % 50));
  const SimulationResult r = run(c, requests);
  std::int64_t tokens = 0;
  for (const RequestRecord& q : r.records) {
    EXPECT_EQ(q.outcome, Outcome::kDone);
    EXPECT_LE(q.first_token, q.finished);
    tokens += 1 + 5 * (q.output - 1);
  }
  EXPECT_EQ(r.total().output_tokens, tokens);
}

// Blocks that beams save by sharing: prompts and answers of Alpaca in Kwon et al. 2023 (19 and 58
// tokens, section 6.1), where vLLM saved 37.6 % with 2 beams and 55.2 % with 6.
TEST(BeamSearch, BeamsShareWhatTheirAncestorsMade) {
  const auto saved = [](std::int32_t width) {
    const RequestLoad load = load_of(std::vector<Request>(200, request_at({}, 19, 58)));
    BeamSearch search(load, {width}, 16, 0);
    double apart = 0, shared = 0;
    for (std::uint32_t i = 0; i < 200; ++i) {
      std::uint32_t beam = search.start(i);
      while (true) {
        if (!search.ended(beam)) continue;
        const auto beams = search.next_round(beam, {});
        if (beams.empty()) break;
        std::set<std::uint64_t> blocks;
        for (std::uint32_t b : beams) {
          const Request& r = search.load().requests[b];
          for (std::uint32_t k = 0; k < r.ids; ++k)
            blocks.insert(search.load().ids[r.first_id + k]);
          shared += r.input % 16 > 0;
          apart += (r.input + 15) / 16;
        }
        shared += static_cast<double>(blocks.size());
        beam = beams.front();
      }
    }
    return 1 - shared / apart;
  };
  EXPECT_NEAR(saved(2), 0.376, 0.03);
  EXPECT_NEAR(saved(6), 0.552, 0.05);
}

TEST(BeamSearch, RefusedWhereItIsNotSimulated) {
  SimulationConfig c = two_beams(true);
  c.replica.speculation.drafts = 2;
  EXPECT_THROW(run(c, {request_at({}, 16, 4)}), InputError);
}

}  // namespace beam_search_test
}  // namespace orrery
