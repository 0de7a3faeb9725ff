// Disaggregated prefill and decode.
#include <gtest/gtest.h>

#include "orrery/serving/cluster/kv_transfer.h"
#include "orrery/serving/cluster/simulation.h"
#include "tests/unit/serving/service_fixture.h"

namespace orrery {
namespace disaggregation_test {

SimulationResult run(const SimulationConfig& config, std::vector<Request> requests) {
  PlainTimer timer;
  return simulate(config, load_of(std::move(requests)), timer);
}

TEST(Disaggregation, TheTransferStandsBetweenFirstAndSecondToken) {
  const SimulationResult r = run(disaggregated_service(), {request_at({}, 16, 3)});
  const RequestRecord& q = r.records[0];
  EXPECT_EQ(q.first_token, ms(26));
  EXPECT_EQ(q.transfer, ms(16));
  EXPECT_EQ(q.finished, ms(26 + 16 + 20));
  EXPECT_EQ(q.prefill_replica, 0);
  EXPECT_EQ(q.replica, 1);
  EXPECT_EQ(r.transfers, 1);
  EXPECT_EQ(r.transferred_tokens, 16);
  EXPECT_EQ(r.replicas[0].output_tokens, 1);
  EXPECT_EQ(r.replicas[1].output_tokens, 2);
  EXPECT_EQ(r.replicas[1].prompt_tokens, 0);
  EXPECT_EQ(r.gaps.count(), 2);
  EXPECT_NEAR(r.gaps.largest().value(), 0.026, 1e-12);  // from the first token to the second
}

TEST(Disaggregation, OneTokenNeedsNoDecode) {
  const SimulationResult r = run(disaggregated_service(), {request_at({}, 16, 1)});
  EXPECT_EQ(r.records[0].finished, ms(26));
  EXPECT_EQ(r.transfers, 0);
}

// Memory for four prompts, one sequence at a time: arriving sequences must not take the blocks of
// an evicted one for ever.
TEST(Disaggregation, AFullEngineThatDecodesComesToAnEnd) {
  SimulationConfig c = disaggregated_service();
  ReplicaConfig& d = c.others[0].replica;
  d.kv_blocks = 17;  // of 16 tokens: four prompts and the next tokens of one
  d.engine.scheduler.max_num_seqs = 1;
  const SimulationResult r = run(c, std::vector<Request>(12, request_at({}, 64, 60)));
  for (const RequestRecord& q : r.records) EXPECT_EQ(q.outcome, Outcome::kDone);
  EXPECT_GT(r.replicas[1].evictions, 0);
}

TEST(Disaggregation, TransfersOutOfOneEngineFollowEachOther) {
  // All three prompts wait for the first step, then end in one: 10 + 8 ms, then 10 + 24 ms.
  const Request q = request_at(ms(1), 12, 2);
  SimulationResult r = run(disaggregated_service(), {request_at({}, 8, 1), q, q});
  EXPECT_EQ(r.records[1].first_token, ms(52));
  EXPECT_EQ(r.records[1].transfer, ms(12));
  EXPECT_EQ(r.records[2].transfer, ms(24));
  // Two receivers do not help: the sender is the same.
  r = run(disaggregated_service(1, 2), {request_at({}, 8, 1), q, q});
  EXPECT_EQ(r.records[1].replica, 1);
  EXPECT_EQ(r.records[2].replica, 2);
  EXPECT_EQ(r.records[2].transfer, ms(24));
}

TEST(Disaggregation, TransfersIntoOneEngineFollowEachOther) {
  const Request q = request_at({}, 12, 2);
  SimulationResult r = run(disaggregated_service(2, 1), {q, q});
  EXPECT_EQ(r.records[0].first_token, ms(22));
  EXPECT_EQ(r.records[1].first_token, ms(22));
  EXPECT_EQ(r.records[0].transfer, ms(12));
  EXPECT_EQ(r.records[1].transfer, ms(24));
  r = run(disaggregated_service(2, 2), {q, q});  // links of their own
  EXPECT_EQ(r.records[1].transfer, ms(12));
}

TEST(Disaggregation, LayerByLayerRunsBesideThePrefill) {
  SimulationConfig c = disaggregated_service();
  c.transfer.layerwise = true;
  // Begins with the prefill at 0; the last of 4 layers leaves when it ends.
  EXPECT_EQ(run(c, {request_at({}, 16, 2)}).records[0].transfer, ms(4));
  // A slow link: 3 ms a token is longer than the prefill of 26 ms.
  c.transfer.time = [](std::int64_t tokens) { return ms(3 * tokens); };
  EXPECT_EQ(run(c, {request_at({}, 16, 2)}).records[0].transfer, ms(48 - 26));
}

TEST(Disaggregation, BlocksComeBeforeTheTransferAndPromptsStayUntilItsEnd) {
  SimulationConfig c = disaggregated_service(1, 1);
  c.others[0].replica.kv_blocks = 2;  // one request at a time
  c.replica.kv_blocks = 2;            // two prompts of a block
  const Request q = request_at({}, 16, 2);
  const SimulationResult r = run(c, {q, q, q});
  // First: prefill to 26, transfer to 42, decode to 52.
  EXPECT_EQ(r.records[0].finished, ms(52));
  // Second: prompt at 26, ends 52; its blocks come at 52 when the first has gone.
  EXPECT_EQ(r.records[1].first_token, ms(52));
  EXPECT_EQ(r.records[1].transfer, ms(16));
  EXPECT_EQ(r.records[1].finished, ms(78));
  // Third: a block is free again at 42, but the step under way ends at 52; prompt done at 78.
  EXPECT_EQ(r.records[2].scheduled, ms(52));
  EXPECT_EQ(r.records[2].first_token, ms(78));
}

TEST(Disaggregation, APromptWithoutBlocksWaitsForThem) {
  SimulationConfig c = disaggregated_service(2, 1);
  c.others[0].replica.kv_blocks = 2;
  const Request q = request_at({}, 16, 2);
  const SimulationResult r = run(c, {q, q});
  EXPECT_EQ(r.records[0].finished, ms(52));
  EXPECT_EQ(r.records[1].first_token, ms(26));
  EXPECT_EQ(r.records[1].transfer, ms(52 - 26 + 16));
}

TEST(Disaggregation, RequestsMustFitBothSides) {
  SimulationConfig c = disaggregated_service();
  c.others[0].replica.kv_blocks = 2;  // 32 tokens
  const SimulationResult r =
      run(c, {request_at({}, 16, 18), request_at({}, 16, 17), request_at({}, 100, 1)});
  EXPECT_EQ(r.records[0].outcome, Outcome::kNeverFits);
  EXPECT_EQ(r.records[1].outcome, Outcome::kDone);
  EXPECT_EQ(r.records[2].outcome, Outcome::kDone);  // ends where it prefills
}

TEST(Disaggregation, ThePrefixCacheOfTheReceiverSavesTransfers) {
  SimulationConfig c = disaggregated_service();
  c.replica.engine.scheduler.prefix_caching = c.others[0].replica.engine.scheduler.prefix_caching =
      true;
  RequestLoad load = load_of({request_at({}, 40, 2), request_at(ms(500), 40, 2)});
  load.ids = {7, 8};
  for (Request& r : load.requests) r.ids = 2;  // 32 tokens in common
  PlainTimer timer;
  const SimulationResult r = simulate(c, load, timer);
  EXPECT_EQ(r.records[0].transfer, ms(40));
  EXPECT_EQ(r.records[1].transfer, ms(8));
  EXPECT_EQ(r.records[1].cached, 32);
}

// Requests and tokens are conserved where memory is short on both sides.
TEST(Disaggregation, NothingIsLostWhereMemoryIsShort) {
  std::vector<Request> requests;
  for (int i = 0; i < 300; ++i) requests.push_back(request_at(ms(7 * i), 1 + i % 60, 1 + i % 37));
  for (const bool async : {false, true}) {
    SimulationConfig c = disaggregated_service(2, 2);
    c.replica.kv_blocks = 5;
    c.others[0].replica.kv_blocks = 8;
    c.replica.engine.scheduler.async_scheduling =
        c.others[0].replica.engine.scheduler.async_scheduling = async;
    c.transfer.layerwise = async;
    const SimulationResult r = run(c, requests);
    std::int64_t output = 0;
    for (const RequestRecord& q : r.records) {
      EXPECT_EQ(q.outcome, Outcome::kDone);
      output += q.output;
    }
    EXPECT_EQ(r.total().output_tokens, output);
  }
}

TEST(KvLinks, NobodySendsTwoAtOnce) {
  KvLinks links({[](std::int64_t n) { return ms(n); }, false, 1}, 3);
  EXPECT_EQ(links.book(0, 1, 10, {}, ms(5), ms(5)).end, ms(15));
  EXPECT_EQ(links.book(0, 2, 10, {}, ms(6), ms(6)).end, ms(25));
  EXPECT_EQ(links.book(1, 2, 1, {}, ms(30), ms(30)).end, ms(31));
  EXPECT_EQ(links.book(1, 2, 0, {}, ms(30), ms(30)).end, ms(30));  // all was cached
}

}  // namespace disaggregation_test
}  // namespace orrery
