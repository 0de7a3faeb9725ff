#include "orrery/planner/bound/engine_bound.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "orrery/base/error.h"
#include "orrery/planner/question/plan_question.h"
#include "orrery/scenario/kinds/service/service_question.h"
#include "orrery/scenario/kinds/service/techniques.h"

namespace orrery {
namespace {

constexpr double kStep = 1.25;  // ratio of the batches that are tried
constexpr std::int64_t kMostBatch = 4096;

double value(const Point& p, std::string_view name) {
  const Metric* m = p.find(name);
  return m == nullptr ? 0 : m->value;
}

// The fixed batches of an option, with the mean lengths of the load.
class Batches {
 public:
  Batches(Runner& runner, const Scenario& question, const EngineOption& option,
          const PlannedLoad& load)
      : runner_(runner), scenario_(option.asked(question)) {
    SteadyQuestion steady;
    steady.isl = std::max<std::int64_t>(1, std::llround(load.isl));
    steady.osl = std::max<std::int64_t>(1, std::llround(load.osl));
    scenario_.asked = steady;
  }

  Point at(std::int64_t batch, bool memory_only) {
    scenario_.ask<SteadyQuestion>().batch = batch;
    RunOptions options;
    options.breakdown = options.resolved = false;
    options.memory_only = memory_only;
    options.intervals = false;
    return runner_.run(scenario_, options).points.front();
  }

 private:
  Runner& runner_;
  Scenario scenario_;
};

// Tokens that a step makes of a sequence.
struct TokensOfStep {
  double mean = 1;  // over many steps and requests, at most
  double most = 1;
};

TokensOfStep tokens_of_step(const SpeculationChoice& choice) {
  TokensOfStep out;
  if (!choice.on()) return out;
  Speculation s = choice.engine(0);
  for (double& a : s.acceptance) a = std::min(1.0, a * (1 + s.spread));
  out.mean = tokens_per_verification(s);
  out.most = 1.0 + s.drafts;
  return out;
}

// Why a speculation does not go with an engine, by the simulation of one request; empty: it does.
std::string misfit_of_drafter(Runner& runner, const Scenario& question, const EngineOption& option,
                              const PlannedLoad& load) {
  Scenario s = option.asked(question);
  ServiceQuestion service;
  service.requests = 1;
  service.isl = std::to_string(std::max<std::int64_t>(1, std::llround(load.isl)));
  service.osl = "2";
  service.speculation = option.speculation;
  s.asked = std::move(service);
  RunOptions options;
  options.breakdown = options.resolved = options.intervals = false;
  try {
    const bool fits = runner.run(s, options).points.front().feasibility.fits;
    return fits ? "" : "it does not fit in memory with its drafter";
  } catch (const Infeasible&) {
    return "its memory or its layout does not hold its drafter";
  } catch (const NoData& e) {
    return e.what();
  }
}

struct StepLimit {
  double decode = std::numeric_limits<double>::infinity();  // ms
  double prefill = std::numeric_limits<double>::infinity();
  double usual = std::numeric_limits<double>::infinity();  // decode, with the limits of classes
};

// The limits that a step of at least half of the requests must keep by itself.
StepLimit step_limit(const ServiceLevels& slo, const PlannedLoad& load, bool caches) {
  constexpr double kHalf = 50;
  const auto counts = [&slo](Seconds limit, const std::optional<double>& percentile) {
    return limit > Seconds(0) && percentile.value_or(slo.percentile) >= kHalf;
  };
  const Seconds ms = milliseconds(1);
  StepLimit out;
  if (counts(slo.tpot, slo.tpot_percentile)) out.decode = slo.tpot / ms;
  if (counts(slo.e2e, slo.e2e_percentile) && load.equal)
    out.decode = std::min(out.decode, slo.e2e / ms / load.osl);
  if (counts(slo.ttft, slo.ttft_percentile) && load.equal && !(load.shares_prompts && caches))
    out.prefill = slo.ttft / ms;
  out.usual = out.decode;
  for (const SloClass& c : slo.classes)
    if (c.tpot > Seconds(0)) out.usual = std::min(out.usual, c.tpot / ms);
  return out;
}

}  // namespace

EngineBound engine_bound(Runner& runner, const Scenario& question, const EngineOption& option,
                         const PlannedLoad& load) {
  EngineBound out;
  Batches batches(runner, question, option, load);
  StepLimit limit = step_limit(planned(question).service.slo, load, option.prefix_caching);
  const TokensOfStep tokens = tokens_of_step(option.speculation);
  limit.decode *= tokens.most, limit.usual *= tokens.mean;
  try {
    const Point one = batches.at(1, false);
    if (!one.feasibility.fits) {
      out.misfit = "it does not fit in memory";
      return out;
    }
    out.hour = value(one, "cost_per_hour");
    out.ttft = value(one, "ttft"), out.tpot = value(one, "tpot") / tokens.most;
    if (out.ttft > limit.prefill) {
      out.misfit = "the first token of a request alone is later than slo.ttft";
      return out;
    }
    if (value(one, "tpot") > limit.decode) {
      out.misfit = "a token of a request alone takes longer than the limits";
      return out;
    }
    if (option.speculation.on()) {
      out.misfit = misfit_of_drafter(runner, question, option, load);
      if (!out.misfit.empty()) return out;
    }
    const auto capacity =
        std::min<std::int64_t>(kMostBatch, std::llround(value(one, "max_concurrency")));
    const double longer = (load.isl + load.osl) / (load.isl + load.osl / 2);
    std::int64_t last = 0;
    double last_prefill = 0, last_step = 0;
    for (double at = 1;; at *= kStep) {
      const auto b = std::min<std::int64_t>(capacity, std::llround(std::ceil(at)));
      const Point p = b == 1 ? one : batches.at(b, false);
      const auto n = static_cast<double>(b);
      const double prefill = value(p, "prefill_time") / 1e3, step = value(p, "tpot") / 1e3;
      // The engine takes no more sequences at once than in the batch before: the rest of them wait.
      if (b > last && prefill == last_prefill && step == last_step) break;
      last = b, last_prefill = prefill, last_step = step;
      out.prefill = std::max(out.prefill, kSlack * n / prefill);
      const double steps = load.osl / tokens.mean;  // of a request
      out.decode =
          std::max(out.decode, kSlack * (b == capacity ? longer : 1.0) * n / (steps * step));
      const double mixed = step + prefill / n * (n - 1) / steps;
      if (mixed * 1e3 <= limit.usual)
        out.likely = std::max(out.likely, n / (prefill + steps * step));
      if (b == capacity || step * 1e3 > limit.decode) break;
    }
    if (load.shares_prompts && option.prefix_caching)
      out.prefill = std::numeric_limits<double>::infinity();
    if (out.likely <= 0) out.likely = out.most() / 2;
  } catch (const Infeasible&) {
    out.misfit = "the layout breaks a rule of the model";
  } catch (const NoData&) {
    out.misfit = "no data for this combination";
  }
  return out;
}

}  // namespace orrery
