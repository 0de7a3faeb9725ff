#include "orrery/planner/answer/plan_point.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "orrery/base/error.h"
#include "orrery/planner/answer/closest.h"
#include "orrery/planner/question/plan_question.h"
#include "orrery/planner/search/spares.h"

namespace orrery {
namespace {

// The spare engines that plan.availability asks for.
std::string spare_note(const PlanChoice& plan, const FleetPlan& f) {
  if (plan.availability <= 0 || f.decode) return "";
  const double u = down_share(f.engine.gpus(), plan.repair);
  return fmt::format(
      "{} of {} engines may be down: the others are enough, and there for {:.8g} % of the time",
      f.spare, f.engines, 100 * share_of_time(f.engines - f.spare, f.spare, u));
}

}  // namespace

double to_four_digits(double v) { return std::stod(fmt::format("{:.4g}", v)); }

std::string counted(const std::map<std::string, std::int64_t>& reasons) {
  std::string out;
  for (const auto& [reason, n] : reasons)
    out += fmt::format("{}{}: {}", out.empty() ? "" : "; ", n, reason);
  return out;
}

void check_lengths(const Scenario& question, const Architecture& model, const PlannedLoad& load) {
  const std::int64_t own = question.workload.max_model_len;
  const std::int64_t context = own > 0 ? own : model.max_context;
  if (context <= 0 || load.longest <= context) return;
  throw Infeasible(fmt::format(
      "the load has a request of {} tokens, and {} takes {} ({}): no engine can serve all of it",
      load.longest, question.model, context,
      own > 0 ? "workload.max_model_len" : "the context that it was made for"));
}

Point point_of(const Proof& proof, const Scenario& question) {
  const FleetPlan& f = proof.raced.fleet;
  const ParallelPlan& layout = f.engine.layout;
  Point p = proof.point;
  p.at = {{"model", p.at.at("model")},
          {"gpu", f.engine.gpu.gpu},
          {"gpus", f.gpus()},
          {"engine", f.engine.engine},
          {"format", f.engine.format.empty() ? "checkpoint" : f.engine.format},
          {"engines", f.engines},
          {"tp", layout.tp},
          {"pp", layout.pp},
          {"dp", layout.dp},
          {"ep", layout.ep}};
  if (f.engine.boards.limit) p.at["power_limit"] = to_four_digits(f.engine.boards.limit->value());
  if (f.engine.boards.clock) p.at["clock"] = to_four_digits(f.engine.boards.clock->value() / 1e6);
  if (f.engine.max_num_seqs > 0) p.at["max_num_seqs"] = f.engine.max_num_seqs;
  if (f.engine.max_num_batched_tokens > 0)
    p.at["max_num_batched_tokens"] = f.engine.max_num_batched_tokens;
  if (layout.cp > 1) p.at["cp"] = layout.cp;
  if (!f.engine.prefix_caching) p.at["prefix_caching"] = "off";
  if (f.engine.speculation.on()) p.at["speculation"] = f.engine.speculation.method;
  if (f.decode) {
    p.at["decode_engines"] = f.decode_engines;
    const ParallelPlan& decode = f.decode->layout;
    p.at["decode_tp"] = decode.tp, p.at["decode_pp"] = decode.pp;
    p.at["decode_dp"] = decode.dp, p.at["decode_ep"] = decode.ep;
  }
  p.at["rate"] = to_four_digits(proof.raced.rate);
  const std::vector<Metric> metrics = {exact_metric("chance", 100 * proof.chance),
                                       exact_metric("headroom", proof.headroom)};
  if (!proof.brief) p.metrics.insert(p.metrics.begin(), metrics.begin(), metrics.end());
  std::vector<std::string> notes = {"plan: " + f.name()};
  if (std::string spare = spare_note(planned(question).choice, f); !spare.empty())
    notes.push_back(std::move(spare));
  const auto& service = planned(question).service;
  if (const auto limit = nearest_limit(service.slo, p))
    notes.push_back(fmt::format("closest limit: {} is {:.4g} of {:.4g} ms", limit->metric,
                                limit->value, limit->limit));
  // The simulation's own notes say which prices, formats and settings were assumed.
  p.notes.insert(p.notes.begin(), notes.begin(), notes.end());
  return p;
}

}  // namespace orrery
