#include "orrery/step/step_model.h"

#include <algorithm>
#include <climits>
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

StepTime StepModel::time(const Batch& batch, bool with_terms, int stage) const {
  if (governor_ == nullptr) return time_of(kernels_, batch, with_terms, stage, memory_);
  const auto at = [&](double slowdown, bool terms) {
    return slowdown > 1 ? time_of(ClockedKernels(kernels_, slowdown), batch, terms, stage, nullptr)
                        : time_of(kernels_, batch, terms, stage, memory_);
  };
  const StepGovernor::Decision decision =
      governor_->decide([&](double slowdown) { return at(slowdown, false); });
  StepTime step = at(decision.slowdown, with_terms);
  if (decision.slowdown > 1) {
    const StepTime fast = at(1, false);
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

Program StepModel::add_ops(const KernelModel& kernels, const Batch& batch, const StepFacts& facts,
                           const ProgramOptions& options, PartSum& sum,
                           std::vector<StepTerm>* terms) const {
  Program program = forward_program(model_, plan_, precision_, batch, options);
  if (facts.halves) {
    ProgramOptions of_half = options;
    const std::int64_t rows = (facts.tokens + 1) / 2;
    if (facts.padded()) of_half.padding = padded_tokens(engine_, rows) - rows;
    program = two_batches(std::move(program), forward_program(model_, plan_, precision_,
                                                              half_of(batch, plan_.dp), of_half));
  }
  if (terms) terms->reserve(program.ops.size());
  StepParts parts(engine_, kernels, network_, facts);
  OverlappedMoves moves(program, facts.halves);
  const double held = facts.halves ? held_by_moves(program, network_) : 0;
  for (const ProgramOp& op : program.ops) {
    const StepPart part = parts.of(op, moves.halves(op) ? held : 0);
    if (part.left_out) continue;
    const auto with_op = [&] { return StepTerm{op, part.time, part.bound, part.of_peak}; };
    sum.count(part);
    if (op.move && facts.halves) {
      moves.add_move(with_op(), sum.numbers.of(part.call));
      continue;
    }
    if (!part.network) moves.add_kernel(op, part.time.value);
    sum.add_time(part);
    if (terms) terms->push_back(with_op());
  }
  for (const OverlappedMoves::Move& move : moves.exposed()) {
    sum.communication += move.term.time.value;
    sum.time.add(family_of(move.term.op.op), move.time, move.kernel);
    if (terms) terms->push_back(move.term);
  }
  return program;
}

Program StepModel::add_remembered(StepMemory& memory, const Batch& batch, const StepFacts& facts,
                                  const ProgramOptions& options, PartSum& sum) const {
  ProgramParts own = forward_program_parts(model_, plan_, precision_, batch, options, true);
  StepParts parts(engine_, memory.kernels(), network_, facts);
  const std::vector<StepPart>* of_tokens =
      memory.parts().find(OpSource::kTokens, own.totals, facts);
  const std::vector<StepPart>* of_outputs =
      memory.parts().find(OpSource::kOutputs, own.totals, facts);
  const auto add = [&sum](const StepPart& part) {
    if (part.left_out) return;
    sum.count(part);
    sum.add_time(part);
  };
  if (of_tokens && of_outputs) {
    // Three lists in the order of their sections are one in the order of the program.
    auto token = of_tokens->begin(), output = of_outputs->begin();
    const auto add_before = [&](int section) {
      for (;;) {
        const int next_token = token == of_tokens->end() ? section : token->section;
        const int next_output = output == of_outputs->end() ? section : output->section;
        if (std::min(next_token, next_output) >= section) return;
        add(next_token < next_output ? *token++ : *output++);
      }
    };
    for (std::size_t i = 0; i < own.program.ops.size(); ++i) {
      add_before(own.origins[i].section);
      add(parts.of(own.program.ops[i]));
    }
    add_before(INT_MAX);
    return std::move(own.program);
  }
  const ProgramParts all = forward_program_parts(model_, plan_, precision_, batch, options, false);
  std::vector<StepPart> made;
  made.reserve(all.program.ops.size());
  for (std::size_t i = 0; i < all.program.ops.size(); ++i) {
    made.push_back(parts.of(all.program.ops[i]));
    made.back().section = all.origins[i].section;
    add(made.back());
  }
  memory.parts().keep(all.totals, facts, all.origins, made);
  return std::move(own.program);
}

StepTime StepModel::time_of(const KernelModel& kernels, const Batch& batch, bool with_terms,
                            int stage, StepMemory* memory) const {
  const auto& x = engine_.execution;
  const StepFacts facts = facts_of(batch, stage);
  ProgramOptions options;
  options.expert_skew = expert_skew_;
  options.stage = stage;
  if (facts.padded()) options.padding = padded_tokens(engine_, facts.tokens) - facts.tokens;
  StepTime step;
  PartSum sum;
  const Program program =
      memory && !with_terms && !facts.halves
          ? add_remembered(*memory, batch, facts, options, sum)
          : add_ops(kernels, batch, facts, options, sum, with_terms ? &step.terms : nullptr);
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
  if (waits > Seconds(0)) sum.time.add(Family::kHost, {waits, kHostError, 0, Origin::kFitted});
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
  step.total.own = std::hypot(step.total.own * engine_.composed_error_share, engine_.step_error);
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
