#include "orrery/workload/ops/products.h"

#include <fmt/format.h>

#include <algorithm>

namespace orrery {
namespace {

// Results and intermediate activations of a product: 32 bits wide after a 32-bit product, else 16.
Bytes result_bytes(Format format) {
  return format == Format::kFp32 || format == Format::kTf32 ? Bytes(4) : Bytes(2);
}

// Token-expert pairs that the busiest rank computes.
double busiest_slots(const MoeExperts& m) {
  const double mean = real(m.tokens) * m.top_k / m.ep;
  if (m.skew == 0 || m.ep == 1) return mean;
  return mean * expert_imbalance(m.tokens, m.experts, m.top_k, m.ep, m.skew);
}

std::string_view dispatch_text(MoeExperts::Dispatched d) {
  return d == MoeExperts::Dispatched::kNo       ? ""
         : d == MoeExperts::Dispatched::kDecode ? ", dispatched (decode)"
                                                : ", dispatched (prefill)";
}

}  // namespace

Flops Gemm::flop_count() const { return Flops(2 * real(batch) * real(m) * real(n) * real(k)); }

Bytes Gemm::byte_count() const {
  const FormatProperties& f = properties(format);
  const double rows = real(m), columns = real(n), inner = real(k);
  return real(batch) *
         (rows * inner * f.activation + inner * columns * (weight ? f.weight : f.activation) +
          rows * columns * result_bytes(format));
}

Dtype Gemm::arithmetic() const { return properties(format).arithmetic; }

std::string Gemm::description() const {
  return fmt::format("gemm {} {}[{}, {}] x [{}, {}]{}", properties(format).name,
                     batch > 1 ? fmt::format("{} x ", batch) : std::string(), m, k, k, n,
                     gradient ? " (gradient)" : "");
}

GemmGradients gradients(const Gemm& forward) {
  GemmGradients g{forward, forward};
  g.first.n = forward.k;
  g.first.k = forward.n;
  g.second.m = forward.k;
  g.second.k = forward.m;
  g.second.weight = false;
  g.first.gradient = g.second.gradient = true;
  return g;
}

Flops MoeExperts::flop_count() const {
  return Flops(2 * busiest_slots(*this) * (gated ? 3 : 2) * hidden * intermediate / tp);
}

Bytes MoeExperts::byte_count() const {
  const double slots = busiest_slots(*this);
  const double here = std::min(real(tokens), slots);  // tokens with an expert on this rank
  const double inner = 1.0 * intermediate / tp;
  const double active = expected_active_experts(tokens, experts, top_k, skew) / ep;
  const double weights = active * (gated ? 3 : 2) * hidden * inner;
  const Bytes element = result_bytes(format);
  return weights * properties(format).weight + (2 * here * hidden + 2 * slots * inner) * element;
}

Dtype MoeExperts::arithmetic() const { return properties(format).arithmetic; }

std::string MoeExperts::description() const {
  return fmt::format("moe {}: {} tokens, {} of {} experts, {} x {}, tp {}, ep {}{}{}",
                     properties(format).name, tokens, top_k, experts, hidden, intermediate, tp, ep,
                     skew > 0 ? fmt::format(", power law {}", skew) : std::string(),
                     dispatch_text(dispatched));
}

}  // namespace orrery
