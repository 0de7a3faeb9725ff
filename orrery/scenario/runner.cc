#include "orrery/scenario/runner.h"

#include <fmt/format.h>

#include <algorithm>

#include "orrery/hardware/cluster.h"
#include "orrery/memory/memory_model.h"
#include "orrery/model/catalog.h"
#include "orrery/model/parameters.h"
#include "orrery/scenario/advice.h"
#include "orrery/scenario/deployment.h"
#include "orrery/serving/steady.h"
#include "orrery/step/step_model.h"

namespace orrery {
namespace {

constexpr double kMs = 1e-3;
constexpr double kMostPoints = 100'000;  // of a sweep: some seconds and a gigabyte with breakdowns

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

const EngineProfile& Runner::engine(const std::string& id) {
  auto it = engines_.find(id);
  if (it == engines_.end()) it = engines_.emplace(id, load_engine(id, bundle_)).first;
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
  const std::string key = fmt::format("{}|{}|{}|{}|{}|{}|{}", gpu.id, c.gemm, c.attention, c.moe,
                                      c.mla, c.linear_attention, static_cast<int>(tier));
  auto& slot = kernels_[key];
  if (!slot) slot = make_kernel_model(gpu, c, bundle_, tier);
  return *slot;
}

Answer Runner::run(const Scenario& scenario, const RunOptions& options) {
  Architecture model = architecture(scenario.model);
  if (scenario.model_overrides.kv_heads > 0)
    model = with_kv_heads(std::move(model), scenario.model_overrides.kv_heads);
  const Deployment base =
      make_deployment(scenario, model, gpu(scenario.hardware.gpu), engine(scenario.engine.profile));
  const auto& w = scenario.workload;
  double points = 1;
  for (const Sweep* sweep :
       {&scenario.parallel.tp, &scenario.parallel.pp, &w.isl, &w.osl, &w.batch}) {
    points *= static_cast<double>(sweep->size());
  }
  if (points > kMostPoints) {
    throw InputError(
        fmt::format("a sweep of {} points (tp, pp, isl, osl and batch multiply); at most {}",
                    points, kMostPoints));
  }
  Answer answer;
  answer.scenario = scenario.name;
  answer.resolved = base.resolved(scenario);

  const std::size_t layouts = scenario.parallel.tp.size() * scenario.parallel.pp.size();
  for (std::int64_t tp : scenario.parallel.tp) {
    for (std::int64_t pp : scenario.parallel.pp) {
      const ParallelPlan plan{static_cast<int>(tp), static_cast<int>(pp), scenario.parallel.dp,
                              scenario.parallel.ep};
      auto at = [&](std::int64_t isl, std::int64_t osl, std::int64_t batch) {
        Point p;
        p.at = {{"model", model.id}, {"gpu", base.gpu.id}, {"gpus", plan.devices()},
                {"tp", tp},          {"pp", pp},           {"isl", isl},
                {"osl", osl},        {"batch", batch}};
        return p;
      };
      try {
        check_plan(model, plan, base.precision);
      } catch (const Infeasible& e) {
        if (layouts == 1) throw;
        for (std::int64_t isl : w.isl) {
          for (std::int64_t osl : w.osl) {
            for (std::int64_t batch : w.batch) {
              answer.points.push_back(at(isl, osl, batch));
              answer.points.back().feasibility = {false, e.what()};
            }
          }
        }
        continue;
      }
      const KernelModel& kernel_model = kernels(base.gpu, base.classes, options.tier);
      const NetworkModel& wires =
          network(base.gpu, scenario.hardware.node, plan, base.engine.kernels.collectives);
      const MemoryModel memory(model, plan, base.precision, base.engine, base.gpu);
      const StepModel steps(model, plan, base.precision, base.engine, kernel_model, wires,
                            w.expert_skew);

      for (std::int64_t isl : w.isl) {
        for (std::int64_t osl : w.osl) {
          for (std::int64_t batch : w.batch) {
            Point p = at(isl, osl, batch);
            p.notes = base.notes;
            if (scenario.model_overrides.kv_heads > 0) {
              p.notes.push_back(fmt::format("a variant of the model with {} KV heads",
                                            scenario.model_overrides.kv_heads));
            }
            const std::int64_t length = std::max(w.max_model_len, isl + osl);
            if (isl <= w.past) {
              throw InputError(fmt::format(
                  "workload.past: {} cached tokens leave nothing of a prompt of {}", w.past, isl));
            }
            if (length > model.max_context && model.max_context > 0) {
              p.notes.push_back(
                  fmt::format("{} tokens are more than the {} that the model was made for", length,
                              model.max_context));
            }
            // What a sequence holds on average while it is decoded; contiguous engines reserve all
            // of it.
            const std::int64_t held = base.engine.memory.paged ? isl + osl / 2 : length;
            const std::int64_t capacity = memory.max_concurrency(held);
            const std::int64_t full_capacity = memory.max_concurrency(length);
            const std::int64_t running = std::clamp<std::int64_t>(full_capacity, 1, batch);
            const MemoryBreakdown load = memory.load(running, isl + osl, w.max_model_len);
            add_memory(p, load);
            p.metrics.push_back(exact_metric("memory", "GB per GPU", load.total().value() / 1e9));
            p.metrics.push_back(exact_metric("weights", "GB per GPU", load.weights.value() / 1e9));
            p.metrics.push_back(exact_metric("kv_cache_per_request", "GB",
                                             memory.kv_of_model(length).value() / 1e9));
            p.metrics.push_back(
                exact_metric("max_concurrency", "requests", static_cast<double>(full_capacity)));
            if (full_capacity < 1) {
              p.feasibility = {false, load.summary()};
              answer.points.push_back(std::move(p));
              continue;
            }
            if (batch > capacity) {
              p.notes.push_back(
                  fmt::format("memory holds {} of the {} requests at a time; the others wait",
                              capacity, batch));
            }
            if (!options.memory_only) {
              const SteadyWorkload load_of{batch,  isl,           osl,
                                           w.past, w.closed_loop, w.requests_per_user};
              const SteadyResult r =
                  steady_state(steps, base.engine, plan, load_of, capacity, options.breakdown);
              p.metrics.push_back(metric("ttft", "ms", r.ttft, kMs));
              if (osl > 1) p.metrics.push_back(metric("tpot", "ms", r.tpot, kMs));
              p.metrics.push_back(metric("e2e", "ms", r.e2e, kMs));
              p.metrics.push_back(metric("prefill_time", "ms", r.prefill, kMs));
              p.metrics.push_back(
                  rate_metric("output_throughput", "tokens/s", r.output_tokens, r.makespan));
              p.metrics.push_back(rate_metric("total_throughput", "tokens/s",
                                              r.output_tokens + r.input_tokens, r.makespan));
              p.metrics.push_back(rate_metric("request_throughput", "requests/s",
                                              r.output_tokens / static_cast<double>(osl),
                                              r.makespan));
              if (options.breakdown) {
                add_terms(p, "prefill", r.prefill_step);
                if (osl > 1) add_terms(p, "decode", r.decode_step);
                p.limit = advice(p, osl > 1 ? "decode" : "prefill");
              }
            }
            answer.points.push_back(std::move(p));
          }
        }
      }
    }
  }
  return answer;
}

}  // namespace orrery
