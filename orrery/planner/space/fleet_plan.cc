#include "orrery/planner/space/fleet_plan.h"

#include <fmt/format.h>

#include "orrery/planner/question/plan_question.h"
#include "orrery/planner/space/board_settings.h"
#include "orrery/scenario/kinds/service/service_question.h"

namespace orrery {
namespace {

std::string layout_name(const EngineOption& e) {
  const ParallelPlan& l = e.layout;
  std::string out = fmt::format("tp {}", l.tp);
  for (const auto& [what, ranks] :
       {std::pair{"pp", l.pp}, {"dp", l.dp}, {"ep", l.ep}, {"cp", l.cp}})
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
  Node keys;
  const auto set = [&keys](std::string_view path, std::string value) {
    set_path(keys, path, scalar_node(std::move(value), "plan"));
  };
  if (e.max_num_seqs > 0) set("scheduler.max_num_seqs", std::to_string(e.max_num_seqs));
  if (e.max_num_batched_tokens > 0)
    set("scheduler.max_num_batched_tokens", std::to_string(e.max_num_batched_tokens));
  if (!e.prefix_caching) set("scheduler.prefix_caching", "false");
  return keys;
}

}  // namespace

std::string EngineOption::name() const {
  return fmt::format("{} {}, {}, {}, {}{}", gpus(), gpu.gpu, engine,
                     format.empty() ? "checkpoint" : format, layout_name(*this), to_text(boards));
}

bool EngineOption::pairs_with(const EngineOption& o) const {
  return gpu.gpu == o.gpu.gpu && engine == o.engine && format == o.format && boards == o.boards &&
         max_num_seqs == o.max_num_seqs && max_num_batched_tokens == o.max_num_batched_tokens &&
         prefix_caching == o.prefix_caching && speculation.method == o.speculation.method &&
         layout.cp == 1 && o.layout.cp == 1;
}

Scenario EngineOption::asked(const Scenario& question) const {
  Scenario s = question;
  s.hardware.gpu = gpu.gpu;
  s.hardware.power_limit = boards.limit, s.hardware.clock = boards.clock;
  s.engine.profile = engine;
  // A plan is started by the flags that it prints, as a recipe is.
  s.engine.setup = "tuned";
  s.engine.overrides = scheduler_keys(*this);
  s.precision.quantization = format;
  s.parallel = layout;
  s.parallel.experts = question.parallel.experts;
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
    const ParallelPlan& l = decode->layout;
    PoolChoice& pool = service.cluster.disaggregation.decode.emplace();
    pool.engines = decode_engines;
    pool.tp = l.tp, pool.pp = l.pp, pool.dp = l.dp, pool.ep = l.ep;
  }
  s.asked = std::move(service);
  return s;
}

}  // namespace orrery
