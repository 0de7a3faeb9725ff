#include "orrery/scenario/kernel/kernel_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "orrery/scenario/question/kernel_ops.h"

namespace orrery {
namespace {

// The substitute for a format that the GPU does not multiply; empty if it needs none.
std::string substitute(const Op& op, const Gpu& gpu) {
  const Dtype wanted = arithmetic(op), used = gpu.compute_dtype(wanted);
  if (flops(op) <= Flops(0) || used == wanted) return "";
  return fmt::format("; {} has no {}: {} instead", gpu.id, to_text(wanted), to_text(used));
}

void add_power(const PowerModel& model, const Op& op, const KernelTime& time, Point& p) {
  const Estimate<Watts> power = model.kernel(op, time);
  p.metrics.push_back(power_metric(power, model.board().limit));
  p.metrics.push_back(metric("energy", "mJ", energy_of(power, time.time), 1e-3));
}

Point time_of_kernel(const Op& op, const Gpu& gpu, const KernelModel& model,
                     const PowerModel* power, bool repeated) {
  const KernelTime t = repeated ? model.predict_repeated(op) : model.predict(op);
  const Flops work = flops(op);
  const Bytes moved = bytes(op);
  Point p;
  p.metrics.push_back(metric("time", "us", t.time, 1e-6));
  if (work > Flops(0))
    p.metrics.push_back(exact_metric("compute_roofline", "us", t.compute.value() * 1e6));
  p.metrics.push_back(exact_metric("memory_roofline", "us", t.memory.value() * 1e6));
  p.metrics.push_back(
      rate_metric("efficiency", "%", 100 * std::max(t.compute, t.memory).value(), t.time));
  if (work > Flops(0)) {
    const Dtype dtype = gpu.compute_dtype(arithmetic(op));
    p.at["arithmetic"] = to_text(dtype);
    p.metrics.push_back(rate_metric("rate", "TFLOP/s", work.value() / 1e12, t.time));
    p.metrics.push_back(exact_metric("peak_rate", "TFLOP/s", gpu.peak(dtype).value() / 1e12));
  }
  p.metrics.push_back(rate_metric("bandwidth", "GB/s", moved.value() / 1e9, t.time));
  p.metrics.push_back(exact_metric("peak_bandwidth", "GB/s", gpu.memory.bandwidth.value() / 1e9));
  if (power != nullptr) add_power(*power, op, t, p);
  p.at["bound"] = to_text(t.bound);
  p.notes = {model.provenance(op) + substitute(op, gpu) +
             (repeated ? "; repeated on the same operands" : "")};
  return p;
}

}  // namespace

KernelClasses classes_of(const KernelQuestion& q) {
  KernelClasses c = kernels_of(q.framework);
  if (q.framework == "pytorch") c.rows = q.framework;
  return c;
}

Point answer_kernel(const KernelQuestion& q, const Gpu& gpu, const KernelModel& model,
                    const PowerModel* power) {
  const bool has_context = reads(q, "context");
  const Op op = make_op(q, q.m, has_context ? q.context : 0);
  Point p = time_of_kernel(op, gpu, model, power, q.repeated);
  nlohmann::ordered_json at = {{"op", q.op}, {"gpu", gpu.id}, {"m", q.m}};
  if (has_context) at["context"] = q.context;
  at["sizes"] = describe(op);
  at.update(p.at);
  p.at = std::move(at);
  return p;
}

}  // namespace orrery
