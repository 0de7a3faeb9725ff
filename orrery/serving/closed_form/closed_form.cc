#include "orrery/serving/closed_form/closed_form.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "orrery/serving/schedulers/scheduler.h"

namespace orrery {
namespace {

// Relative error of an engine's overheads. An assumption: the measured tables give one value for
// each engine and class of GPU, and no spread over hosts.
constexpr double kOverheadError = 0.3;

// Relative error for users in step: the difference to the simulation in
// tests/law/closed_loop_law_test.cc.
constexpr double kInStepError = 0.15;

struct PrefillTime {
  Estimate<Seconds> all, mean;  // time to the last first token of the wave; mean of all
  std::int64_t steps = 0;
  std::int64_t prompts = 1;  // whole prompts in one step
  double full_steps = 1;     // steps like the typical one; one of fewer tokens counts as a part
  StepTime typical;
};

class Wave {
 public:
  Wave(const StepModel& steps, const EngineProfile& engine, const ParallelPlan& plan,
       const ClosedFormWorkload& w)
      : steps_(steps),
        engine_(engine),
        plan_(plan),
        w_(w),
        scheduler_(make_scheduler({engine.scheduler, plan.dp})) {}

  // The prompts of `n` sequences. A step takes whole prompts while they fit in the token budget. A
  // prompt longer than the budget is cut into chunks, or computed whole without chunked prefill.
  PrefillTime prefill(std::int64_t n, bool with_terms) const {
    const std::int64_t fresh = w_.isl - w_.past;
    const std::int64_t budget = engine_.scheduler.max_num_batched_tokens * plan_.dp;
    PrefillTime out;
    if (fresh > budget && engine_.scheduler.chunked_prefill) {
      const std::int64_t chunks = (fresh + budget - 1) / budget;
      const std::int64_t last = fresh - (chunks - 1) * budget;
      auto chunk = [&](std::int64_t index, bool terms) {
        return step({1, budget, static_cast<double>(w_.past + index * budget), false}, terms);
      };
      out.typical = chunk(0, with_terms);
      // All chunks but the last differ by their past only: Simpson's rule over them.
      const auto a = out.typical.total, m = chunk((chunks - 2) / 2, false).total,
                 z = chunk(chunks - 2, false).total;
      const auto mean = plus(plus(a.scaled(1.0 / 6), m.scaled(4.0 / 6)), z.scaled(1.0 / 6));
      const Estimate<Seconds> one =
          plus(mean.scaled(static_cast<double>(chunks - 1)),
               step({1, last, static_cast<double>(w_.isl - last), true}, false).total);
      out.steps = chunks * n;
      out.full_steps = static_cast<double>(n * fresh) / static_cast<double>(budget);
      out.all = through_stages(one.scaled(static_cast<double>(n)), out.steps);
      out.mean = through_stages(one.scaled(0.5 * static_cast<double>(n + 1)), out.steps);
      return out;
    }
    std::int64_t prompts =
        std::clamp<std::int64_t>(budget / std::max<std::int64_t>(fresh, 1), 1, n);
    prompts = scheduler_->prompts_in_step(prompts, fresh);
    const std::int64_t full = n / prompts, rest = n % prompts;
    const double past = static_cast<double>(w_.past);
    out.prompts = prompts;
    out.typical = step({prompts, fresh, past, true}, with_terms);
    out.steps = full + (rest > 0 ? 1 : 0);
    out.full_steps = static_cast<double>(n) / static_cast<double>(prompts);
    Estimate<Seconds> all = out.typical.total.scaled(static_cast<double>(full));
    // First tokens are made at the end of a step: members of the k-th step wait k steps.
    double waited = static_cast<double>(prompts) * static_cast<double>(full) *
                    static_cast<double>(full + 1) / 2;
    Estimate<Seconds> mean = out.typical.total.scaled(waited / static_cast<double>(n));
    if (rest > 0) {
      all = plus(all, step({rest, fresh, past, true}, false).total);
      mean = plus(mean, all.scaled(static_cast<double>(rest) / static_cast<double>(n)));
    }
    out.all = through_stages(all, out.steps);
    out.mean = through_stages(mean, out.steps);
    return out;
  }

  // One decode step of `n` sequences with `context` cached tokens each. With several stages the
  // sequences form min(n, pp) batches in flight. The time is that of the slowest stage if it is
  // always busy, else that of passing all stages.
  StepTime decode(std::int64_t n, double context, bool with_terms) const {
    const std::int64_t in_flight = std::min<std::int64_t>(n, plan_.pp);
    const SequenceGroup group{(n + in_flight - 1) / in_flight, 1, context, true};
    StepTime t = step(group, with_terms);
    if (plan_.pp == 1) return delivered(t, n);
    const Seconds paced = t.total.value * static_cast<double>(in_flight) -
                          t.serial_host * static_cast<double>(in_flight - 1);
    const Seconds stage = t.total.value;
    t.total.value = std::max(paced, steps_.through_all_stages(Batch{{group}}).value);
    t.ungoverned_total = t.ungoverned_total * (t.total.value / stage);
    return delivered(t, n);
  }

  // All decode steps of `n` sequences from the second token to the last, by Simpson's rule over the
  // context.
  Estimate<Seconds> decode_all(std::int64_t n) const {
    const double first = static_cast<double>(w_.isl),
                 last = static_cast<double>(w_.isl + w_.osl - 2);
    if (w_.osl < 2) return {};
    const auto a = decode(n, first, false).total, b = decode(n, (first + last) / 2, false).total,
               c = decode(n, last, false).total;
    const auto sum = plus(plus(a.scaled(1.0 / 6), b.scaled(4.0 / 6)), c.scaled(1.0 / 6));
    return sum.scaled(static_cast<double>(w_.osl - 1));
  }

  // Factor on the steps of `prompts` if they also carry `decoding` decodes.
  double slowdown(std::int64_t decoding, const PrefillTime& prompts) const {
    const std::int64_t budget = engine_.scheduler.max_num_batched_tokens * plan_.dp;
    if (decoding <= 0) return 1;
    const double middle = static_cast<double>(w_.isl) + static_cast<double>(w_.osl - 1) / 2;
    const std::int64_t fresh = std::min(w_.isl - w_.past, budget);
    const SequenceGroup chunk{prompts.prompts, fresh, static_cast<double>(w_.past), true};
    const SequenceGroup decodes{decoding, 1, middle, true};
    return steps_.time(Batch{{chunk, decodes}}).total.value /
           steps_.time(Batch{{chunk}}).total.value;
  }

  double budget() const {
    return static_cast<double>(engine_.scheduler.max_num_batched_tokens * plan_.dp);
  }

  // Whether a step with prompts carries no decodes.
  bool prompts_alone() const {
    return !engine_.scheduler.continuous || scheduler_->prompts_alone();
  }

  StepTime step(const SequenceGroup& group, bool with_terms) const {
    return steps_.time(Batch{{group}}, with_terms);
  }

 private:
  // Users who wait for their last tokens see no more tokens than the front end of their rank
  // delivers: a decode step of `n` sequences takes no less than that.
  StepTime delivered(StepTime t, std::int64_t n) const {
    const Seconds least = engine_.execution.delivery(static_cast<double>(w_.osl - 1) / 2) *
                          static_cast<double>((n + plan_.dp - 1) / plan_.dp);
    if (least <= Seconds(0)) return t;
    const Seconds before = t.total.value;
    t.total = maximum(t.total, Estimate<Seconds>{least, kOverheadError, 0, Origin::kFitted}, 0);
    if (t.total.value > before) t.exposed += t.total.value - before;
    t.ungoverned_total = std::max(t.ungoverned_total, least);
    return t;
  }

  // Time in which `steps` batches pass all plan.pp stages. `stage` is the time of all batches in
  // the slowest stage. Batches follow one another through the stages within pipelined_tokens; the
  // next ones wait until the last of these has left.
  Estimate<Seconds> through_stages(const Estimate<Seconds>& stage, std::int64_t steps) const {
    const auto& s = engine_.scheduler;
    const std::int64_t follow =
        s.pipelined_tokens == 0
            ? steps
            : std::clamp<std::int64_t>(s.pipelined_tokens / s.max_num_batched_tokens, 1, steps);
    const double passes = static_cast<double>(follow + plan_.pp - 1) / static_cast<double>(follow);
    // The first stage may be faster than the others; it counts once in plan.pp passes.
    const double later = engine_.kernels.later_stage_factor;
    return stage.scaled(passes * (1 + (plan_.pp - 1) * later) / (plan_.pp * later));
  }

  const StepModel& steps_;
  const EngineProfile& engine_;
  const ParallelPlan& plan_;
  const ClosedFormWorkload& w_;
  const std::unique_ptr<Scheduler> scheduler_;
};

// The time of a request until its first token, and from there to its end.
struct FirstAndRest {
  Estimate<Seconds> ttft, rest;
};

// A closed loop of `running` users.
struct Loop {
  const Wave& wave;
  const EngineProfile& engine;
  const ClosedFormWorkload& w;
  std::int64_t running;
  Estimate<Seconds> decode;  // a decode step of all users
  Estimate<Seconds> overhead, start_up;

  // Users with lengths that scatter.
  FirstAndRest scattered(const PrefillTime& group, std::int64_t together,
                         const PrefillTime& whole) const {
    const double users = static_cast<double>(running);
    const double groups = users / static_cast<double>(together);
    const double prefills = groups * group.all.value.value();
    const double residence = prefills + later() * decode.value.value();
    const double rho = std::min(0.9, prefills / residence);
    const Estimate<Seconds> steady =
        plus(group.all.scaled(1 + rho / (2 * (1 - rho))), decode.scaled(0.5));
    FirstAndRest t;
    t.ttft = with_overhead(plus(whole.mean.scaled(first()), steady.scaled(1 - first())));
    t.ttft.own = std::hypot(t.ttft.own, engine.ttft_error);
    const Estimate<Seconds> interruptions =
        group.all.scaled((groups - 1) / static_cast<double>(w.osl));
    t.rest = plus(decode, interruptions).scaled(later());
    return t;
  }

  // Users with equal lengths, who stay in step.
  FirstAndRest in_step(const PrefillTime& whole) const {
    const bool alone = wave.prompts_alone();
    const Groups g = groups(alone, whole);
    // Time of a request's later tokens if the prompts of `others` groups are computed meanwhile.
    const auto rest = [&](double others) {
      const double own = std::max(0.0, later() - (alone ? 0 : others * g.steps));
      return plus(g.one.scaled(others), decode.scaled(own));
    };
    const FirstAndRest batch{g.first, rest((g.count - 1) / 2)};
    const FirstAndRest next = after(g, alone, batch, rest);
    FirstAndRest t{plus(batch.ttft.scaled(first()), next.ttft.scaled(1 - first())),
                   plus(batch.rest.scaled(first()), next.rest.scaled(1 - first()))};
    t.ttft = with_overhead(t.ttft);
    t.ttft.own = std::hypot(t.ttft.own, running > 1 ? kInStepError : 0, engine.ttft_error);
    return t;
  }

 private:
  // The prompts of a wave, grouped by steps.
  struct Groups {
    double count = 1, steps = 1;  // number of groups, and steps of each
    Estimate<Seconds> one;        // time of a group
    Estimate<Seconds> first;      // mean time to the first token if all start at once
  };

  Groups groups(bool alone, const PrefillTime& whole) const {
    Groups g;
    g.one = g.first = whole.all;
    if (running == 1) {
      g.steps = static_cast<double>(whole.steps);
      return g;
    }
    const auto fresh = static_cast<double>(w.isl - w.past);
    // Steps with prompts also carry the decodes of other users, within one budget: at most of those
    // whose prompts were computed in the osl - 1 steps before.
    const std::int64_t decodes =
        alone ? 0 : std::min(running - whole.prompts, (w.osl - 1) * whole.prompts);
    const double longer = wave.slowdown(decodes, whole);
    const double budget = wave.budget();
    // Prompts of a step. The form holds if decodes take less than half of the budget.
    double prompts = static_cast<double>(whole.prompts);
    if (engine.scheduler.chunked_prefill)
      prompts = std::max(budget - static_cast<double>(decodes), budget / 2) / std::max(fresh, 1.0);
    const auto users = static_cast<double>(running);
    const double each = whole.all.value.value() * longer / users;  // time of a prompt
    // The first prompt finds an idle engine, which does not wait for the others.
    const double lone = prompts > 1 ? wave.prefill(1, false).all.value.value() : 0.0;
    const double behind = lone > 0 ? users - 1 : users;
    double sum = lone * users;
    for (double q = 1; q <= behind; ++q)
      sum += std::min(std::ceil(q / prompts - 1e-9) * prompts, behind) * each;
    g.first = whole.all.scaled(sum / users / whole.all.value.value());
    g.steps = std::max(1.0, 1 / prompts);
    g.count = std::max(1.0, std::ceil(users / std::max(1.0, prompts) - 1e-9));
    g.one = whole.all.scaled(longer / g.count);
    return g;
  }

  double later() const { return static_cast<double>(w.osl - 1); }
  // The share of first requests among all.
  double first() const {
    return w.requests_per_user > 0 ? 1.0 / static_cast<double>(w.requests_per_user) : 0;
  }
  Estimate<Seconds> with_overhead(const Estimate<Seconds>& ttft) const {
    return plus(ttft, plus(overhead, start_up.scaled(first())));
  }

  // Times of requests after the first wave, without overhead.
  FirstAndRest after(const Groups& g, bool alone, const FirstAndRest& batch,
                     const auto& rest) const {
    const double m = g.one.value.value(), h = overhead.value.value();
    const double t = decode.value.value() * g.steps;  // between the ends of two groups
    const double ahead = engine.scheduler.async_scheduling && !alone ? 1 : 0;
    if (g.count > 1 && (w.osl == 1 || (!alone && later() < (g.count - 1) * g.steps))) {
      const double own = later() / g.steps;  // no group ever decodes alone
      const double least = 1 + (std::ceil(h * g.steps / m) + ahead) / g.steps;
      const double idle = std::max(0.0, own + least - g.count);
      return {g.one.scaled(std::max(least, g.count - own) - h / m),
              plus(g.one.scaled(std::max(0.0, own - idle)), decode.scaled(idle * g.steps))};
    }
    if (alone || g.count == 1) return batch;
    const double until =
        (std::ceil(h * g.steps / t) + ahead) / g.steps;  // groups that end meanwhile
    const double ended = 1 + std::round(until);
    if (ended >= g.count) {
      // A batch again, except that group i is sent i * t after the first and waits less by that.
      const double earlier = std::min(0.5, (g.count - 1) / 2 * t / batch.ttft.value.value());
      return {batch.ttft.scaled(1 - earlier), batch.rest};
    }
    const double starts = until * t - h;  // after the first is queued
    // Waiting of the groups that end before a prompt is computed, then of the others.
    double waited = ended * starts + ended * (ended - 1) / 2 * (m - t);
    waited += (g.count - ended) * std::max(0.0, (ended - 1) * m - h);
    const double mean = waited / g.count / m;  // in groups
    return {g.one.scaled(1 + mean), rest(g.count - 1 - std::min(mean, g.count - 1))};
  }
};

// The times that the engine's host adds to the steps.
struct Overheads {
  Estimate<Seconds> request;   // of each request
  Estimate<Seconds> start_up;  // of the first wave
};

Overheads overheads_of(const EngineProfile& engine, const ParallelPlan& plan,
                       const ClosedFormWorkload& w, std::int64_t running) {
  const auto& x = engine.execution;
  // The first wave continues prompts if a step does not take all of it.
  const bool continues =
      w.past > 0 || (engine.scheduler.chunked_prefill &&
                     running * w.isl > engine.scheduler.max_num_batched_tokens * plan.dp);
  const auto fitted = [](Seconds time) {
    return Estimate<Seconds>{time, kOverheadError, 0, Origin::kFitted};
  };
  return {fitted(x.request_overhead + x.overhead_per_prompt_token * static_cast<double>(w.isl)),
          fitted(x.first_step_extra() + (x.cold && continues ? x.continued_start_up : Seconds(0)))};
}

// Adds the figures of users who each send a request when the one before has ended.
// REQUIRES `running` and `decode_step`.
void add_closed_loop(const Wave& wave, const EngineProfile& engine, const ClosedFormWorkload& w,
                     const Overheads& host, bool with_terms, ClosedFormResult& r) {
  const Loop loop{wave, engine, w, r.running, r.decode_step.total, host.request, host.start_up};
  const PrefillTime one = wave.prefill(1, with_terms);
  r.prefill_step = one.typical;
  r.prefill_steps = one.steps;
  r.prefill = one.all;
  const PrefillTime whole = r.running == 1 ? one : wave.prefill(r.running, with_terms);
  const bool in_step = w.equal_lengths || r.running == 1;
  // Prompts that come within a decode step are computed together.
  const std::int64_t together = std::max<std::int64_t>(1, r.running / w.osl);
  const PrefillTime group = in_step         ? whole
                            : together == 1 ? one
                                            : wave.prefill(together, with_terms);
  const FirstAndRest time = in_step ? loop.in_step(whole) : loop.scattered(group, together, whole);
  r.computed.prompts = group.typical;
  r.computed.prompt_steps = group.full_steps;
  if (!in_step)
    r.computed.prompt_steps *= static_cast<double>(r.running) / static_cast<double>(together);
  r.ttft = time.ttft;
  r.e2e = plus(time.ttft, time.rest);
  if (w.osl > 1) r.tpot = time.rest.scaled(1 / static_cast<double>(w.osl - 1));
  r.makespan = r.e2e;
  r.computed.time = r.makespan.value;
  // Users beyond the capacity of memory wait in the queue, and the time of a request grows with
  // their number.
  const double queued = static_cast<double>(w.requests) / static_cast<double>(r.running);
  if (queued > 1) {
    r.ttft = plus(r.ttft, r.e2e.scaled(queued - 1));
    r.e2e = r.e2e.scaled(queued);
  }
  r.output_tokens = static_cast<double>(r.running * w.osl);
  r.input_tokens = static_cast<double>(r.running * w.isl);
}

// Adds the figures of requests that all come at once and run wave by wave. REQUIRES `running`.
void add_waves(const Wave& wave, const ClosedFormWorkload& w, const Overheads& host,
               bool with_terms, ClosedFormResult& r) {
  const PrefillTime prefill = wave.prefill(r.running, with_terms);
  const Estimate<Seconds> decode = wave.decode_all(r.running);
  const Estimate<Seconds> once = plus(host.request, host.start_up);
  const std::int64_t full = w.requests / r.running, rest = w.requests % r.running;
  r.waves = full + (rest > 0 ? 1 : 0);
  r.prefill_step = prefill.typical;
  r.prefill_steps = prefill.steps;
  r.prefill = prefill.all;
  const Estimate<Seconds> one_wave = plus(prefill.all, decode);
  r.makespan = plus(one_wave.scaled(static_cast<double>(full)), once);
  if (rest > 0)
    r.makespan = plus(r.makespan, plus(wave.prefill(rest, false).all, wave.decode_all(rest)));
  // A request of the k-th wave waits for k - 1 waves.
  const double waited = static_cast<double>(r.waves - 1) / 2;
  r.ttft = plus(plus(prefill.mean, once), one_wave.scaled(waited));
  if (w.osl > 1) r.tpot = decode.scaled(1 / static_cast<double>(w.osl - 1));
  r.e2e = plus(plus(plus(r.prefill, once), decode), one_wave.scaled(waited));
  const double waves = static_cast<double>(w.requests) / static_cast<double>(r.running);
  r.computed.prompts = prefill.typical;
  r.computed.prompt_steps = prefill.full_steps;
  r.computed.time = r.makespan.value / waves;
  r.output_tokens = static_cast<double>(w.requests * w.osl);
  r.input_tokens = static_cast<double>(w.requests * w.isl);
}

}  // namespace

ClosedFormResult closed_form(const StepModel& steps, const EngineProfile& engine,
                             const ParallelPlan& plan, const ClosedFormWorkload& w,
                             std::int64_t capacity, bool with_terms) {
  const Wave wave(steps, engine, plan, w);
  ClosedFormResult r;
  r.running = std::max<std::int64_t>(
      1, std::min({w.requests, capacity, engine.scheduler.max_num_seqs * plan.dp}));
  const Overheads host = overheads_of(engine, plan, w, r.running);
  const double middle = static_cast<double>(w.isl) + static_cast<double>(w.osl - 1) / 2;
  if (w.osl > 1) r.decode_step = wave.decode(r.running, middle, with_terms);
  r.computed.decode_steps = static_cast<double>(w.osl - 1);
  r.computed.decode_batches = static_cast<double>(std::min<std::int64_t>(r.running, plan.pp));
  if (w.closed_loop) {
    add_closed_loop(wave, engine, w, host, with_terms, r);
  } else {
    add_waves(wave, w, host, with_terms, r);
  }
  return r;
}

}  // namespace orrery
