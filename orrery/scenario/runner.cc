#include "orrery/scenario/runner.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "orrery/hardware/cluster.h"
#include "orrery/memory/memory_model.h"
#include "orrery/model/catalog.h"
#include "orrery/model/parameters.h"
#include "orrery/network/collectives/make_network.h"
#include "orrery/scenario/advice.h"
#include "orrery/scenario/deployment.h"
#include "orrery/scenario/physical_bounds.h"
#include "orrery/scenario/scenario_sweep.h"
#include "orrery/scenario/step_trace.h"
#include "orrery/serving/closed_form/closed_form.h"
#include "orrery/step/step_model.h"

namespace orrery {
namespace {

constexpr double kMs = 1e-3;
constexpr double kMostPoints = 100'000;  // of a sweep: some seconds and a gigabyte with breakdowns

bool has_experts(const Architecture& model) {
  const auto& specs = model.layers.specs();
  return std::any_of(specs.begin(), specs.end(),
                     [](const LayerSpec& s) { return std::holds_alternative<MoeMlp>(s.mlp); });
}

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
                  t.of_peak};
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

void check_sweep(const Scenario& s) {
  const double points = point_count(s);
  if (points > kMostPoints) {
    throw InputError(fmt::format("a sweep of {} points (what is swept multiplies); at most {}",
                                 points, kMostPoints));
  }
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

// An engine that does not run on the vendor's GPUs.
[[noreturn]] void refuse_engine(const EngineProfile& engine, const Gpu& gpu, const Bundle& bundle) {
  std::vector<std::string> others;
  for (const std::string& id : engine_ids(bundle)) {
    const EngineProfile other = load_engine(id, bundle);
    if (runs_on(other, gpu)) others.push_back(id);
  }
  throw InputError(fmt::format("engine {} runs on GPUs of {}, not on {} ({}); engines that do: {}",
                               engine.id, fmt::join(engine.vendors, " and "), gpu.id, gpu.vendor,
                               fmt::join(others, ", ")));
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

const Architecture& Runner::architecture(const std::string& name) {
  auto it = architectures_.find(name);
  if (it == architectures_.end())
    it = architectures_.emplace(name, load_model(name, bundle_)).first;
  return it->second;
}

const Gpu& Runner::gpu(const std::string& name) {
  auto it = gpus_.find(name);
  if (it == gpus_.end()) it = gpus_.emplace(name, catalog_.gpu(name)).first;
  return it->second;
}

const EngineProfile& Runner::engine(const std::string& id, const Gpu& gpu) {
  const std::string key = fmt::format("{}|{}", id, engine_gpu_class(gpu));
  auto it = engines_.find(key);
  if (it == engines_.end()) it = engines_.emplace(key, load_engine(id, gpu, bundle_)).first;
  if (!runs_on(it->second, gpu)) refuse_engine(it->second, gpu, bundle_);
  return it->second;
}

const NetworkModel& Runner::network(const Gpu& gpu, const std::string& node,
                                    const ParallelPlan& plan, const std::string& stack) {
  const std::string key =
      fmt::format("{}|{}|{}|{}|{}|{}|{}", gpu.id, node, plan.tp, plan.pp, plan.dp, plan.ep, stack);
  auto& slot = networks_[key];
  if (!slot)
    slot = make_network_model(Cluster(catalog_, gpu, plan.devices(), node), plan, stack, bundle_);
  return *slot;
}

const KernelModel& Runner::kernels(const Gpu& gpu, const KernelClasses& c, TierChoice tier) {
  const std::string key = fmt::format("{}|{}|{}|{}|{}|{}|{}|{}", gpu.id, c.gemm, c.attention, c.moe,
                                      c.mla, c.linear_attention, c.rows, static_cast<int>(tier));
  auto& slot = kernels_[key];
  if (!slot) slot = make_kernel_model(gpu, c, bundle_, tier);
  return *slot;
}

Answer Runner::run_variants(const Scenario& scenario, const RunOptions& options) {
  Answer all;
  for (const Scenario& variant : scenario.variants) {
    const nlohmann::ordered_json at = swept_values(scenario, variant);
    Answer one;
    try {
      one = run(variant, options);
    } catch (const Infeasible& e) {
      if (scenario.variants.size() == 1) throw;
      Point p;
      p.feasibility = {false, e.what()};
      one = {scenario.name, nullptr, {std::move(p)}};
    }
    if (all.resolved.is_null()) all.resolved = std::move(one.resolved);
    for (Point& p : one.points) {
      for (const auto& [key, value] : at.items())
        if (key != "gpu" || !p.at.contains(key)) p.at[key] = value;  // its id, however written
      all.points.push_back(std::move(p));
    }
  }
  all.scenario = scenario.name;
  if (all.resolved.is_null()) all.resolved = to_json(scenario);
  all.resolved["sweep"] = sweep_json(scenario);
  return all;
}

Answer Runner::run(const Scenario& scenario, const RunOptions& options) {
  check_sweep(scenario);
  if (!scenario.variants.empty()) return run_variants(scenario, options);
  if (scenario.kind == Scenario::Kind::kCollective) {
    const auto& h = scenario.hardware;
    return {scenario.name, to_json(scenario),
            answer_collectives(scenario.collective, h.gpu, h.node, bundle_, options.bounds)};
  }
  if (scenario.kind == Scenario::Kind::kKernel) {
    const Gpu& device = gpu(scenario.hardware.gpu);
    const KernelClasses classes = classes_of(scenario.kernel);
    return {scenario.name, to_json(scenario),
            answer_kernels(scenario.kernel, device, kernels(device, classes, options.tier))};
  }
  Architecture model = architecture(scenario.model);
  if (scenario.model_overrides.kv_heads > 0)
    model = with_kv_heads(std::move(model), scenario.model_overrides.kv_heads);
  if (!scenario.of_the_model.empty() && !has_experts(model)) scenario.of_the_model[0].refuse();
  if (scenario.kind == Scenario::Kind::kTraining) {
    const Gpu& device = gpu(scenario.hardware.gpu);
    const KernelModel& times = kernels(device, {}, options.tier);
    return {
        scenario.name, to_json(scenario),
        answer_training(scenario.training, {model, device, scenario.hardware.node, times, bundle_,
                                            options.breakdown, options.steps, options.bounds})};
  }
  const Deployment base =
      make_deployment(scenario, model, gpu(scenario.hardware.gpu),
                      engine(scenario.engine.profile, gpu(scenario.hardware.gpu)));
  if (scenario.kind == Scenario::Kind::kService)
    return simulate_service(scenario, model, base, options);
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
          model, plan, base.precision, base.engine, kernels(base.gpu, base.classes, options.tier),
          network(base.gpu, scenario.hardware.node, plan, base.engine.kernels.collectives),
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
