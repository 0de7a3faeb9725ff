#include "orrery/step/two_batch.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "orrery/base/index.h"

namespace orrery {
namespace {

constexpr std::int64_t kLeastDecoding = 32, kLeastTokens = 512;

// By LayerSpec: whether the layers move tokens by DeepEP's kernels.
std::vector<bool> moving_specs(const Program& program) {
  std::vector<bool> moving;
  for (const ProgramOp& op : program.ops) {
    if (!op.move) continue;
    const auto spec = static_cast<std::size_t>(op.spec);
    if (moving.size() <= spec) moving.resize(spec + 1);
    moving[spec] = true;
  }
  return moving;
}

bool is_in(const std::vector<bool>& specs, int spec) {
  return spec >= 0 && static_cast<std::size_t>(spec) < specs.size() && specs[index(spec)];
}

}  // namespace

bool in_two_batches(const ParallelPlan& plan, std::int64_t tokens, bool decoding) {
  return plan.experts.two_batch && plan.dispatches() &&
         tokens >= (decoding ? kLeastDecoding : kLeastTokens);
}

Batch half_of(const Batch& batch, int dp) {
  Batch half = batch;
  const std::int64_t ranks = batch.all_tokens > 0 ? 1 : dp;
  for (SequenceGroup& g : half.groups) {
    if (g.sequences > ranks) {
      g.sequences = (g.sequences + 1) / 2;
    } else if (g.new_tokens > 1 && !g.verify) {
      // Tokens of the second half attend to those of the first.
      g.past += static_cast<double>(g.new_tokens) / 4;
      g.new_tokens = (g.new_tokens + 1) / 2;
    }
  }
  half.all_tokens = (batch.all_tokens + 1) / 2;
  return half;
}

Program two_batches(Program whole, const Program& half) {
  const std::vector<bool> moving = moving_specs(half);
  std::vector<ProgramOp> ops;
  ops.reserve(whole.ops.size());
  int last = -1;  // LayerSpec whose ops have been taken from the half
  for (ProgramOp& op : whole.ops) {
    if (!is_in(moving, op.spec)) {
      ops.push_back(std::move(op));
    } else if (op.spec != last) {
      last = op.spec;
      for (ProgramOp twice : half.ops) {
        if (twice.spec != last) continue;
        twice.count *= 2;
        ops.push_back(std::move(twice));
      }
    }
  }
  whole.ops = std::move(ops);
  return whole;
}

OverlappedMoves::OverlappedMoves(const Program& program, bool on) : on_(on) {
  if (!on_) return;
  moving_ = moving_specs(program);
  layers_.resize(moving_.size());
  for (const ProgramOp& op : program.ops) low_latency_ |= op.move && op.move->low_latency;
}

bool OverlappedMoves::halves(const ProgramOp& op) const { return on_ && is_in(moving_, op.spec); }

void OverlappedMoves::add_move(const StepTerm& term, Seconds call) {
  moves_.push_back({term, term.time, call});
  Layers& l = layers_[index(term.op.spec)];
  (term.op.move->combine ? l.combine : l.dispatch) += term.time.value;
}

void OverlappedMoves::add_kernel(const ProgramOp& op, Seconds time) {
  if (!halves(op)) return;
  if (op.spec != spec_) spec_ = op.spec, in_core_ = false;
  in_core_ |= attends(op.op) || std::holds_alternative<LinearAttentionCore>(op.op);
  Layers& l = layers_[index(op.spec)];
  Seconds& part = std::holds_alternative<MoeExperts>(op.op) ? l.experts
                  : op.shared_expert                        ? l.shared
                  : in_core_                                ? l.core
                                                            : l.before_core;
  part += time;
}

namespace {

// Adds what of a move a window leaves.
void expose(Seconds move, Seconds window, Seconds& time, Seconds& moves) {
  if (move <= window) return;
  time += move - window;
  moves += move;
}

}  // namespace

OverlappedMoves::Exposed OverlappedMoves::dispatch(const Layers& l) const {
  const Seconds attention = l.before_core + l.core;
  const Seconds a = l.shared + (low_latency_ ? l.before_core : attention);
  const Seconds b = low_latency_ ? l.shared : l.experts;
  Exposed x;
  for (const Seconds window : {a, b}) expose(l.dispatch / 2, window / 2, x.time, x.moves);
  return x;
}

OverlappedMoves::Exposed OverlappedMoves::combine(const Layers& l) const {
  const Seconds attention = l.before_core + l.core;
  const Seconds a = low_latency_ ? l.core : l.experts + l.shared;
  const Seconds b = low_latency_ ? l.before_core : attention + 2 * l.shared;
  Exposed x;
  for (const Seconds window : {a, b}) expose(l.combine / 2, window / 2, x.time, x.moves);
  // Windows of several moves overlap, and the wires do not carry them all at once.
  const Seconds hidden = attention + l.experts + l.shared + dispatch(l).time + x.time;
  const Seconds moves = l.dispatch + l.combine;
  if (hidden < moves) x = {std::min(l.combine, x.time + moves - hidden), l.combine};
  return x;
}

std::vector<OverlappedMoves::Move> OverlappedMoves::exposed() const {
  std::vector<Move> out = moves_;
  for (Move& m : out) {
    const Layers& l = layers_[index(m.term.op.spec)];
    const Seconds whole = m.term.op.move->combine ? l.combine : l.dispatch;
    if (whole <= Seconds(0)) continue;
    const Exposed x = m.term.op.move->combine ? combine(l) : dispatch(l);
    m.term.time.value *= x.time / whole;
    m.time = m.term.time;
    if (x.time > Seconds(0)) m.time.shared *= x.moves / x.time, m.time.own *= x.moves / x.time;
  }
  return out;
}

}  // namespace orrery
