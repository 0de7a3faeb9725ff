#include "orrery/scenario/question/plan_question.h"

#include <fmt/format.h>

#include <charconv>

#include "orrery/base/error.h"

namespace orrery {
namespace {

constexpr double kMostGpus = 1'000'000;

}  // namespace

const std::vector<std::string>& plan_objective_names() {
  static const std::vector<std::string> names = {"cost", "gpus", "energy", "throughput"};
  return names;
}

GpuStock GpuStock::parse(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == text.npos) return {std::string(text), 0};
  const std::string_view number = text.substr(colon + 1);
  GpuStock stock{std::string(text.substr(0, colon)), 0};
  const auto [end, error] =
      std::from_chars(number.data(), number.data() + number.size(), stock.gpus);
  if (error != std::errc() || end != number.data() + number.size() || stock.gpus < 1)
    throw InputError(fmt::format(
        "plan.gpu {}: expected the number of GPUs after the colon, as in h200-sxm:64", text));
  return stock;
}

void declare(Fields& f, PlanChoice& p) {
  f.add("gpu", p.gpu, "types of GPUs to choose from, each with how many there are: h200-sxm:64")
      .repeats();
  f.add_enum("objective", p.objective, plan_objective_names(),
             "what the best plan has least of, at the rate of the load; throughput: the highest "
             "rate that plan.gpus or plan.budget can take");
  f.add("gpus", p.gpus, "most GPUs of a plan; 0: no limit").range(0, kMostGpus);
  f.add("budget", p.budget, "most USD that a plan may cost in a month (730 hours); 0: no limit")
      .range(0, 1e12);
  f.add("engines", p.engines, "engines to choose from").repeats();
  f.add("formats", p.formats,
        "formats of the weights to choose from; checkpoint: as the model is published")
      .repeats();
  f.add("modes", p.modes,
        "aggregated: every engine does prefill and decode; disaggregated: each does one of them")
      .one_of({"aggregated", "disaggregated"})
      .repeats();
  f.add("tp", p.tp, "tensor-parallel ranks to choose from; none: 1, 2, 4, ... up to engine_gpus")
      .range(1, kMostGpus);
  f.add("pp", p.pp, "pipeline stages to choose from; none: 1, and 2 where tp fills a node")
      .range(1, kMostGpus);
  f.add("engine_gpus", p.engine_gpus, "most GPUs of one engine; 0: those of a node")
      .range(0, kMostGpus);
  f.add("confidence", p.confidence,
        "fleets are tried with every step at this quantile of its time, so that limits hold for "
        "slower steps than predicted too")
      .range(50, 99)
      .unit("%");
  f.add("spare", p.spare, "engines of each pool that may be lost while the limits hold (N+1: 1)")
      .range(0, 1000);
  f.add("top", p.top, "number of plans, each of another engine or layout, that are proved")
      .range(1, 20);
  f.add("exhaustive", p.exhaustive,
        "simulate every candidate instead of those that can win; the plans are the same");
}

}  // namespace orrery
