#include "orrery/step/step_model.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "orrery/kernel/tiers/clocked_kernels.h"
#include "orrery/step/remembered_parts.h"
#include "orrery/step/step_memory.h"
#include "orrery/step/step_part.h"
#include "orrery/step/two_batch.h"

namespace orrery {
namespace {

// Spread of host times between machines (docs/composition.md).
constexpr double kHostError = 0.25;

// Share of the multiprocessors that the kernels of the moves hold.
double held_by_moves(const Program& program, const NetworkModel& network) {
  for (const ProgramOp& op : program.ops) {
    if (!op.move) continue;
    const auto& c = std::get<Collective>(op.op);
    return network.exchange(exchange_of(*op.move, kExchangeSms), c.group, c.ranks).held;
  }
  return 0;
}

bool decode_only(const Batch& batch) {
  return std::all_of(batch.groups.begin(), batch.groups.end(),
                     [](const SequenceGroup& g) { return g.new_tokens == 1 || g.verify; });
}

}  // namespace

StepModel::StepModel(const Architecture& model, const ParallelPlan& plan,
                     const Precision& precision, const EngineProfile& engine,
                     const KernelModel& kernels, const NetworkModel& network, double expert_skew)
    : model_(model),
      plan_(plan),
      precision_(precision),
      engine_(engine),
      kernels_(kernels),
      network_(network),
      expert_skew_(expert_skew),
      memories_(std::make_shared<StepMemories>()) {}

StepModel StepModel::with(StepMemory& memory) const {
  StepModel other(model_, plan_, precision_, engine_, memory.kernels(), network_, expert_skew_);
  other.govern(governor_);
  other.memory_ = &memory;
  return other;
}

StepTime StepModel::time_with(const Batch& batch, Detail detail, int stage) const {
  if (governor_ == nullptr) return time_of(kernels_, batch, detail, stage, memory_);
  const auto at = [&](double slowdown, Detail more) {
    return slowdown > 1 ? time_of(ClockedKernels(kernels_, slowdown), batch, more, stage, nullptr)
                        : time_of(kernels_, batch, more, stage, memory_);
  };
  const StepGovernor::Decision decision =
      governor_->decide([&](double slowdown) { return at(slowdown, Detail::kNone); });
  StepTime step = at(decision.slowdown, detail);
  if (decision.slowdown > 1) {
    const StepTime fast = at(1, Detail::kNone);
    step.ungoverned_total = fast.total.value, step.ungoverned_kernels = fast.kernels;
    // The time follows the error of the clock as far as it has followed the clock.
    const double follows =
        (step.total.value / fast.total.value - 1) / (decision.slowdown - 1) * decision.error;
    step.total.shared = std::hypot(step.total.shared, follows);
  }
  step.governed = decision;
  return step;
}

StepFacts StepModel::facts_of(const Batch& batch, int stage) const {
  StepFacts facts;
  facts.decoding = decode_only(batch);
  facts.tokens = batch.all_tokens > 0 ? batch.tokens() : (batch.tokens() + plan_.dp - 1) / plan_.dp;
  facts.mixed = !facts.decoding && std::any_of(batch.groups.begin(), batch.groups.end(),
                                               [](const SequenceGroup& g) { return g.decoding(); });
  const auto& x = engine_.execution;
  facts.replayed = facts.decoding && is_captured(engine_, facts.tokens);
  facts.in_pieces = !facts.decoding && x.prefill_graphs && facts.tokens <= x.graph_tokens;
  facts.halves = in_two_batches(plan_, facts.tokens, facts.decoding);
  facts.shared_stream =
      facts.replayed && !facts.halves && facts.tokens <= x.shared_experts_stream_tokens;
  // Stage -1 of a pipeline is its slowest, which is never the first alone.
  facts.first_stage = stage == 0 || plan_.pp == 1;
  return facts;
}

StepModel::Counts StepModel::add_ops(const Asked& asked, PartSum& sum, std::vector<StepTerm>* terms,
                                     StepMemory* memory) const {
  const ProgramParts all =
      forward_program_parts(model_, plan_, precision_, asked.batch, asked.options, false);
  const std::vector<ProgramOp>& ops = all.program.ops;
  StepParts parts(engine_, asked.kernels, network_, asked.facts, asked.kinds);
  std::vector<StepPart> made;
  made.reserve(ops.size());
  if (terms) terms->reserve(ops.size());
  for (const ProgramOp& op : ops) {
    const StepPart& part = made.emplace_back(parts.of(op));
    if (terms && !part.left_out) terms->push_back({op, part.time, part.bound, part.of_peak});
  }
  const auto add = [&](OpSource source) {
    for (std::size_t i = 0; i < ops.size(); ++i)
      if (all.origins[i].source == source) sum.add(made[i]);
  };
  add(OpSource::kTokens);
  if (memory) {
    std::vector<StepPart> outputs;
    for (std::size_t i = 0; i < ops.size(); ++i)
      if (all.origins[i].source == OpSource::kOutputs) outputs.push_back(made[i]);
    memory->parts().keep(all.totals, asked.facts, asked.kinds, sum, std::move(outputs));
  }
  add(OpSource::kOutputs);
  add(OpSource::kGroups);
  return {all.program.sequences, all.program.layers};
}

StepModel::Counts StepModel::add_remembered(const Asked& asked, PartSum& sum,
                                            StepMemory& memory) const {
  ProgramParts& own = memory.parts().program_scratch();
  forward_program_parts(model_, plan_, precision_, asked.batch, asked.options, true, own);
  const PartSum* tokens = memory.parts().of_tokens(own.totals, asked.facts, asked.kinds);
  const auto* outputs = memory.parts().of_outputs(own.totals, asked.facts, asked.kinds);
  if (!tokens || !outputs) {
    sum = PartSum();
    return add_ops(asked, sum, nullptr, &memory);
  }
  sum = *tokens;
  for (const StepPart& part : *outputs) sum.add(part);
  StepParts parts(engine_, asked.kernels, network_, asked.facts, asked.kinds);
  for (const ProgramOp& op : own.program.ops) sum.add(parts.of(op));
  return {own.program.sequences, own.program.layers};
}

StepModel::Counts StepModel::add_halves(const Asked& asked, PartSum& sum,
                                        std::vector<StepTerm>* terms) const {
  ProgramOptions of_half = asked.options;
  const std::int64_t rows = (asked.facts.tokens + 1) / 2;
  if (asked.facts.padded()) of_half.padding = padded_tokens(engine_, rows) - rows;
  Program program = two_batches(
      forward_program(model_, plan_, precision_, asked.batch, asked.options),
      forward_program(model_, plan_, precision_, half_of(asked.batch, plan_.dp), of_half));
  if (terms) terms->reserve(program.ops.size());
  StepParts parts(engine_, asked.kernels, network_, asked.facts, asked.kinds);
  OverlappedMoves moves(program, true);
  const double held = held_by_moves(program, network_);
  for (const ProgramOp& op : program.ops) {
    const StepPart part = parts.of(op, moves.halves(op) ? held : 0);
    if (part.left_out) continue;
    const auto with_op = [&] { return StepTerm{op, part.time, part.bound, part.of_peak}; };
    if (op.move) {
      sum.count(part);
      moves.add_move(with_op(), part.call);
      continue;
    }
    if (!part.network) moves.add_kernel(op, part.time.value);
    sum.add(part);
    if (terms) terms->push_back(with_op());
  }
  for (const OverlappedMoves::Move& move : moves.exposed()) {
    sum.communication += move.term.time.value;
    sum.time.add(family_of(move.term.op.op), move.time, move.call);
    if (terms) terms->push_back(move.term);
  }
  return {program.sequences, program.layers};
}

StepTime StepModel::time_of(const KernelModel& kernels, const Batch& batch, Detail detail,
                            int stage, StepMemory* memory) const {
  const auto& x = engine_.execution;
  const StepFacts facts = facts_of(batch, stage);
  ProgramOptions options;
  options.expert_skew = expert_skew_;
  options.stage = stage;
  StepTime step;
  std::vector<StepTerm>* terms = detail == Detail::kTerms ? &step.terms : nullptr;
  if (terms || facts.halves) memory = nullptr;
  if (facts.padded()) {
    const std::int64_t padded = memory ? memory->parts().padded(engine_, facts.tokens)
                                       : padded_tokens(engine_, facts.tokens);
    options.padding = padded - facts.tokens;
  }
  PartSum fresh;
  PartSum& sum = memory ? memory->parts().scratch() : fresh;
  const Asked asked{kernels, batch, facts, options, detail != Detail::kNone};
  const Counts program = facts.halves ? add_halves(asked, sum, terms)
                         : memory     ? add_remembered(asked, sum, *memory)
                                      : add_ops(asked, sum, terms, nullptr);
  if (asked.kinds) step.kinds = sum.kinds;
  step.replayed = facts.replayed;
  step.layers = program.layers;
  step.kernels = sum.kernels, step.communication = sum.communication;
  step.compute = sum.compute, step.memory = sum.memory;

  // Launches of a layer in a step replayed in pieces: attention, and the graph after it.
  constexpr double kPieces = 2;
  step.launches = facts.replayed ? x.graph_launch * program.layers
                  : facts.in_pieces
                      ? x.launch * (kPieces * program.layers)
                      : x.launch * sum.launched + x.host_per_layer * program.layers +
                            x.host_per_moe_layer * (facts.decoding ? 0 : sum.moe_layers);
  step.host = x.host_per_step + x.host_per_sequence * static_cast<double>(program.sequences);

  // The GPU's time of the step and the host's. The host's error is part of both, and their
  // correlation enters maximum().
  const Seconds gpu = step.kernels + step.communication;
  const Seconds gaps = facts.padded() ? Seconds(0) : x.kernel_gap * sum.launched;
  step.serial_host = x.host_overlapped ? Seconds(0) : step.host;
  const Seconds waits = gaps + step.serial_host;
  Seconds host_way =
      facts.decoding || facts.in_pieces ? step.launches : std::max(step.launches, x.prefill_floor);
  host_way = x.host_overlapped ? std::max(host_way, step.host) : host_way + step.host;
  if (waits > Seconds(0))
    sum.time.add(Family::kHost, {waits, kHostError, 0, Origin::kFitted}, Seconds(0));
  const Estimate<Seconds> gpu_way = sum.time.total();
  step.total = maximum(gpu_way, {host_way, kHostError, 0, Origin::kFitted},
                       kHostError * waits.value() * kHostError * host_way.value());
  // The parts are summed in two orders; a difference within rounding is not exposed time.
  constexpr double kRounding = 1e-9;
  const Seconds exposed = step.total.value - gpu;
  step.exposed = exposed > step.total.value * kRounding ? exposed : Seconds(0);
  step.total.origin =
      step.exposed > Seconds(0) ? std::max(gpu_way.origin, Origin::kFitted) : gpu_way.origin;
  // No engine was measured with divided caches.
  if (plan_.cp > 1) step.total.origin = std::max(step.total.origin, Origin::kTransferred);
  step.ungoverned_total = step.total.value, step.ungoverned_kernels = step.kernels;
  step.total.shared *= engine_.composed_error_share;
  // In the place of std::hypot, which takes ten times as long for numbers that never overflow.
  const double own = step.total.own * engine_.composed_error_share;
  step.total.own = std::sqrt(own * own + engine_.step_error * engine_.step_error);
  return step;
}

Estimate<Seconds> StepModel::through_all_stages(const Batch& batch) const {
  StepTime first = time(batch, false, plan_.pp > 1 ? 0 : -1);
  if (plan_.pp == 1) return first.total;
  double total = first.total.value.value();
  for (int stage = 1; stage < plan_.pp; ++stage) {
    const StepTime t = time(batch, false, stage);
    total += (t.total.value - t.serial_host).value();
  }
  first.total.value = Seconds(total);  // the same kernels throughout: the same relative errors
  return first.total;
}

}  // namespace orrery
