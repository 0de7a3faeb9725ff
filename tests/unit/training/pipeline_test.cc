// One iteration, event by event, on cases small enough to draw.
#include "orrery/training/events/pipeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "orrery/base/error.h"

namespace orrery {
namespace pipeline_test {

ScheduledChunk chunk(double forward, double backward_input, double backward_weight) {
  ScheduledChunk c;
  c.forward = Seconds(forward);
  c.backward_input = Seconds(backward_input);
  c.backward_weight = Seconds(backward_weight);
  return c;
}

PipelineQuestion question(PipelineShape shape, const ScheduledChunk& c) {
  PipelineQuestion q;
  q.shape = shape;
  q.chunks.assign(static_cast<std::size_t>(shape.virtual_stages()), c);
  return q;
}

const PipelineSchedule& k1F1B = pipeline_schedule("1f1b");

TEST(Pipeline, OneStageHasNoBubble) {
  const PipelineResult r = run_pipeline(k1F1B, question({1, 1, 3}, chunk(1, 2, 3)));
  EXPECT_EQ(r.total, Seconds(18));
  EXPECT_EQ(r.makespan, Seconds(18));
  EXPECT_EQ(r.bubble, 0);
  EXPECT_EQ(r.exposed_data, Seconds(0));
}

// Two stages, the second twice as slow (2, 4), the first (1, 2), two micro-batches:
//   stage 0  F0 0-1  F1 1-2            B0 7-9   B1 13-15
//   stage 1          F0 1-3  B0 3-7  F1 7-9  B1 9-13
TEST(Pipeline, UnequalStagesWaitForTheSlowOne) {
  PipelineQuestion q = question({2, 1, 2}, chunk(1, 1, 1));
  q.chunks[1] = chunk(2, 2, 2);
  const PipelineResult r = run_pipeline(k1F1B, q, true);
  EXPECT_EQ(r.total, Seconds(15));
  EXPECT_EQ(r.busy[0], Seconds(6));
  EXPECT_EQ(r.busy[1], Seconds(12));
  EXPECT_DOUBLE_EQ(r.bubble, ((1 - 6.0 / 15) + (1 - 12.0 / 15)) / 2);
  EXPECT_EQ(r.peak_activations[0], 2);
  EXPECT_EQ(r.peak_activations[1], 1);
  ASSERT_EQ(r.events.size(), 8u);
  EXPECT_EQ(r.events[2].kind, TimelineEvent::Kind::kBackward);  // B0 of stage 0
  EXPECT_EQ(r.events[2].start, Seconds(7));
  EXPECT_EQ(r.events[2].end, Seconds(9));
}

// One micro-batch through two stages: F, send, F, B, send, B.
TEST(Pipeline, SendsLieBetweenStagesOnly) {
  PipelineQuestion q = question({2, 1, 1}, chunk(1, 1, 1));
  q.send = Seconds(10);
  EXPECT_EQ(run_pipeline(k1F1B, q).total, Seconds(1 + 10 + 1 + 2 + 10 + 2));
  // In a V the middle of the model is on one stage: two sends, not three. Stage 1 runs its second
  // chunk's gradient of weights before the first chunk's backward.
  q = question({2, 2, 1}, chunk(1, 1, 1));
  q.send = Seconds(10);
  EXPECT_EQ(run_pipeline(pipeline_schedule("zb-v"), q).makespan,
            Seconds(4 + 2 * 10 + 2 + 1 + 2 + 2 * 10 + 1));
}

// GPipe, two stages, two micro-batches, send 3: the sender's second forward begins at 1 or at 4.
TEST(Pipeline, BlockingSendsHoldTheSender) {
  PipelineQuestion q = question({2, 1, 2}, chunk(1, 1, 1));
  q.send = Seconds(3);
  const PipelineSchedule& gpipe = pipeline_schedule("gpipe");
  // Stage 1: F0 4-5, F1 5-6, B0 6-8, B1 8-10; stage 0: B0 11-13, B1 13-15.
  EXPECT_EQ(run_pipeline(gpipe, q).total, Seconds(15));
  q.blocking_send = true;
  // Stage 0: F0 0-1, held to 4, F1 4-5; stage 1: F0 4-5, F1 8-9, B0 9-11, held to 14, B1 14-16;
  // stage 0: B0 14-16, B1 19-21.
  EXPECT_EQ(run_pipeline(gpipe, q).total, Seconds(21));
}

// 1F1B exposes its sends between stages even when they hold nobody: with two stages a micro-batch's
// gradient comes back 2 sends after its activation left, and stage 0 is only one forward ahead.
TEST(Pipeline, OneFOneBWaitsForEverySend) {
  PipelineQuestion q = question({2, 1, 40}, chunk(1, 1, 1));
  const double without = run_pipeline(k1F1B, q).total.value();
  q.send = Seconds(0.5);
  EXPECT_NEAR(run_pipeline(k1F1B, q).total.value() - without, 40 * 0.5, 0.5);
}

TEST(Pipeline, DataStreamIsHiddenWhereItCanBe) {
  PipelineQuestion q = question({1, 1, 4}, chunk(1, 1, 1));
  q.chunks[0].parameter_gather = Seconds(5);
  q.chunks[0].gradient_reduce = Seconds(7);
  PipelineResult r = run_pipeline(k1F1B, q, true);
  EXPECT_EQ(r.total, Seconds(5 + 12 + 7));
  EXPECT_EQ(r.exposed_data, Seconds(12));
  EXPECT_EQ(r.bubble, 0);
  EXPECT_EQ(r.events.front().kind, TimelineEvent::Kind::kGather);
  EXPECT_EQ(r.events.front().stream, Stream::kData);
  EXPECT_EQ(r.events.back().kind, TimelineEvent::Kind::kReduce);
  EXPECT_EQ(r.events.back().start, Seconds(17));

  // Two chunks: the gather of the second overlaps with the forward passes of the first, and the
  // reduction of the second with the backward passes of the first. 2 + (4 + 4)(1 + 2) + 2.
  q = question({1, 2, 4}, chunk(1, 1, 1));
  for (ScheduledChunk& c : q.chunks) c.parameter_gather = c.gradient_reduce = Seconds(2);
  q.chunks[1].parameter_gather = Seconds(1);
  const PipelineSchedule& interleaved = pipeline_schedule("interleaved");
  EXPECT_EQ(run_pipeline(interleaved, q).total, Seconds(28));
  q.overlap_gather = false;
  EXPECT_EQ(run_pipeline(interleaved, q).total, Seconds(29));
  q.overlap_reduce = false;
  r = run_pipeline(interleaved, q, true);
  EXPECT_EQ(r.total, Seconds(31));
  EXPECT_EQ(r.exposed_data, Seconds(7));
  EXPECT_EQ(r.events.back().end, Seconds(31));
  EXPECT_EQ(r.events.back().start, Seconds(29));
}

// Two chunks of one stage: the second's gradients are there at 22, the first's at 24. Reductions of
// 2 at 22 and 24, copies to the host of 3 at 24 and, behind that, at 27.
TEST(Pipeline, OffloadedGradientsFollowTheirReduction) {
  PipelineQuestion q = question({1, 2, 4}, chunk(1, 1, 1));
  for (ScheduledChunk& c : q.chunks)
    c.gradient_reduce = Seconds(2), c.gradient_offload = Seconds(3), c.offload = Seconds(0.5);
  const PipelineSchedule& interleaved = pipeline_schedule("interleaved");
  PipelineResult r = run_pipeline(interleaved, q, true);
  EXPECT_EQ(r.total, Seconds(30));
  EXPECT_EQ(r.events.back().kind, TimelineEvent::Kind::kOffload);
  EXPECT_EQ(r.events.back().stream, Stream::kHost);
  EXPECT_EQ(r.events.back().start, Seconds(27));
  // Saved tensors are copied to the host during each of eight forward passes, and back during each
  // backward pass.
  const auto count = [&](TimelineEvent::Kind kind) {
    return std::count_if(r.events.begin(), r.events.end(),
                         [&](const TimelineEvent& e) { return e.kind == kind; });
  };
  EXPECT_EQ(count(TimelineEvent::Kind::kOffload), 8 + 2);
  EXPECT_EQ(count(TimelineEvent::Kind::kReload), 8);
  // All after the last task: 24, two reductions, two copies.
  q.overlap_reduce = false;
  r = run_pipeline(interleaved, q, true);
  EXPECT_EQ(r.total, Seconds(34));
  EXPECT_EQ(r.events.back().end, Seconds(34));
}

// A forward pass of 4 s overlaps with the gather of the other chunk for its first second: 1 s at a
// speed of 1/1.25 does 0.8 s of work.
TEST(Pipeline, ComputationIsSlowerBesideTheDataStream) {
  PipelineQuestion q = question({1, 2, 1}, chunk(4, 1, 1));
  q.chunks[1].parameter_gather = Seconds(1);
  q.overlap_slowdown = 1.25;
  PipelineResult r = run_pipeline(pipeline_schedule("interleaved"), q);
  EXPECT_DOUBLE_EQ(r.total.value(), 12 + 0.2);
  EXPECT_DOUBLE_EQ(r.busy[0].value(), 12 + 0.2);
  // A gather longer than the forward pass slows all of the pass, and the other chunk waits.
  q.chunks[1].parameter_gather = Seconds(7);
  r = run_pipeline(pipeline_schedule("interleaved"), q);
  EXPECT_DOUBLE_EQ(r.total.value(), 7 + 4 + 2 + 2);
  EXPECT_DOUBLE_EQ(r.busy[0].value(), 5 + 4 + 2 + 2);
}

// One stage of DualPipeV, two micro-batches: only one pair, F1b + B0a.
TEST(Pipeline, PairsHideTheirExchanges) {
  PipelineQuestion q = question({1, 2, 2}, chunk(4, 4, 2));
  const PipelineSchedule& schedule = pipeline_schedule("dualpipe-v");
  EXPECT_EQ(run_pipeline(schedule, q).total, Seconds(40));
  q.chunks[1].forward_exchange = Seconds(2);
  q.chunks[0].backward_exchange = Seconds(1);
  q.chunks[1].forward_experts = Seconds(1);
  q.chunks[0].backward_experts = Seconds(2);
  // Attention F 1, experts B 2, experts F 1, attention B 3: each longer than its half of an
  // exchange.
  EXPECT_EQ(run_pipeline(schedule, q).total, Seconds(37));
  // Computation is half as fast during exchanges of 0.5, 1, 0.5 and 1.
  q.chunks[1].exchange_slowdown = 2;
  EXPECT_EQ(run_pipeline(schedule, q).total, Seconds(38.5));
  q.chunks[1].exchange_slowdown = 1;
  // Exchanges longer than all computation of the pair are exposed (10 - 9).
  q.chunks[1].forward_experts = Seconds(0);
  q.chunks[0].backward_experts = Seconds(1);
  q.chunks[1].forward_exchange = Seconds(4);
  q.chunks[0].backward_exchange = Seconds(5);
  EXPECT_EQ(run_pipeline(schedule, q).total, Seconds(39));
}

// Two stages, three micro-batches: the last stage runs F0, F1+B0, F2+B1, B2. Forwards of 3 with 1
// of exchange, backwards of 5 with 2: pairs of 8 - 3. (p + w - 1)(F + B) + (m - w) P = 2 * 8 + 2
// * 5.
TEST(Pipeline, CombinedRunsForwardsBesideOthersBackwards) {
  ScheduledChunk c = chunk(3, 3, 2);
  c.forward_exchange = Seconds(1), c.forward_experts = Seconds(1);
  c.backward_exchange = Seconds(2), c.backward_experts = Seconds(1.5);
  const PipelineSchedule& schedule = pipeline_schedule("combined");
  const PipelineResult r = run_pipeline(schedule, question({2, 1, 3}, c), true);
  EXPECT_EQ(r.total, Seconds(26));
  EXPECT_EQ(r.peak_activations, (std::vector<double>{3, 2}));
  // The expert stream has four transfers for each micro-batch, half of the time of 8 per stage.
  Seconds sent;
  for (const TimelineEvent& e : r.events)
    if (e.stream == Stream::kExpert) sent += e.end - e.start;
  EXPECT_DOUBLE_EQ(sent.value(), 2 * 3 * 3);
}

TEST(Pipeline, PeaksAreSumsOfTheChunksActivations) {
  PipelineQuestion q = question({2, 2, 2}, chunk(1, 1, 1));
  q.chunks[0].activation = 10, q.chunks[1].activation = 20;
  q.chunks[2].activation = 1, q.chunks[3].activation = 2;
  // Stage 0 runs F0a F1a F0b F1b before its first backward; stage 1 F0a F1a F0b and B0b.
  const PipelineResult r = run_pipeline(pipeline_schedule("interleaved"), q);
  EXPECT_EQ(r.peak_activations[0], 22);
  EXPECT_EQ(r.peak_activations[1], 42);
}

TEST(Pipeline, BadInputIsRefused) {
  const auto refused = [](auto change) {
    PipelineQuestion q = question({2, 1, 4}, chunk(1, 1, 1));
    change(q);
    EXPECT_THROW(run_pipeline(k1F1B, q), InputError);
  };
  refused([](PipelineQuestion& q) { q.chunks.pop_back(); });
  refused([](PipelineQuestion& q) { q.chunks[1].forward = Seconds(-1); });
  refused([](PipelineQuestion& q) {
    q.chunks[0].gradient_reduce = Seconds(std::numeric_limits<double>::quiet_NaN());
  });
  refused([](PipelineQuestion& q) { q.chunks[0].forward_exchange = Seconds(1.5); });
  refused([](PipelineQuestion& q) { q.chunks[0].activation = -1; });
  refused([](PipelineQuestion& q) { q.send = Seconds(-1); });
  refused([](PipelineQuestion& q) { q.overlap_slowdown = 0.9; });
  refused([](PipelineQuestion& q) { q.shape.micro_batches = 0; });
  PipelineQuestion q = question({2, 2, 4}, chunk(1, 1, 1));
  EXPECT_THROW(run_pipeline(k1F1B, q), Infeasible);
}

// Passes may take no time: a stage may hold only an embedding.
TEST(Pipeline, NoTimeAtAll) {
  const PipelineResult r = run_pipeline(k1F1B, question({2, 1, 2}, chunk(0, 0, 0)));
  EXPECT_EQ(r.total, Seconds(0));
  EXPECT_EQ(r.bubble, 0);
}

}  // namespace pipeline_test
}  // namespace orrery
