#include "orrery/planner/search/first_stage.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "orrery/planner/question/plan_question.h"
#include "orrery/planner/search/spares.h"
#include "orrery/planner/space/question_keys.h"
#include "orrery/planner/space/space.h"
#include "orrery/planner/store/result_key.h"
#include "orrery/planner/store/value_bytes.h"
#include "orrery/serving/profile/engine_profile.h"

namespace orrery {
namespace {

constexpr std::int64_t kNoLimit = 100'000;  // engines
constexpr std::size_t kOfTask = 4;          // engines that a rank bounds at once

// Beside the engine and the question, what engine_bound() reads of the load.
std::string bound_of(const EngineOption& option, const PlannedLoad& load) {
  return fmt::format("bound, {}, {} {} {} {}", option.name(), exact_number(load.isl),
                     exact_number(load.osl), load.equal, load.shares_prompts);
}

EngineBound known_bound(SearchContext& context, QuestionKeys& keys, Runner& runner,
                        const Scenario& question, const EngineOption& option,
                        const PlannedLoad& load) {
  EngineBound out;
  const auto numbers = [&out] {
    return std::array{&out.prefill, &out.decode, &out.likely, &out.hour, &out.ttft, &out.tpot};
  };
  const std::string value =
      context.value([&] { return keys.key(bound_of(option, load), option.gpu.gpu); },
                    [&] {
                      out = engine_bound(runner, question, option, load);
                      ValueWriter bytes;
                      bytes.text(out.misfit);
                      for (const double* x : numbers()) bytes.real(*x);
                      return bytes.take();
                    });
  ValueReader in(value);
  out.misfit = in.text();
  for (double* x : numbers()) *x = in.real();
  return out;
}

// The engines of the question that cache prefixes, where prompts of the load begin alike.
std::set<std::string> caching_engines(const Runner& runner, const Scenario& question,
                                      const PlannedLoad& load) {
  std::set<std::string> out;
  if (!load.repeats_prompts) return out;
  for (const std::string& engine : planned(question).choice.engines)
    if (load_engine(engine, runner.bundle()).scheduler.prefix_caching) out.insert(engine);
  return out;
}

// Takes out the options whose engine does not run on the GPUs of their vendor, if there are others;
// where there are none, the first bound has the message.
std::int64_t take_out_foreign(const Runner& runner, std::vector<EngineOption>& options) {
  std::map<std::pair<std::string, std::string>, bool> known;  // by engine and GPU
  const auto foreign = [&](const EngineOption& o) {
    const auto [at, is_new] = known.try_emplace({o.engine, o.gpu.gpu}, false);
    if (is_new)
      at->second =
          !runs_on(load_engine(o.engine, runner.bundle()), runner.catalog().gpu(o.gpu.gpu));
    return at->second;
  };
  const auto n = std::count_if(options.begin(), options.end(), foreign);
  if (n == static_cast<std::ptrdiff_t>(options.size())) return 0;
  std::erase_if(options, foreign);
  return n;
}

}  // namespace

FirstStage first_stage(Runner& runner, const Scenario& question, const PlannedLoad& load,
                       SearchContext& context) {
  FirstStage out;
  const Architecture& model = runner.architecture(question.model);
  std::vector<EngineOption> options =
      engine_options(question, runner.catalog(), model, caching_engines(runner, question, load));
  if (const std::int64_t foreign = take_out_foreign(runner, options); foreign > 0) {
    out.considered += foreign;
    out.rejected["the engine does not run on GPUs of this vendor"] = foreign;
  }
  QuestionKeys keys(question);
  const auto bound = [&](std::size_t i) {
    return known_bound(context, keys, runner, question, options[i], load);
  };
  const auto ahead = [&](std::size_t task, double) {
    const std::size_t end = std::min(options.size(), (task + 1) * kOfTask);
    for (std::size_t i = task * kOfTask; i < end; ++i) bound(i);
  };
  context.together(
      "engines", (options.size() + kOfTask - 1) / kOfTask, ahead,
      [&] {
        for (std::size_t i = 0; i < options.size(); ++i) {
          if (i % kOfTask == 0) context.reach(i / kOfTask);
          ++out.considered;
          EngineBound found = bound(i);
          if (!found.misfit.empty()) {
            ++out.rejected[found.misfit];
          } else {
            out.options.push_back({std::move(options[i]), std::move(found)});
          }
        }
      },
      Deal::kFromEnd);
  return out;
}

std::int64_t most_engines(const PlanChoice& plan, const RatedOption& rated, std::int64_t gpus_taken,
                          double hour_taken) {
  const std::int64_t size = rated.option.gpus();
  std::int64_t most = kNoLimit;
  for (const std::int64_t gpus : {plan.gpus, rated.option.gpu.gpus})
    if (gpus > 0) most = std::min(most, (gpus - gpus_taken) / size);
  if (plan.budget > 0) {
    const double hour = plan.budget / kHoursOfMonth - hour_taken;
    most = std::min(most, static_cast<std::int64_t>(std::floor(hour / rated.bound.hour + 1e-9)));
  }
  if (most < kNoLimit || plan.spare > 0) {
    std::int64_t engines = std::max<std::int64_t>(0, most - plan.spare);
    while (engines > 0 && engines + spares(plan, rated.option, engines) > most) --engines;
    return engines;
  }
  return most;
}

}  // namespace orrery
