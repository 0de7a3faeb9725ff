#include "orrery/scenario/steady/steady_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "orrery/memory/memory_model.h"
#include "orrery/scenario/answer/advice.h"
#include "orrery/scenario/bounds/physical_bounds.h"
#include "orrery/scenario/steady/step_trace.h"
#include "orrery/serving/closed_form/closed_form.h"
#include "orrery/step/step_model.h"

namespace orrery {
namespace {

constexpr double kMs = 1e-3;

void add_terms(Point& point, const char* phase, const StepTime& step) {
  const double whole = step.total.value.value();
  for (const StepTerm& t : step.terms) {
    KernelRow row{phase,
                  std::string(t.op.name),
                  std::string(to_text(t.op.part)),
                  describe(t.op.op),
                  t.op.count,
                  t.time,
                  0,
                  std::string(to_text(t.bound)),
                  t.of_peak,
                  attends(t.op.op)};
    row.share = whole > 0 ? t.time.value.value() / whole : 0;
    point.kernels.push_back(std::move(row));
  }
  if (step.exposed > Seconds(0)) {
    KernelRow row{phase,
                  step.host >= step.exposed ? "host" : "launches and host",
                  "host",
                  "",
                  1,
                  {step.exposed, 0.25, 0, Origin::kFitted},
                  step.exposed.value() / whole,
                  "host",
                  0};
    point.kernels.push_back(std::move(row));
  }
}

void add_memory(Point& point, const MemoryBreakdown& m) {
  for (const MemoryItem& item : m.items())
    point.memory.push_back({std::string(item.name), item.size});
  point.memory.push_back({"reserve", m.reserve});
  point.memory_capacity = m.capacity;
}

// One point of a sweep within a layout.
struct Load {
  std::int64_t isl, osl, batch;
};

std::vector<Load> loads_of(const Scenario::Workload& w) {
  std::vector<Load> loads;
  for (std::int64_t isl : w.isl) {
    for (std::int64_t osl : w.osl) {
      for (std::int64_t batch : w.batch) loads.push_back({isl, osl, batch});
    }
  }
  return loads;
}

void check_load(const Load& load, const Scenario::Workload& w, const Architecture& model) {
  if (load.isl <= w.past) {
    throw InputError(fmt::format("workload.past: {} cached tokens leave nothing of a prompt of {}",
                                 w.past, load.isl));
  }
  if (model.kind == Kind::kEncoder && load.osl > 1) {
    throw InputError(
        fmt::format("workload.osl: {} is an encoder and generates nothing; ask for 1", model.id));
  }
}

// What the questions of one layout share.
struct Layout {
  const Scenario& scenario;
  const Architecture& model;
  const Deployment& deployment;
  const ParallelPlan& plan;
  const MemoryModel& memory;
  const StepModel& steps;
};

// Sequences that are decoded together: by what each holds on average while it is decoded, or by the
// whole length where the engine reserves it.
std::int64_t capacity_of(const Layout& layout, const Load& load, std::int64_t length) {
  const bool paged = layout.deployment.engine.memory.paged;
  return layout.memory.max_concurrency(paged ? load.isl + load.osl / 2 : length);
}

std::string too_long(const MemoryModel& memory, std::int64_t length) {
  return fmt::format("one request of {} tokens needs {} of KV cache; {} are left", length,
                     to_text(memory.kv_per_sequence(length)), to_text(memory.kv_pool()));
}

void answer_memory(const Layout& layout, const Load& load, std::int64_t length, Point& p) {
  const std::int64_t full = layout.memory.max_concurrency(length);
  const MemoryBreakdown held =
      layout.memory.load(std::clamp<std::int64_t>(full, 1, load.batch), load.isl + load.osl,
                         layout.scenario.workload.max_model_len);
  add_memory(p, held);
  p.metrics.push_back(exact_metric("memory", "GB per GPU", held.total().value() / 1e9));
  p.metrics.push_back(exact_metric("weights", "GB per GPU", held.weights.value() / 1e9));
  p.metrics.push_back(
      exact_metric("kv_cache_per_request", "GB", layout.memory.kv_of_model(length).value() / 1e9));
  p.metrics.push_back(exact_metric("max_concurrency", "requests", static_cast<double>(full)));
  if (full > 0) return;
  // The shortest requests may fit where the longest does not.
  p.feasibility = {false, held.fits() ? too_long(layout.memory, length) : held.summary()};
}

// The size of the KV cache and the concurrency that vLLM logs when it starts, of all data-parallel
// ranks together. vLLM counts for each request the blocks that `length` tokens may need at once.
void add_kv_cache_size(const Layout& layout, std::int64_t length, Point& p) {
  const EngineProfile& engine = layout.deployment.engine;
  const std::int64_t blocks = layout.memory.kv_blocks() * layout.plan.dp;
  if (!engine.memory.paged || blocks < 1) return;
  const KvGroups& groups = layout.memory.groups();
  const std::int64_t block = engine.memory.block_size;
  const std::int64_t tokens = blocks / (groups.separate_pools() ? 1 : groups.count()) * block;
  const std::int64_t needed = groups.enough(length, engine.scheduler.max_num_batched_tokens, block);
  p.metrics.push_back(exact_metric("kv_tokens", "tokens", static_cast<double>(tokens)));
  p.metrics.push_back(exact_metric("request_tokens", "tokens", static_cast<double>(length)));
  p.metrics.push_back(exact_metric("kv_concurrency", "requests",
                                   static_cast<double>(blocks) / static_cast<double>(needed)));
}

void answer_time(const Layout& layout, const Load& load, std::int64_t capacity,
                 const RunOptions& options, Point& p) {
  const auto& w = layout.scenario.workload;
  const ClosedFormWorkload steady{load.batch,    load.isl,        load.osl,           w.past,
                                  w.closed_loop, w.equal_lengths, w.requests_per_user};
  const ClosedFormResult r = closed_form(layout.steps, layout.deployment.engine, layout.plan,
                                         steady, capacity, options.breakdown);
  const bool decodes = load.osl > 1;
  p.metrics.push_back(metric("ttft", "ms", r.ttft, kMs));
  if (decodes) p.metrics.push_back(metric("tpot", "ms", r.tpot, kMs));
  p.metrics.push_back(metric("e2e", "ms", r.e2e, kMs));
  p.metrics.push_back(metric("prefill_time", "ms", r.prefill, kMs));
  p.metrics.push_back(rate_metric("output_throughput", "tokens/s", r.output_tokens, r.makespan));
  p.metrics.push_back(
      rate_metric("total_throughput", "tokens/s", r.output_tokens + r.input_tokens, r.makespan));
  p.metrics.push_back(rate_metric("request_throughput", "requests/s",
                                  r.output_tokens / static_cast<double>(load.osl), r.makespan));
  if (!options.breakdown) return;
  add_terms(p, "prefill", r.prefill_step);
  if (decodes) add_terms(p, "decode", r.decode_step);
  if (options.chakra) {
    p.chakra.emplace_back("prefill", chakra_step(r.prefill_step, layout.plan));
    if (decodes) p.chakra.emplace_back("decode", chakra_step(r.decode_step, layout.plan));
  }
  p.limit = advice(p, decodes ? "decode" : "prefill");
}

Point answer_point(const Layout& layout, const Load& load, const RunOptions& options, Point p) {
  const auto& w = layout.scenario.workload;
  check_load(load, w, layout.model);
  p.notes = layout.deployment.notes;
  const int kv_heads = layout.scenario.model_overrides.kv_heads;
  if (kv_heads > 0)
    p.notes.push_back(fmt::format("a variant of the model with {} KV heads", kv_heads));
  const std::int64_t length = std::max(w.max_model_len, load.isl + load.osl);
  if (layout.model.max_context > 0 && length > layout.model.max_context) {
    p.notes.push_back(fmt::format("{} tokens are more than the {} that the model was made for",
                                  length, layout.model.max_context));
  }
  answer_memory(layout, load, length, p);
  if (options.memory_only) add_kv_cache_size(layout, length, p);
  const auto bounded = [&](Point point) {
    if (options.bounds)
      bound_requests({layout.model, layout.plan, layout.deployment, layout.memory}, load.isl,
                     load.osl, w.past, load.batch, point);
    return point;
  };
  if (!p.feasibility.fits) return bounded(std::move(p));
  const std::int64_t capacity = capacity_of(layout, load, length);
  if (load.batch > capacity) {
    p.notes.push_back(fmt::format("memory holds {} of the {} requests at a time; the others wait",
                                  capacity, load.batch));
  }
  if (!options.memory_only) answer_time(layout, load, capacity, options, p);
  return bounded(std::move(p));
}

}  // namespace

Answer answer_steady(Facts& facts, const Scenario& scenario, const Architecture& model,
                     const Deployment& base, const RunOptions& options) {
  const std::vector<Load> loads = loads_of(scenario.workload);
  Answer answer;
  answer.scenario = scenario.name;
  answer.resolved = base.resolved(scenario);

  const std::size_t layouts = scenario.parallel.tp.size() * scenario.parallel.pp.size();
  for (std::int64_t tp : scenario.parallel.tp) {
    for (std::int64_t pp : scenario.parallel.pp) {
      const ParallelPlan plan{static_cast<int>(tp), static_cast<int>(pp), scenario.parallel.dp,
                              scenario.parallel.ep};
      auto at = [&](const Load& load) {
        Point p;
        p.at = {{"model", model.id}, {"gpu", base.gpu.id}, {"gpus", plan.devices()},
                {"tp", tp},          {"pp", pp},           {"isl", load.isl},
                {"osl", load.osl},   {"batch", load.batch}};
        return p;
      };
      try {
        check_plan(model, plan, base.precision);
      } catch (const Infeasible& e) {
        if (layouts == 1) throw;
        for (const Load& load : loads) {
          answer.points.push_back(at(load));
          answer.points.back().feasibility = {false, e.what()};
        }
        continue;
      }
      const MemoryModel memory(model, plan, base.precision, base.engine, base.gpu);
      const StepModel steps(
          model, plan, base.precision, base.engine,
          facts.kernels(base.gpu, base.classes, options.tier),
          facts.network(base.gpu, scenario.hardware.node, plan, base.engine.kernels.collectives),
          scenario.workload.expert_skew);
      const Layout layout{scenario, model, base, plan, memory, steps};
      for (const Load& load : loads) {
        answer.points.push_back(answer_point(layout, load, options, at(load)));
      }
    }
  }
  return answer;
}

}  // namespace orrery
