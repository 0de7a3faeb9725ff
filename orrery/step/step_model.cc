#include "orrery/step/step_model.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include "orrery/kernel/tiers/clocked_kernels.h"
#include "orrery/step/two_batch.h"

namespace orrery {
namespace {

// Spread of host times between machines (docs/composition.md).
constexpr double kHostError = 0.25;

// Time of the engine's decode attention relative to the measured kernels.
double decode_attention_factor(const EngineProfile::Kernels& k, const DecodeAttention& decode) {
  const bool split =
      k.split_decode_queries == 0 || decode.batch * decode.heads <= k.split_decode_queries;
  return split
             ? k.decode_attention_factor
             : k.decode_attention_factor * k.unsplit_decode_factor * decode.heads / decode.kv_heads;
}

// std::pow without the call for a base of 1, which most engines have.
double power(double base, double exponent) { return base == 1 ? 1 : std::pow(base, exponent); }

// Time of the engine's kernel relative to the measured class. The factors for compute-bound and for
// memory-bound kernels are blended by the squares of the two roofline times.
double engine_factor(const EngineProfile::Kernels& k, const ProgramOp& op, const KernelTime& t,
                     bool prefill, bool mixed) {
  const double c = t.compute.value(), m = t.memory.value();
  const double compute_share = c + m > 0 ? c * c / (c * c + m * m) : 0;
  double factor =
      power(k.compute_factor, compute_share) * power(k.memory_factor, 1 - compute_share);
  if (std::holds_alternative<PrefillAttention>(op.op)) factor *= k.prefill_attention_factor;
  if (prefill && std::holds_alternative<MoeExperts>(op.op)) factor *= k.moe_prefill_factor;
  const auto* decode = std::get_if<DecodeAttention>(&op.op);
  if (decode) factor *= decode_attention_factor(k, *decode);
  if (decode && mixed) factor *= mixed_decode_factor(k, *decode);
  return factor;
}

// Numbers the kernels of a step. Two ops are calls of the same kernel if the models predict exactly
// the same time for one call of each: equal ops of different layers, and ops of different names
// that the models cannot tell apart (a norm and a copy of as many bytes). Whatever the prediction
// is off by, it is off by for both (docs/decisions/0003-kernel-surfaces.md). Calls that take no
// time are no kernel.
//
// A step with more than kKernels kernels (prompts of many lengths) has some of them numbered alike,
// which changes its interval a little and its time not at all.
class KernelNumbers {
 public:
  std::size_t of(Seconds call) {
    if (call <= Seconds(0)) return EstimateSum<Seconds>::kNoKernel;
    // An open hash table. In a full one a call takes the place of another.
    std::size_t at = std::bit_cast<std::uint64_t>(call.value()) * 0x9E3779B97F4A7C15u >> 58;
    for (std::size_t tried = 0; tried < kKernels && calls_[at] != Seconds(0) && calls_[at] != call;
         ++tried)
      at = (at + 1) % kKernels;
    calls_[at] = call;
    return at;
  }

 private:
  static constexpr std::size_t kKernels = 64;
  std::array<Seconds, kKernels> calls_{};  // 0: free
};

// Multiprocessors of DeepEP's normal kernels: the default of its Buffer (num_sms,
// deep_ep/buffer.py).
constexpr int kExchangeSms = 20;

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

double mixed_decode_factor(const EngineProfile::Kernels& kernels, const DecodeAttention& decode) {
  return std::pow(1.0 * decode.heads / decode.kv_heads, kernels.mixed_decode_exponent);
}

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
      memories_(std::make_shared<KernelMemories>()) {}

StepModel StepModel::with(const KernelModel& kernels) const {
  StepModel other(model_, plan_, precision_, engine_, kernels, network_, expert_skew_);
  other.govern(governor_);
  return other;
}

StepTime StepModel::time(const Batch& batch, bool with_terms, int stage) const {
  if (governor_ == nullptr) return time_of(kernels_, batch, with_terms, stage);
  const auto at = [&](double slowdown, bool terms) {
    return slowdown > 1 ? time_of(ClockedKernels(kernels_, slowdown), batch, terms, stage)
                        : time_of(kernels_, batch, terms, stage);
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

StepTime StepModel::time_of(const KernelModel& kernels, const Batch& batch, bool with_terms,
                            int stage) const {
  const auto& x = engine_.execution;
  StepTime step;
  const bool decoding = decode_only(batch);
  const std::int64_t per_group =
      batch.all_tokens > 0 ? batch.tokens() : (batch.tokens() + plan_.dp - 1) / plan_.dp;
  const bool fits = per_group <= x.graph_tokens;
  step.replayed = decoding && is_captured(engine_, per_group);
  const bool in_pieces = !decoding && x.prefill_graphs && fits;

  ProgramOptions options;
  options.expert_skew = expert_skew_;
  options.stage = stage;
  if (step.replayed || in_pieces) options.padding = padded_tokens(engine_, per_group) - per_group;
  Program program = forward_program(model_, plan_, precision_, batch, options);
  step.layers = program.layers;
  const bool halves = in_two_batches(plan_, per_group, decoding);
  if (halves) {
    const Batch half = half_of(batch, plan_.dp);
    const std::int64_t rows = (per_group + 1) / 2;
    if (step.replayed || in_pieces) options.padding = padded_tokens(engine_, rows) - rows;
    program =
        two_batches(std::move(program), forward_program(model_, plan_, precision_, half, options));
  }

  const bool mixed = !decoding && std::any_of(batch.groups.begin(), batch.groups.end(),
                                              [](const SequenceGroup& g) { return g.decoding(); });
  // Stage -1 of a pipeline is its slowest, which is never the first alone.
  const bool first_stage = stage == 0 || plan_.pp == 1;
  const double later = first_stage ? 1 : engine_.kernels.later_stage_factor;
  // `routed` is the time of routed experts with which shared experts can still overlap.
  const bool shared_stream =
      step.replayed && !halves && per_group <= x.shared_experts_stream_tokens;
  Seconds routed;
  EstimateSum<Seconds> sum;
  KernelNumbers numbers;
  double launched = 0, moe_layers = 0;
  OverlappedMoves moves(program, halves);
  const double held = halves ? held_by_moves(program, network_) : 0;
  for (const ProgramOp& op : program.ops) {
    if (op.fusible && x.fused) continue;
    struct {
      Estimate<Seconds> time;
      Bound bound = Bound::kNetwork;
      double of_peak = 0;
    } term;
    const auto with_op = [&] { return StepTerm{op, term.time, term.bound, term.of_peak}; };
    Seconds call;
    if (const auto* c = std::get_if<Collective>(&op.op)) {
      const CollectiveTime t =
          op.move ? network_.exchange(exchange_of(*op.move, kExchangeSms), c->group, c->ranks)
                  : network_.predict(*c);
      term.time = t.time;
      call = term.time.value;
      if (!op.move) term.time.value += x.collective_latency * std::log2(std::max(c->ranks, 1));
      term.time = term.time.scaled(op.count);
      launched += op.count;
      if (op.move && halves) {
        moves.add_move(with_op(), numbers.of(call));
        continue;
      }
      step.communication += term.time.value;
    } else {
      const KernelTime t = kernels.predict(op.op);
      term.bound = t.bound;
      step.compute += t.compute * op.count, step.memory += t.memory * op.count;
      call = t.time.value;
      term.time =
          t.time.scaled(op.count * later * engine_factor(engine_.kernels, op, t, !decoding, mixed));
      if (held > 0 && t.bound == Bound::kCompute && moves.halves(op)) term.time.value /= 1 - held;
      const Seconds least = std::max(t.compute, t.memory) * op.count;
      // The engine's factor never makes a compute-bound kernel faster than the data sheet's
      // roofline.
      if (t.compute > t.memory) term.time.value = std::max(term.time.value, least);
      // A kernel faster than the roofline had its operands in the cache and has no share of the
      // peak.
      if (term.time.value > least) term.of_peak = least / term.time.value;
      if (std::holds_alternative<MoeExperts>(op.op)) {
        term.time.shared = std::hypot(term.time.shared, engine_.experts_error);
        routed = term.time.value;
        moe_layers += op.count;
      }
      // The time in which shared experts read their weights is never hidden.
      if (shared_stream && op.shared_expert) {
        const Seconds hidden = std::min(routed, std::max(Seconds(0), term.time.value - least));
        routed -= hidden;
        term.time.value -= hidden;
      }
      step.kernels += term.time.value;
      launched += op.count;
      moves.add_kernel(op, term.time.value);
    }
    sum.add(family_of(op.op), term.time, numbers.of(call));
    if (with_terms) step.terms.push_back(with_op());
  }

  for (const OverlappedMoves::Move& move : moves.exposed()) {
    step.communication += move.term.time.value;
    sum.add(family_of(move.term.op.op), move.time, move.kernel);
    if (with_terms) step.terms.push_back(move.term);
  }

  // Launches of a layer in a step replayed in pieces: attention, and the graph after it.
  constexpr double kPieces = 2;
  step.launches = step.replayed ? x.graph_launch * program.layers
                  : in_pieces   ? x.launch * (kPieces * program.layers)
                                : x.launch * launched + x.host_per_layer * program.layers +
                                    x.host_per_moe_layer * (decoding ? 0 : moe_layers);
  step.host = x.host_per_step + x.host_per_sequence * static_cast<double>(program.sequences);

  // The GPU's time of the step and the host's. The host's error is part of both, and their
  // correlation enters maximum().
  const Seconds gpu = step.kernels + step.communication;
  const Seconds gaps = step.replayed || in_pieces ? Seconds(0) : x.kernel_gap * launched;
  step.serial_host = x.host_overlapped ? Seconds(0) : step.host;
  const Seconds waits = gaps + step.serial_host;
  Seconds host_way =
      decoding || in_pieces ? step.launches : std::max(step.launches, x.prefill_floor);
  host_way = x.host_overlapped ? std::max(host_way, step.host) : host_way + step.host;
  if (waits > Seconds(0)) sum.add(Family::kHost, {waits, kHostError, 0, Origin::kFitted});
  const Estimate<Seconds> gpu_way = sum.total();
  step.total = maximum(gpu_way, {host_way, kHostError, 0, Origin::kFitted},
                       kHostError * waits.value() * kHostError * host_way.value());
  // The parts are summed in two orders; a difference within rounding is not exposed time.
  constexpr double kRounding = 1e-9;
  const Seconds exposed = step.total.value - gpu;
  step.exposed = exposed > step.total.value * kRounding ? exposed : Seconds(0);
  step.total.origin =
      step.exposed > Seconds(0) ? std::max(gpu_way.origin, Origin::kFitted) : gpu_way.origin;
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
