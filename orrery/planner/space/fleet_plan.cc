#include "orrery/planner/space/fleet_plan.h"

#include <fmt/format.h>

#include "orrery/planner/space/board_settings.h"

namespace orrery {
namespace {

std::string layout_name(const EngineOption& e) {
  std::string out = fmt::format("tp {}", e.tp);
  for (const auto& [what, ranks] : {std::pair{"pp", e.pp}, {"dp", e.dp}, {"ep", e.ep}})
    if (ranks > 1) out += fmt::format(" {} {}", what, ranks);
  return out;
}

}  // namespace

std::string EngineOption::name() const {
  return fmt::format("{} {}, {}, {}, {}{}", gpus(), gpu.gpu, engine,
                     format.empty() ? "checkpoint" : format, layout_name(*this),
                     to_text(PowerKnobs{power_limit, clock}));
}

Scenario EngineOption::asked(const Scenario& question) const {
  Scenario s = question;
  s.hardware.gpu = gpu.gpu;
  s.hardware.power_limit = power_limit, s.hardware.clock = clock;
  s.engine.profile = engine;
  // A plan is started by the flags that it prints, as a recipe is.
  s.engine.setup = "tuned";
  s.precision.quantization = format;
  s.parallel.tp = tp, s.parallel.pp = pp, s.parallel.dp = dp, s.parallel.ep = ep;
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
  ServiceQuestion service = question.as<PlanQuestion>().service;
  service.cluster.replicas = engines;
  service.cluster.router = "least-outstanding";
  if (decode) {
    service.cluster.disaggregation.decode = fmt::format(
        "{}:tp{}:pp{}:dp{}:ep{}", decode_engines, decode->tp, decode->pp, decode->dp, decode->ep);
  }
  Scenario s = engine.asked(question);
  s.asked = std::move(service);
  return s;
}

}  // namespace orrery
