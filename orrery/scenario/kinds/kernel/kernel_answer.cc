#include "orrery/scenario/kinds/kernel/kernel_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "orrery/base/error.h"
#include "orrery/kernel/tiers/clocked_kernels.h"
#include "orrery/scenario/kinds/kernel/kernel_ops.h"
#include "orrery/scenario/setup/board_governor.h"

namespace orrery {
namespace {

// The substitute for a format that the GPU does not multiply; empty if it needs none.
std::string substitute(const Op& op, const Gpu& gpu) {
  const Dtype wanted = arithmetic(op), used = gpu.compute_dtype(wanted);
  if (flops(op) <= Flops(0) || used == wanted) return "";
  return fmt::format("; {} has no {}: {} instead", gpu.id, to_text(wanted), to_text(used));
}

// A call, and the power of the board during it.
struct TimedCall {
  KernelTime time;
  std::optional<Estimate<Watts>> power;
  std::optional<BoardClock> clock;  // where the knobs ask for one
};

TimedCall timed(const Op& op, const KernelBoard& b, bool repeated) {
  const auto at = [&](double slowdown) {
    const ClockedKernels model(b.model, slowdown);
    return repeated ? model.predict_repeated(op) : model.predict(op);
  };
  TimedCall out{at(1), {}, {}};
  if (b.power == nullptr) {
    if (b.knobs.any())
      throw NoData(fmt::format("hardware: no power of the board of {} is known", b.gpu.id));
    return out;
  }
  out.power = b.power->kernel(op, out.time);
  if (!b.knobs.any()) return out;
  const BoardPower& board = b.power->board();
  check_knobs(b.gpu, board.awake.value, b.knobs);
  out.clock = b.power->clock(b.gpu, b.knobs, op, at);
  out.time = at(out.clock->slowdown);
  out.time.time.shared = std::hypot(out.time.time.shared, out.clock->error);
  out.power = saved_power(*out.power, out.clock->power, b.knobs, board.regulated);
  return out;
}

void add_power(const TimedCall& call, const KernelBoard& b, Point& p) {
  const Watts limit = b.knobs.limit.value_or(b.power->board().limit);
  p.metrics.push_back(power_metric(*call.power, limit));
  p.metrics.push_back(metric("energy@kernel", energy_of(*call.power, call.time.time)));
  if (call.clock) p.metrics.push_back(clock_metric(call.clock->clock, call.clock->error, b.gpu));
}

Point time_of_kernel(Facts& facts, const Op& op, const KernelBoard& board, bool repeated,
                     const CallChoice& accounts) {
  const Gpu& gpu = board.gpu;
  const KernelModel& model = board.model;
  const TimedCall call = timed(op, board, repeated);
  const KernelTime& t = call.time;
  const Flops work = flops(op);
  const Bytes moved = bytes(op);
  Point p;
  p.metrics.push_back(metric("time", t.time));
  if (work > Flops(0))
    p.metrics.push_back(exact_metric("compute_roofline", t.compute.value() * 1e6));
  p.metrics.push_back(exact_metric("memory_roofline", t.memory.value() * 1e6));
  p.metrics.push_back(
      rate_metric("efficiency", 100 * std::max(t.compute, t.memory).value(), t.time));
  if (work > Flops(0)) {
    const Dtype dtype = gpu.compute_dtype(arithmetic(op));
    p.at["arithmetic"] = to_text(dtype);
    p.metrics.push_back(rate_metric("rate", work.value() / 1e12, t.time));
    p.metrics.push_back(exact_metric("peak_rate", gpu.peak(dtype).value() / 1e12));
  }
  p.metrics.push_back(rate_metric("bandwidth", moved.value() / 1e9, t.time));
  p.metrics.push_back(exact_metric("peak_bandwidth", gpu.memory.bandwidth.value() / 1e9));
  if (call.power) add_power(call, board, p);
  if (accounts.asked()) {
    AccountedCall accounted{
        .gpu = gpu, .node = "", .gpus = 1, .time = t.time, .power = call.power, .limit = {}};
    if (board.power != nullptr)
      accounted.limit = board.knobs.limit.value_or(board.power->board().limit);
    add_call_account(facts, accounts, accounted, p);
  }
  p.at["bound"] = to_text(t.bound);
  note_unknown(gpu.architecture, p.notes);
  p.notes.insert(p.notes.begin(), model.provenance(op) + substitute(op, gpu) +
                                      (repeated ? "; repeated on the same operands" : ""));
  return p;
}

}  // namespace

KernelClasses classes_of(const KernelQuestion& q) {
  KernelClasses c = kernels_of(q.framework);
  if (q.framework == "pytorch") c.rows = q.framework;
  return c;
}

Point answer_kernel(Facts& facts, const KernelQuestion& q, const KernelBoard& board,
                    const CallChoice& accounts) {
  const bool has_context = reads(q, "context");
  const Op op = make_op(q, q.m, has_context ? q.context : 0);
  Point p = time_of_kernel(facts, op, board, q.repeated, accounts);
  nlohmann::ordered_json at = {{"op", q.op}, {"gpu", board.gpu.id}, {"m", q.m}};
  if (has_context) at["context"] = q.context;
  at["sizes"] = describe(op);
  at.update(p.at);
  p.at = std::move(at);
  return p;
}

}  // namespace orrery
