#include "orrery/planner/space/fleet_plan.h"

#include <fmt/format.h>

#include "orrery/planner/question/plan_question.h"
#include "orrery/planner/space/board_settings.h"
#include "orrery/scenario/kinds/service/service_question.h"

namespace orrery {
namespace {

std::string layout_name(const EngineOption& e) {
  std::string out = fmt::format("tp {}", e.tp);
  for (const auto& [what, ranks] :
       {std::pair{"pp", e.pp}, {"dp", e.dp}, {"ep", e.ep}, {"cp", e.cp}})
    if (ranks > 1) out += fmt::format(" {} {}", what, ranks);
  if (e.max_num_seqs > 0) out += fmt::format(", {} sequences", e.max_num_seqs);
  if (e.max_num_batched_tokens > 0)
    out += fmt::format(", {} tokens a step", e.max_num_batched_tokens);
  if (!e.prefix_caching) out += ", no prefix caching";
  if (e.speculation.on()) out += fmt::format(", speculation {}", e.speculation.method);
  return out;
}

// The keys of a scheduler that an option sets, as engine.overrides has them.
Node scheduler_keys(const EngineOption& e) {
  std::string keys;
  for (const auto& [key, n] : {std::pair{"max_num_seqs", e.max_num_seqs},
                               {"max_num_batched_tokens", e.max_num_batched_tokens}})
    if (n > 0) keys += fmt::format("{}{}: {}", keys.empty() ? "" : ", ", key, n);
  if (!e.prefix_caching) keys += fmt::format("{}prefix_caching: false", keys.empty() ? "" : ", ");
  return keys.empty() ? Node() : parse_yaml("scheduler: {" + keys + "}", "plan");
}

}  // namespace

std::string EngineOption::name() const {
  return fmt::format("{} {}, {}, {}, {}{}", gpus(), gpu.gpu, engine,
                     format.empty() ? "checkpoint" : format, layout_name(*this),
                     to_text(PowerKnobs{power_limit, clock}));
}

bool EngineOption::pairs_with(const EngineOption& o) const {
  return gpu.gpu == o.gpu.gpu && engine == o.engine && format == o.format &&
         power_limit == o.power_limit && clock == o.clock && max_num_seqs == o.max_num_seqs &&
         max_num_batched_tokens == o.max_num_batched_tokens && prefix_caching == o.prefix_caching &&
         speculation.method == o.speculation.method && cp == 1 && o.cp == 1;
}

Scenario EngineOption::asked(const Scenario& question) const {
  Scenario s = question;
  s.hardware.gpu = gpu.gpu;
  s.hardware.power_limit = power_limit, s.hardware.clock = clock;
  s.engine.profile = engine;
  // A plan is started by the flags that it prints, as a recipe is.
  s.engine.setup = "tuned";
  s.engine.overrides = scheduler_keys(*this);
  s.precision.quantization = format;
  s.parallel.tp = tp, s.parallel.pp = pp, s.parallel.dp = dp, s.parallel.ep = ep;
  s.parallel.cp = cp;
  planned(s).service.speculation = speculation;
  return s;
}

std::int64_t FleetPlan::gpus() const {
  return engines * engine.gpus() + (decode ? decode_engines * decode->gpus() : 0);
}

std::string FleetPlan::name() const {
  if (!decode) return fmt::format("{} x ({})", engines, engine.name());
  return fmt::format("prefill {} x ({}), decode {} x ({})", engines, engine.name(), decode_engines,
                     decode->name());
}

FleetPlan FleetPlan::at_work() const {
  FleetPlan out = *this;
  out.engines -= spare, out.decode_engines -= decode_spare;
  out.spare = out.decode_spare = 0;
  return out;
}

Scenario FleetPlan::service(const Scenario& question) const {
  Scenario s = engine.asked(question);
  ServiceQuestion service = planned(s).service;
  service.cluster.replicas = engines;
  service.cluster.router = "least-outstanding";
  if (decode) {
    service.cluster.disaggregation.decode = fmt::format(
        "{}:tp{}:pp{}:dp{}:ep{}", decode_engines, decode->tp, decode->pp, decode->dp, decode->ep);
  }
  s.asked = std::move(service);
  return s;
}

}  // namespace orrery
