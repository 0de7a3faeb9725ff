#include "orrery/scenario/kinds/steady/steady_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "orrery/memory/memory_model.h"
#include "orrery/scenario/answer/advice.h"
#include "orrery/scenario/bounds/serving_bounds.h"
#include "orrery/scenario/kinds/steady/layer_labels.h"
#include "orrery/scenario/kinds/steady/steady_load.h"
#include "orrery/scenario/kinds/steady/steady_metrics.h"
#include "orrery/scenario/kinds/steady/step_trace.h"
#include "orrery/scenario/setup/gpu_price.h"
#include "orrery/scenario/setup/kernel_origins.h"
#include "orrery/scenario/setup/plant_account.h"
#include "orrery/step/step_model.h"

namespace orrery {
namespace {

// `layers` are the labels of the model's LayerSpecs.
void add_terms(Point& point, const char* phase, const StepTime& step,
               const std::vector<std::string>& layers) {
  const double whole = step.total.value.value();
  const std::size_t first = point.kernels.size();
  for (const StepTerm& t : step.terms) {
    KernelRow row;
    row.phase = phase, row.name = t.op.name, row.part = to_text(t.op.part);
    row.sizes = describe(t.op.op);
    row.calls = t.op.count, row.time = t.time;
    row.flops = flops(t.op.op) * t.op.count, row.bytes = bytes(t.op.op) * t.op.count;
    row.share = whole > 0 ? t.time.value.value() / whole : 0;
    row.bound = to_text(t.bound), row.of_peak = t.of_peak;
    row.attends = attends(t.op.op);
    row.elementwise = family_of(t.op.op) == Family::kElementwise;
    point.kernels.push_back(std::move(row));
  }
  label_repeated(point.kernels, first, [&](std::size_t row) {
    const int spec = step.terms[row - first].op.spec;
    return spec < 0 ? std::string() : layers[static_cast<std::size_t>(spec)];
  });
  if (step.exposed > Seconds(0)) {
    constexpr double kHostError = 0.25;
    KernelRow row;
    row.phase = phase, row.part = "host", row.bound = "host";
    row.name = step.host >= step.exposed ? "host" : "launches and host";
    row.time = {step.exposed, kHostError, 0, Origin::kFitted};
    row.share = step.exposed.value() / whole;
    point.kernels.push_back(std::move(row));
  }
}

// A note says which of DeepEP's kernels a step runs, and the load of the busiest rank. A step
// without them has no note.
void note_moves(Point& point, const char* phase, const StepTime& step, const ParallelPlan& plan) {
  const auto moves = [](const StepTerm& t) { return t.op.move.has_value(); };
  const auto first = std::find_if(step.terms.begin(), step.terms.end(), moves);
  if (first == step.terms.end()) return;
  const ExpertMove& move = *first->op.move;
  point.notes.push_back(fmt::format(
      "{}: tokens travel to experts by DeepEP's {} kernels; the busiest rank has {:.2f} times the "
      "mean load{}",
      phase, move.low_latency ? "low-latency" : "normal", move.imbalance,
      plan.experts.eplb() ? ", placed by a load balancer"
                          : ", without a load balancer (enable_eplb, ep_num_redundant_experts)"));
}

// A scenario about a steady load, and the model that serves it.
struct SteadyCase {
  const Scenario& scenario;
  const SteadyQuestion& load;
  const ServedModel& served;
  const KernelModel& kernels;
  const StepPowerConstants& power;
  const CoreChip* chip = nullptr;  // where the GPU is a chip of cores
  std::optional<GpuPrice> price;   // absent: the cost is not asked for
  // Absent: neither the plant nor the electricity of owned GPUs is asked for.
  std::optional<PlantAccount> plant;
};

// Chips of cores are predicted by physics as a whole.
void note_origins(Point& point, const char* phase, const StepTime& step, const SteadyCase& c) {
  if (c.chip != nullptr) return;
  if (auto note = note_of_origins(phase, step, c.kernels)) point.notes.push_back(*std::move(note));
}

void add_memory(Point& point, const MemoryBreakdown& m) {
  for (const MemoryItem& item : m.items())
    point.memory.push_back({std::string(item.name), item.size});
  point.memory.push_back({"reserve", m.reserve});
  point.memory_capacity = m.capacity;
}

void check_load(const SteadyQuestion& load, const Architecture& model) {
  if (load.isl <= load.past) {
    throw InputError(
        fmt::format("workload.past: {} cached tokens leave no token of a prompt of {} to compute",
                    load.past, load.isl));
  }
  if (model.kind == Kind::kEncoder && load.osl > 1) {
    throw InputError(
        fmt::format("workload.osl: {} is an encoder and generates nothing; ask for 1", model.id));
  }
}

std::string too_long(const MemoryModel& memory, std::int64_t length) {
  return fmt::format("one request of {} tokens needs {} of KV cache; {} are left", length,
                     to_text(memory.kv_per_sequence(length)), to_text(memory.kv_pool()));
}

// vLLM counts for each request the blocks that `length` tokens may need at once.
std::optional<SteadyMemory::KvCache> kv_cache(const ServedModel& served, std::int64_t length) {
  const EngineProfile& engine = served.deployment.engine;
  const MemoryModel& memory = *served.memory;
  const std::int64_t blocks = memory.kv_blocks() * served.plan.dp;
  if (!engine.memory.paged || blocks < 1) return std::nullopt;
  const KvGroups& groups = memory.groups();
  const std::int64_t block = engine.memory.block_size;
  const std::int64_t tokens = blocks / (groups.separate_pools() ? 1 : groups.count()) * block;
  const std::int64_t needed =
      memory.state_blocks() + groups.enough(length, engine.scheduler.max_num_batched_tokens, block);
  return SteadyMemory::KvCache{tokens, length, real(blocks) / real(needed)};
}

void answer_memory(const SteadyCase& c, std::int64_t length, bool alone, Point& p) {
  const MemoryModel& memory = *c.served.memory;
  const std::int64_t full = memory.max_concurrency(length);
  const MemoryBreakdown held =
      memory.load(std::clamp<std::int64_t>(full, 1, c.load.batch), c.load.isl + c.load.osl,
                  c.scenario.workload.max_model_len);
  add_memory(p, held);
  add_memory_metrics(
      {held, memory.kv_of_model(length), full, alone ? kv_cache(c.served, length) : std::nullopt},
      p);
  if (full > 0) return;
  // The shortest requests may fit where the longest does not.
  p.feasibility = {false, held.fits() ? too_long(memory, length) : held.summary()};
}

void answer_time(const SteadyCase& c, std::int64_t capacity, const RunOptions& options, Point& p) {
  const SteadyQuestion& w = c.load;
  const ParallelPlan& plan = c.served.plan;
  const ClosedFormResult r =
      closed_form_of(w, c.served, capacity, options.breakdown || c.chip != nullptr);
  const bool decodes = w.osl > 1;
  std::optional<WaveEnergy> boards;
  if (c.chip == nullptr) boards = wave_energy(c.power, c.served, r);
  if (c.plant && !boards)
    throw NoData(
        fmt::format("energy: no power of the boards of {} is known", c.served.deployment.gpu.id));
  const PlantAccount* asked = c.plant && c.scenario.plant.asked() ? &*c.plant : nullptr;
  std::optional<Estimate<Usd>> hour;
  if (c.price)
    hour = c.plant ? c.plant->with_electricity(*c.price, {boards->power, real(plan.devices()), 0})
                   : c.price->hour.scaled(plan.devices());
  add_steady_metrics(
      {r, c.served, c.chip, boards ? &*boards : nullptr, asked, hour ? &*hour : nullptr}, p);
  if (!options.breakdown) return;
  if (boards) add_energy_rows(c.power, c.served, *boards, r, asked, p);
  const std::vector<std::string> layers = layer_labels(c.served.model.layers);
  add_terms(p, "prefill", r.prefill_step, layers);
  note_moves(p, "prefill", r.prefill_step, plan);
  note_origins(p, "prefill", r.prefill_step, c);
  if (decodes) {
    add_terms(p, "decode", r.decode_step, layers);
    note_moves(p, "decode", r.decode_step, plan);
    note_origins(p, "decode", r.decode_step, c);
  }
  if (options.chakra) {
    p.files.emplace_back("prefill.0.et",
                         chakra_step(r.prefill_step, plan, c.served.deployment.engine));
    if (decodes)
      p.files.emplace_back("decode.0.et",
                           chakra_step(r.decode_step, plan, c.served.deployment.engine));
  }
  p.limit = advice(p, decodes ? "decode" : "prefill");
}

void answer_case(const SteadyCase& c, const RunOptions& options, Point& p) {
  const Architecture& model = c.served.model;
  check_load(c.load, model);
  p.notes.insert(p.notes.begin(), c.served.deployment.notes.begin(),
                 c.served.deployment.notes.end());
  const int kv_heads = c.scenario.model_overrides.kv_heads;
  if (kv_heads > 0)
    p.notes.push_back(fmt::format("a variant of the model with {} KV heads", kv_heads));
  const std::int64_t length = planned_length(c.scenario, c.load);
  if (model.max_context > 0 && length > model.max_context) {
    p.notes.push_back(fmt::format("{} tokens are more than the {} that the model was made for",
                                  length, model.max_context));
  }
  answer_memory(c, length, options.memory_only, p);
  if (!p.feasibility.fits) return;
  const std::int64_t capacity = capacity_of(c.load, c.served, length);
  if (c.load.batch > capacity) {
    p.notes.push_back(fmt::format("memory holds {} of the {} requests at a time; the others wait",
                                  capacity, c.load.batch));
  }
  const std::int64_t taken = c.served.deployment.engine.scheduler.max_num_seqs * c.served.plan.dp;
  if (taken < std::min(c.load.batch, capacity)) {
    p.notes.push_back(
        fmt::format("the engine takes {} of the {} requests at a time (max_num_seqs); the others "
                    "wait",
                    taken, c.load.batch));
  }
  if (!options.memory_only) answer_time(c, capacity, options, p);
}

LeastRequests least_of(const SteadyQuestion& load) {
  LeastRequests least;
  least.isl = static_cast<double>(load.isl), least.osl = static_cast<double>(load.osl);
  least.cached = static_cast<double>(load.past);
  least.together = static_cast<double>(load.batch);
  return least;
}

}  // namespace

void answer_steady(Facts& facts, const Scenario& scenario, const RunOptions& options, Point& p) {
  const SteadyQuestion& load = scenario.as<SteadyQuestion>();
  const ParallelPlan& parallel = scenario.parallel;
  p.at = {{"model", facts.architecture(scenario.model).id},
          {"gpu", facts.gpu(scenario.hardware.gpu).id},
          {"gpus", parallel.devices()},
          {"tp", parallel.tp},
          {"pp", parallel.pp},
          {"isl", load.isl},
          {"osl", load.osl},
          {"batch", load.batch}};
  if (parallel.cp > 1) p.at["cp"] = parallel.cp;
  const auto served = served_model_of(facts, scenario);
  const CoreChip* chip = facts.chip(served->deployment.gpu.id);
  const Deployment& d = served->deployment;
  const auto price = gpu_price(facts, scenario.cost, d.gpu, p.notes);
  std::optional<PlantAccount> plant;
  if (scenario.plant.asked() || (price && price->electricity))
    plant.emplace(facts, scenario.plant, d.gpu, scenario.hardware.node, p.notes);
  answer_case({.scenario = scenario,
               .load = load,
               .served = *served,
               .kernels = facts.kernels(d.gpu, d.classes),
               .power = facts.step_power(),
               .chip = chip,
               .price = price,
               .plant = plant},
              options, p);
  if (options.bounds) bound_requests(*served, least_of(load), p);
}

}  // namespace orrery
