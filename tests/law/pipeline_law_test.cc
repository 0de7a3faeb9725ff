// Laws of pipeline schedules: the event level against closed forms on equal chunks, against a slow
// obvious simulator on random unequal ones, and bounds that nothing may beat.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>

#include "orrery/base/error.h"
#include "orrery/base/random.h"
#include "orrery/training/events/pipeline.h"
#include "tests/law/reference_pipeline.h"

namespace orrery {
namespace pipeline_law_test {

class Chance {
 public:
  explicit Chance(std::string_view name) : stream_(7, name) {}
  int from(int low, int high) {
    return low + static_cast<int>(stream_.below(static_cast<std::uint64_t>(high - low + 1)));
  }
  Seconds time(int low, int high) { return Seconds(from(low, high)); }

 private:
  RandomStream stream_;
};

bool legal(const PipelineSchedule& schedule, const PipelineShape& shape) {
  try {
    schedule.check(shape);
    return true;
  } catch (const Infeasible&) {
    return false;
  }
}

// A shape that the schedule takes.
PipelineShape random_shape(const PipelineSchedule& schedule, Chance& chance, int stages,
                           int micro_batches) {
  for (;;) {
    PipelineShape shape{chance.from(1, stages), schedule.least_chunks(),
                        chance.from(1, micro_batches)};
    if (schedule.name() == "interleaved") shape.chunks = chance.from(2, 4);
    if (schedule.name() == "combined") shape.chunks = chance.from(1, 3);
    if (legal(schedule, shape)) return shape;
  }
}

ScheduledChunk random_chunk(Chance& chance) {
  ScheduledChunk c;
  c.forward = chance.time(1, 12);
  c.backward_input = chance.time(1, 12);
  c.backward_weight = chance.time(1, 12);
  c.forward_exchange = Seconds(chance.from(0, static_cast<int>(c.forward.value())));
  c.backward_exchange = Seconds(chance.from(0, static_cast<int>(c.backward().value())));
  c.forward_experts = chance.time(0, static_cast<int>((c.forward - c.forward_exchange).value()));
  c.backward_experts =
      chance.time(0, static_cast<int>((c.backward() - c.backward_exchange).value()));
  c.exchange_slowdown = chance.from(1, 2);
  c.activation = chance.from(1, 4);
  return c;
}

PipelineQuestion random_question(const PipelineSchedule& schedule, Chance& chance) {
  PipelineQuestion q;
  q.shape = random_shape(schedule, chance, 5, 11);
  const bool data = chance.from(0, 1) == 1;
  for (int v = 0; v < q.shape.virtual_stages(); ++v) {
    q.chunks.push_back(random_chunk(chance));
    if (!data) continue;
    q.chunks.back().parameter_gather = chance.time(0, 15);
    q.chunks.back().gradient_reduce = chance.time(0, 15);
    q.chunks.back().pieces = 1 << chance.from(0, 3);
  }
  q.send = chance.time(0, 3);
  q.blocking_send = chance.from(0, 1) == 1;
  q.overlap_slowdown = chance.from(4, 8) / 4.0;
  q.overlap_gather = chance.from(0, 2) != 0;
  q.overlap_reduce = chance.from(0, 2) != 0;
  return q;
}

double most(const std::vector<double>& values) {
  return *std::max_element(values.begin(), values.end());
}

std::string text_of(const PipelineSchedule& schedule, const PipelineShape& s) {
  return std::string(schedule.name()) + " p " + std::to_string(s.stages) + " v " +
         std::to_string(s.chunks) + " m " + std::to_string(s.micro_batches);
}

// Times are whole seconds, so that sums are exact in any order.
TEST(PipelineLaw, EventLevelIsTheClosedFormOnEqualChunks) {
  for (const PipelineScheduleKind& kind : pipeline_schedule_kinds()) {
    const PipelineSchedule& schedule = pipeline_schedule(kind.name);
    Chance chance(kind.name);
    int exact = 0;
    for (int p = 1; p <= 16; ++p) {
      for (int v = 1; v <= 4; ++v) {
        for (int m :
             {1, 2, 3, p - 1, p, p + 1, 2 * p - 2, 2 * p - 1, 2 * p, 2 * p + 2, 3 * p + 1, 4 * p}) {
          const PipelineShape shape{p, v, m};
          if (m < 1 || !legal(schedule, shape)) continue;
          for (int i = 0; i < 6; ++i) {
            ScheduledChunk chunk = random_chunk(chance);
            chunk.activation = 1;
            if (i < 4) chunk.forward_exchange = chunk.backward_exchange = Seconds(0);
            if (i < 2) {
              chunk.backward_input = chunk.backward_weight = chunk.forward;
              chunk.backward_experts = chunk.forward;
            }
            PipelineQuestion q;
            q.shape = shape;
            q.chunks.assign(static_cast<std::size_t>(shape.virtual_stages()), chunk);
            const PipelineResult r = run_pipeline(schedule, q);
            const PipelineForm form = schedule.closed_form(shape, chunk);
            ASSERT_EQ(most(r.peak_activations), form.peak_activations) << text_of(schedule, shape);
            if (!form.exact) continue;
            ++exact;
            ASSERT_EQ(r.total.value(), form.total.value())
                << text_of(schedule, shape) << " F " << chunk.forward.value() << " B "
                << chunk.backward_input.value() << " W " << chunk.backward_weight.value()
                << " exchanges " << chunk.forward_exchange.value() << " and "
                << chunk.backward_exchange.value();
          }
        }
      }
    }
    EXPECT_GT(exact, 100) << kind.name;
  }
}

// The reference page's bubbles, in the range that it means (F = B, W not longer).
TEST(PipelineLaw, BubblesAreTheReferencePages) {
  const double f = 6, b = 6;
  for (double w : {2.0, 6.0}) {
    ScheduledChunk c;
    c.forward = Seconds(f), c.backward_input = Seconds(b), c.backward_weight = Seconds(w);
    for (int p : {2, 4, 8, 16}) {
      const int m = 4 * p;
      const auto bubble = [&](std::string_view name, int chunks) {
        PipelineQuestion q;
        q.shape = {p, chunks, m};
        q.chunks.assign(static_cast<std::size_t>(p * chunks), c);
        return run_pipeline(pipeline_schedule(name), q).total.value() - m * chunks * (f + b + w);
      };
      EXPECT_EQ(bubble("gpipe", 1), (p - 1) * (f + b + w));
      EXPECT_EQ(bubble("1f1b", 1), (p - 1) * (f + b + w));
      // One v-th of a stage's: here a chunk is as long as the stage above.
      EXPECT_EQ(bubble("interleaved", 4), (p - 1) * (f + b + w));
      EXPECT_EQ(bubble("zb-h1", 1), (p - 1) * (f + b - w));
      EXPECT_EQ(bubble("zb-h2", 1), (p - 1) * (f + b - 2 * w));
      if (w == f) {
        EXPECT_EQ(bubble("zb-v", 2), 0);
      }
      // A pair that hides nothing is as long as its halves.
      EXPECT_EQ(bubble("dualpipe-v", 2), (p - 1) * ((f + b + w) + (b + w) - 3 * w));
      PipelineQuestion q;
      q.shape = {p, 1, m};
      q.chunks.assign(static_cast<std::size_t>(p), c);
      EXPECT_EQ(run_pipeline(pipeline_schedule("dualpipe"), q).total.value() - m * (f + b + w),
                (p / 2 - 1) * ((f + b + w) + (b + w) - 3 * w));
    }
  }
}

// DualPipe's report counts the idle time of a stage in the middle, with pairs that hide exchanges.
TEST(PipelineLaw, DualPipesMiddleStageIdlesAsItsReportSays) {
  ScheduledChunk c;
  c.forward = Seconds(10), c.backward_input = Seconds(10), c.backward_weight = Seconds(6);
  c.forward_exchange = Seconds(3), c.backward_exchange = Seconds(4);
  c.forward_experts = Seconds(3.5), c.backward_experts = Seconds(6);
  const double pair = 10 + 16 - 7;
  for (int p : {2, 4, 8, 16}) {
    PipelineQuestion q;
    q.shape = {p, 1, 3 * p};
    q.chunks.assign(static_cast<std::size_t>(p), c);
    const PipelineResult r = run_pipeline(pipeline_schedule("dualpipe"), q);
    EXPECT_EQ((r.total - r.busy[static_cast<std::size_t>(p / 2)]).value(),
              (p / 2 - 1) * (pair + 16 - 3 * 6));
  }
}

TEST(PipelineLaw, EventLevelIsTheSlowSimulatorOnRandomQuestions) {
  for (const PipelineScheduleKind& kind : pipeline_schedule_kinds()) {
    const PipelineSchedule& schedule = pipeline_schedule(kind.name);
    Chance chance(kind.name);
    for (int i = 0; i < 1000; ++i) {
      const PipelineQuestion q = random_question(schedule, chance);
      const PipelineResult fast = run_pipeline(schedule, q);
      const PipelineResult slow = reference_pipeline(schedule, q);
      const std::string what = text_of(schedule, q.shape) + ", case " + std::to_string(i);
      ASSERT_NEAR(fast.total.value(), slow.total.value(), 1e-9) << what;
      ASSERT_NEAR(fast.makespan.value(), slow.makespan.value(), 1e-9) << what;
      ASSERT_NEAR(fast.exposed_data.value(), slow.exposed_data.value(), 1e-9) << what;
      for (std::size_t s = 0; s < slow.busy.size(); ++s) {
        ASSERT_NEAR(fast.busy[s].value(), slow.busy[s].value(), 1e-9) << what << ", stage " << s;
        ASSERT_EQ(fast.peak_activations[s], slow.peak_activations[s]) << what << ", stage " << s;
      }
    }
  }
}

TEST(PipelineLaw, EveryPassRunsOnceAndNoStageRunsTwoAtOnce) {
  for (const PipelineScheduleKind& kind : pipeline_schedule_kinds()) {
    const PipelineSchedule& schedule = pipeline_schedule(kind.name);
    Chance chance(kind.name);
    for (int i = 0; i < 100; ++i) {
      const PipelineQuestion q = random_question(schedule, chance);
      const PipelineResult r = run_pipeline(schedule, q, true);
      // Forwards, input gradients and gradients of weights by virtual stage and micro-batch.
      std::vector<std::array<int, 3>> seen(
          static_cast<std::size_t>(q.shape.virtual_stages() * q.shape.micro_batches));
      std::vector<double> free(static_cast<std::size_t>(kStreams * q.shape.stages), 0);
      double end = 0;
      const TimelineEvent* before = nullptr;
      for (const TimelineEvent& e : r.events) {
        end = std::max(end, e.end.value());
        double& stream =
            free[static_cast<std::size_t>(kStreams * e.stage + static_cast<int>(e.stream))];
        const bool same_pair = e.paired && before != nullptr && before->paired &&
                               before->stage == e.stage && before->start == e.start;
        if (!same_pair) {
          EXPECT_GE(e.start.value(), stream - 1e-9);
        }
        stream = e.end.value();
        if (e.stream != Stream::kCompute) continue;
        before = &e;
        using K = TimelineEvent::Kind;
        auto& times =
            seen[static_cast<std::size_t>(e.virtual_stage * q.shape.micro_batches + e.micro_batch)];
        if (e.kind == K::kForward) ++times[0];
        if (e.kind == K::kBackward || e.kind == K::kBackwardInput) ++times[1];
        if (e.kind == K::kBackward || e.kind == K::kBackwardWeight) ++times[2];
      }
      for (const auto& times : seen) ASSERT_EQ(times, (std::array<int, 3>{1, 1, 1}));
      EXPECT_NEAR(end, r.makespan.value(), 1e-9);
    }
  }
}

TEST(PipelineLaw, NothingIsFasterThanTheBusiestStageOrOneMicroBatchesPath) {
  for (const PipelineScheduleKind& kind : pipeline_schedule_kinds()) {
    const PipelineSchedule& schedule = pipeline_schedule(kind.name);
    Chance chance(kind.name);
    for (int i = 0; i < 200; ++i) {
      PipelineQuestion q = random_question(schedule, chance);
      for (ScheduledChunk& c : q.chunks) c.forward_exchange = c.backward_exchange = Seconds(0);
      const PipelineResult r = run_pipeline(schedule, q);
      Seconds path;
      for (const ScheduledChunk& c : q.chunks) path += c.forward + c.backward_input;
      EXPECT_GE(r.makespan.value(), path.value() - 1e-9);
      for (Seconds busy : r.busy) EXPECT_GE(r.total.value(), busy.value() - 1e-9);
      EXPECT_GE(r.bubble, 0);
      EXPECT_LT(r.bubble, 1);
    }
  }
}

// A static order has no anomalies: a longer pass never ends the iteration sooner.
TEST(PipelineLaw, LongerPassesNeverHelp) {
  for (const PipelineScheduleKind& kind : pipeline_schedule_kinds()) {
    const PipelineSchedule& schedule = pipeline_schedule(kind.name);
    Chance chance(kind.name);
    for (int i = 0; i < 200; ++i) {
      PipelineQuestion q = random_question(schedule, chance);
      const Seconds before = run_pipeline(schedule, q).makespan;
      ScheduledChunk& c =
          q.chunks[static_cast<std::size_t>(chance.from(0, q.shape.virtual_stages() - 1))];
      c.forward += chance.time(0, 5);
      c.backward_input += chance.time(0, 5);
      c.backward_weight += chance.time(0, 5);
      EXPECT_GE(run_pipeline(schedule, q).makespan.value(), before.value() - 1e-9);
    }
  }
}

// Several iterations without a barrier in between.
class Repeated : public PipelineSchedule {
 public:
  Repeated(const PipelineSchedule& one, int times)
      : PipelineSchedule(one.name()), one_(one), times_(times) {}
  void order(int stage, const PipelineShape& shape,
             std::vector<PipelineTask>& tasks) const override {
    PipelineShape once = shape;
    once.micro_batches /= times_;
    for (int i = 0; i < times_; ++i) {
      const std::size_t begin = tasks.size();
      one_.order(stage, once, tasks);
      for (std::size_t k = begin; k < tasks.size(); ++k) {
        tasks[k].micro_batch += i * once.micro_batches;
      }
    }
  }
  PipelineForm closed_form(const PipelineShape&, const ScheduledChunk&) const override {
    return {};
  }

 private:
  void check_rules(const PipelineShape&) const override {}
  const PipelineSchedule& one_;
  int times_;
};

TEST(PipelineLaw, StaggeredIterationsRepeatWithTheirTotal) {
  for (std::string_view name : {"zb-h2", "zb-v"}) {
    const PipelineSchedule& schedule = pipeline_schedule(name);
    ASSERT_TRUE(schedule.staggered());
    Chance chance(name);
    for (int i = 0; i < 100; ++i) {
      PipelineQuestion q;
      q.shape = random_shape(schedule, chance, 5, 12);
      for (int v = 0; v < q.shape.virtual_stages(); ++v) q.chunks.push_back(random_chunk(chance));
      const double total = run_pipeline(schedule, q).total.value();
      const auto makespan = [&](int times) {
        PipelineQuestion many = q;
        many.shape.micro_batches *= times;
        return run_pipeline(Repeated(schedule, times), many).makespan.value();
      };
      EXPECT_LE(makespan(7) - makespan(6), total) << text_of(schedule, q.shape);
    }
  }
  // Equal passes: no gap at all.
  PipelineQuestion q;
  q.shape = {4, 1, 8};
  ScheduledChunk c;
  c.forward = c.backward_input = c.backward_weight = Seconds(1);
  q.chunks.assign(4, c);
  const PipelineSchedule& schedule = pipeline_schedule("zb-h2");
  EXPECT_EQ(run_pipeline(schedule, q).total, Seconds(24));
  q.shape.micro_batches = 24;
  EXPECT_EQ(run_pipeline(Repeated(schedule, 3), q).makespan, Seconds(3 * 24 + 3));
}

}  // namespace pipeline_law_test
}  // namespace orrery
