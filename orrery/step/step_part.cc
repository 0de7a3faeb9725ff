#include "orrery/step/step_part.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "orrery/base/index.h"

namespace orrery {
namespace {

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
                     const StepFacts& facts) {
  const double c = t.compute.value(), m = t.memory.value();
  const double compute_share = c + m > 0 ? c * c / (c * c + m * m) : 0;
  double factor =
      power(k.compute_factor, compute_share) * power(k.memory_factor, 1 - compute_share);
  if (std::holds_alternative<PrefillAttention>(op.op)) factor *= k.prefill_attention_factor;
  if (!facts.decoding && std::holds_alternative<MoeExperts>(op.op)) factor *= k.moe_prefill_factor;
  const auto* decode = std::get_if<DecodeAttention>(&op.op);
  if (decode) factor *= decode_attention_factor(k, *decode);
  if (decode && facts.mixed) factor *= mixed_decode_factor(k, *decode);
  return factor;
}

}  // namespace

double mixed_decode_factor(const EngineProfile::Kernels& kernels, const DecodeAttention& decode) {
  return std::pow(1.0 * decode.heads / decode.kv_heads, kernels.mixed_decode_exponent);
}

void TimeSum::add(Family family, const Estimate<Seconds>& time, Seconds call) {
  const double v = time.value.value(), own = v * time.own;
  total_ += v;
  shared_[index(family)] += v * time.shared;
  origin_ = std::max(origin_, time.origin);
  if (call <= Seconds(0)) {
    own_squared_ += own * own;
    return;
  }
  for (Kernel& k : kernels_) {
    if (k.call != call) continue;
    k.own += own;
    return;
  }
  if (kernels_.size() < kMostKernels) {
    if (kernels_.empty()) kernels_.reserve(kMostKernels / 4);
    kernels_.push_back({call, own});
    return;
  }
  Kernel& other = kernels_[std::bit_cast<std::uint64_t>(call.value()) * 0x9E3779B97F4A7C15u >> 58];
  other = {call, other.own + own};
}

Estimate<Seconds> TimeSum::total() const {
  if (total_ == 0) return {Seconds(0), 0, 0, origin_};
  double shared_squared = 0, own_squared = own_squared_;
  for (const double s : shared_) shared_squared += s * s;
  for (const Kernel& k : kernels_) own_squared += k.own * k.own;
  return {Seconds(total_), std::sqrt(shared_squared) / total_, std::sqrt(own_squared) / total_,
          origin_};
}

void PartSum::add(const StepPart& part) {
  if (part.left_out) return;
  count(part);
  add_time(part);
  if (part.kind.name.empty()) return;
  for (StepKind& k : kinds) {
    if (k.name != part.kind.name || k.arithmetic != part.kind.arithmetic) continue;
    k.time += part.time.value, k.flops += part.kind.flops, k.bytes += part.kind.bytes;
    return;
  }
  kinds.push_back(part.kind);
  kinds.back().time = part.time.value;
}

StepParts::StepParts(const EngineProfile& engine, const KernelModel& kernels,
                     const NetworkModel& network, const StepFacts& facts, bool kinds)
    : engine_(engine),
      kernels_(kernels),
      network_(network),
      facts_(facts),
      kinds_(kinds),
      later_(facts.first_stage ? 1 : engine.kernels.later_stage_factor) {}

StepPart StepParts::of(const ProgramOp& op, double beside_moves) {
  StepPart part;
  part.left_out = op.fusible && engine_.execution.fused;
  if (part.left_out) return part;
  part.calls = op.count;
  part.family = family_of(op.op);
  if (const auto* c = std::get_if<Collective>(&op.op)) {
    collective(op, *c, part);
  } else {
    kernel(op, beside_moves, part);
  }
  return part;
}

void StepParts::collective(const ProgramOp& op, const Collective& c, StepPart& part) const {
  const CollectiveTime t =
      op.move ? network_.exchange(exchange_of(*op.move, kExchangeSms), c.group, c.ranks)
              : network_.predict(c);
  part.network = true;
  part.time = t.time;
  part.call = t.time.value;
  if (!op.move)
    part.time.value += engine_.execution.collective_latency * std::log2(std::max(c.ranks, 1));
  part.time = part.time.scaled(op.count);
}

void StepParts::kernel(const ProgramOp& op, double beside_moves, StepPart& part) {
  const KernelTime t = kernels_.predict(op.op);
  part.bound = t.bound;
  part.compute = t.compute * op.count, part.memory = t.memory * op.count;
  part.call = t.time.value;
  if (kinds_)
    part.kind = {
        kind_name(op.op), arithmetic(op.op), {}, flops(op.op) * op.count, bytes(op.op) * op.count};
  part.time = t.time.scaled(op.count * later_ * engine_factor(engine_.kernels, op, t, facts_));
  if (beside_moves > 0 && t.bound == Bound::kCompute) part.time.value /= 1 - beside_moves;
  const Seconds least = std::max(t.compute, t.memory) * op.count;
  // The engine's factor never makes a compute-bound kernel faster than the data sheet's roofline.
  if (t.compute > t.memory) part.time.value = std::max(part.time.value, least);
  // A kernel faster than the roofline had its operands in the cache and has no share of the peak.
  if (part.time.value > least) part.of_peak = least / part.time.value;
  if (std::holds_alternative<MoeExperts>(op.op)) {
    part.experts = true;
    part.time.shared = std::hypot(part.time.shared, engine_.experts_error);
    routed_ = part.time.value;
  }
  // The time in which shared experts read their weights is never hidden.
  if (facts_.shared_stream && op.shared_expert) {
    const Seconds hidden = std::min(routed_, std::max(Seconds(0), part.time.value - least));
    routed_ -= hidden;
    part.time.value -= hidden;
  }
}

}  // namespace orrery
