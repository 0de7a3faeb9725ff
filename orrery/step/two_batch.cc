#include "orrery/step/two_batch.h"

#include <algorithm>
#include <utility>
#include <variant>

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
  return spec >= 0 && static_cast<std::size_t>(spec) < specs.size() &&
         specs[static_cast<std::size_t>(spec)];
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
  windows_.resize(moving_.size());
  for (const ProgramOp& op : program.ops) low_latency_ |= op.move && op.move->low_latency;
}

void OverlappedMoves::add_move(const StepTerm& term, double held, std::size_t kernel) {
  moves_.push_back({term, term.time, kernel});
  Window& w = windows_[static_cast<std::size_t>(term.op.spec)]
                      [term.op.move->combine ? kCombine : kDispatch];
  w.moved += term.time.value;
  w.held += term.time.value * held;
}

OverlappedMoves::WindowOf OverlappedMoves::window_of(const ProgramOp& op) const {
  const bool routed = std::holds_alternative<MoeExperts>(op.op);
  if (!low_latency_) return routed || op.shared_expert ? kCombine : kDispatch;
  if (routed) return kNone;
  return op.shared_expert || !in_core_ ? kDispatch : kCombine;
}

void OverlappedMoves::add_kernel(const ProgramOp& op, Seconds time) {
  if (!on_ || !is_in(moving_, op.spec)) return;
  if (op.spec != spec_) spec_ = op.spec, in_core_ = false;
  in_core_ |= attends(op.op) || std::holds_alternative<LinearAttentionCore>(op.op);
  const WindowOf window = window_of(op);
  if (window != kNone) windows_[static_cast<std::size_t>(op.spec)][window].kernels += time;
}

std::vector<OverlappedMoves::Move> OverlappedMoves::exposed() const {
  std::vector<Move> out = moves_;
  for (Move& m : out) {
    const Window& w = windows_[static_cast<std::size_t>(m.term.op.spec)]
                              [m.term.op.move->combine ? kCombine : kDispatch];
    if (w.moved <= Seconds(0)) continue;
    const double share = std::max({Seconds(0), w.moved - w.kernels, w.held}) / w.moved;
    m.term.time.value *= share;
    m.error = m.term.time;
    if (w.moved > w.kernels + w.held) m.error.shared /= share, m.error.own /= share;
  }
  return out;
}

}  // namespace orrery
