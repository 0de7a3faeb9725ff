// Data-parallel communication that overlaps with computation, by hand and event by event.
#include "orrery/training/overlap/data_overlap.h"

#include <gtest/gtest.h>

#include "orrery/training/events/pipeline.h"
#include "orrery/training/overlap/shared_port.h"

namespace orrery {
namespace data_overlap_test {

ShardedPass forward(double compute, double gather, int layers, double slowdown = 1) {
  return {Seconds(compute), Seconds(gather), Seconds(0), layers, false, slowdown};
}
ShardedPass backward(double compute, double gather, double scatter, int layers,
                     double slowdown = 1) {
  return {Seconds(compute), Seconds(gather), Seconds(scatter), layers, true, slowdown};
}

// Four layers of 3 s: of gathers of 1 s only the first is exposed. Gathers of 5 s determine the
// time, and the last layer follows them.
TEST(ShardedPass, ForwardByHand) {
  EXPECT_EQ(sharded_time(forward(12, 4, 4)), Seconds(1 + 12));
  EXPECT_EQ(sharded_time(forward(12, 20, 4)), Seconds(20 + 3));
  // Three gathers slow the computation that they overlap with by a fifth of a second each.
  EXPECT_DOUBLE_EQ(sharded_time(forward(12, 4, 4, 1.25)).value(), 1 + 12 + 3 * 0.2);
}

// Backward the first layer's weights are there and the last layer's gradients leave alone.
TEST(ShardedPass, BackwardByHand) {
  EXPECT_EQ(sharded_time(backward(24, 4, 4, 4)), Seconds(24 + 1));
  // 6 s that overlap with a gather of 5, twice with 10, with a reduction of 5, and the last
  // reduction.
  EXPECT_EQ(sharded_time(backward(24, 20, 20, 4)), Seconds(6 + 10 + 10 + 6 + 5));
  EXPECT_EQ(sharded_time(backward(24, 0, 20, 4)), Seconds(24 + 5));
  EXPECT_EQ(sharded_time(backward(6, 5, 5, 1)), Seconds(6 + 5));
}

// PyTorch's BackwardPrefetch: four layers of 6 s with gathers of 1 s and reductions of 2 s. Gathers
// before the layer leave only the last reduction exposed. Gathers after the layer are exposed.
// Gathers after the reductions expose these too.
TEST(ShardedPass, PrefetchByHand) {
  ShardedPass p = backward(24, 4, 8, 4);
  EXPECT_EQ(sharded_time(p), Seconds(24 + 2));
  p.prefetch = Prefetch::kPost;
  EXPECT_EQ(sharded_time(p), Seconds(24 + 3 * 1 + 2));
  p.scatter = Seconds(4 * 8);  // what a layer does not hide of 8 s, and the last
  EXPECT_EQ(sharded_time(p), Seconds(6 + 3 * (1 + 8) + 8));
  p.prefetch = Prefetch::kNone;
  EXPECT_EQ(sharded_time(p), Seconds(24 + 3 * (1 + 8) + 8));
  p.gather = Seconds(0);  // nothing waits behind a reduction
  EXPECT_EQ(sharded_time(p), sharded_time(backward(24, 0, 32, 4)));
  // A forward pass gathers ahead under each.
  ShardedPass f = forward(12, 20, 4);
  f.prefetch = Prefetch::kNone;
  EXPECT_EQ(sharded_time(f), sharded_time(forward(12, 20, 4)));
}

TEST(ShardedPass, ClosedFormIsTheEvents) {
  for (const int n : {1, 2, 3, 4, 7, 32})
    for (const double gather : {0.0, 1.0, 10.0, 40.0})
      for (const double scatter : {0.0, 2.0, 30.0})
        for (const double slowdown : {1.0, 1.2, 2.0})
          for (const double rate : {1.0, 0.7}) {
            ShardedPass f = forward(12, gather, n, slowdown);
            f.rate = rate;
            EXPECT_NEAR(sharded_time(f).value(), run_sharded(f).value(), 1e-12);
            ShardedPass b = backward(24, gather, scatter, n, slowdown);
            b.rate = rate;
            Seconds sooner;
            for (const Prefetch p : {Prefetch::kPre, Prefetch::kPost, Prefetch::kNone}) {
              b.prefetch = p;
              EXPECT_NEAR(sharded_time(b).value(), run_sharded(b).value(), 1e-12);
              EXPECT_GE(sharded_time(b), sooner);  // the more is hidden, the shorter
              sooner = sharded_time(b);
            }
          }
}

// The time that run_pipeline adds to the passes of one chunk in `pieces` on one stage.
double by_events(double pass, double reduce, double to_host, int pieces, double slowdown,
                 bool mirrored = false) {
  PipelineQuestion q;
  q.shape = {1, 1, 3};
  ScheduledChunk c;
  c.forward = Seconds(pass), c.backward_input = Seconds(pass);
  (mirrored ? c.parameter_gather : c.gradient_reduce) = Seconds(reduce);
  c.gradient_offload = Seconds(to_host), c.pieces = pieces;
  q.chunks = {c};
  q.overlap_slowdown = slowdown;
  return run_pipeline(pipeline_schedule("1f1b"), q).total.value() - 6 * pass;
}

DataStream stream(double pass, double reduce, double to_host, int pieces, double slowdown) {
  DataStream d;
  d.communication = Seconds(reduce), d.to_host = Seconds(to_host), d.pass = Seconds(pass);
  d.pieces = pieces, d.slowdown = slowdown;
  return d;
}

TEST(DataStream, ByHand) {
  // Four buckets of 1 s during a pass of 8 s: the last one is exposed. Buckets of 4 s: the first
  // waits for 2 s of the pass, and the others follow it.
  EXPECT_EQ(exposed(stream(8, 4, 0, 4, 1)).communication, Seconds(1));
  EXPECT_EQ(exposed(stream(8, 16, 0, 4, 1)).communication, Seconds(2 + 16 - 8));
  EXPECT_DOUBLE_EQ(exposed(stream(8, 4, 0, 4, 1.25)).communication.value(), 1 + 3 * 0.2);
  // Copies of 3 s a bucket behind reductions of 1 s: 2, 1, and four of them.
  const DataExposed copied = exposed(stream(8, 4, 12, 4, 1));
  EXPECT_EQ(copied.communication + copied.to_host, Seconds(2 + 1 + 12 - 8));
}

TEST(DataStream, ClosedFormIsTheEvents) {
  for (const int n : {1, 2, 3, 8, 50})
    for (const double reduce : {0.0, 1.0, 7.5, 9.0, 30.0})
      for (const double to_host : {0.0, 0.5, 9.0, 40.0})
        for (const double slowdown : {1.0, 1.2, 2.0}) {
          const DataExposed e = exposed(stream(8, reduce, to_host, n, slowdown));
          EXPECT_NEAR((e.communication + e.to_host).value(),
                      by_events(8, reduce, to_host, n, slowdown), 1e-9)
              << n << " pieces of " << reduce << " and " << to_host << ", slower by " << slowdown;
          if (to_host > 0) continue;
          EXPECT_NEAR(e.communication.value(), by_events(8, reduce, 0, n, slowdown, true), 1e-9)
              << n << " pieces of " << reduce << " gathered, slower by " << slowdown;
        }
}

// A pass of 10 s that sends for 4 s between nodes itself, and nothing hides that.
TEST(PortSharing, ByHand) {
  const PortUse pass{Seconds(10), Seconds(4), Seconds(4)};
  const PortSharing both = sharing(pass, Seconds(20), Seconds(20), 1);
  EXPECT_DOUBLE_EQ(both.slowdown, 1.4);
  EXPECT_DOUBLE_EQ(both.rate, 10 / 14.0);
  // Communication that is inside the node, or a pass that sends nothing: its kernels alone.
  for (const PortSharing& one : {sharing(pass, Seconds(20), Seconds(0), 1.2),
                                 sharing({Seconds(10), {}, {}}, Seconds(20), Seconds(20), 1.2)}) {
    EXPECT_EQ(one.slowdown, 1.2);
    EXPECT_EQ(one.rate, 1);
  }
  // Half of the pass uses the port: 7 s for 5 s of the pass there, and 5 s for the other half.
  const PortSharing half = sharing(pass, Seconds(10), Seconds(5), 1);
  EXPECT_DOUBLE_EQ(half.rate, 10.0 / 12);
  EXPECT_DOUBLE_EQ(half.slowdown, 12.0 / 10);
}

// Buckets that use the port from first to last, during a pass that uses it for `sends` seconds.
TEST(DataStream, ClosedFormIsTheEventsOnASharedPort) {
  for (const int n : {1, 2, 8})
    for (const double reduce : {1.0, 7.5, 9.0, 30.0})
      for (const double sends : {0.0, 1.0, 4.0})
        for (const double slowdown : {1.0, 1.2})
          for (const bool gathers : {false, true}) {
            PipelineQuestion q;
            q.shape = {1, 1, 3};
            ScheduledChunk c;
            c.forward = c.backward_input = Seconds(8), c.pieces = n;
            (gathers ? c.parameter_gather : c.gradient_reduce) = Seconds(reduce);
            (gathers ? c.gather_on_port : c.reduce_on_port) = Seconds(reduce);
            c.forward_on_port = c.backward_input_on_port = Seconds(sends);
            q.chunks = {c};
            c.forward += Seconds(sends), c.backward_input += Seconds(sends);
            q.contended = {c};
            q.overlap_slowdown = slowdown;
            const double events = run_pipeline(pipeline_schedule("1f1b"), q).total.value() - 6 * 8;
            const PortSharing both = sharing({Seconds(8), Seconds(sends), Seconds(sends)},
                                             Seconds(reduce), Seconds(reduce), slowdown);
            DataStream d = stream(8, reduce, 0, n, both.slowdown);
            d.rate = both.rate;
            EXPECT_NEAR(exposed(d).communication.value(), events, 1e-9)
                << n << " pieces of " << reduce << " beside " << sends << ", slower by " << slowdown
                << (gathers ? ", gathered" : "");
          }
}

// The last passes of two chunks end 10 s after each other. The 6 s of the first chunk end before
// the last pass of 4 s; 12 s would not.
TEST(DataStream, EarlierChunksHideOrQueue) {
  DataStream d = stream(4, 12, 0, 2, 1);
  d.chunks = 2, d.spacing = Seconds(10);
  EXPECT_EQ(exposed(d).communication, Seconds(2 + 6 - 4));
  d.communication = Seconds(24);
  // It is behind by 2 s when the last pass ends, then the last chunk's 12.
  EXPECT_EQ(exposed(d).communication, Seconds(2 + 12));
  // More buckets never cost, nor does less communication.
  for (int n = 1; n < 20; ++n) {
    const Seconds before = exposed(d).communication;
    d.pieces = n + 1;
    EXPECT_LE(exposed(d).communication, before);
  }
}

}  // namespace data_overlap_test
}  // namespace orrery
