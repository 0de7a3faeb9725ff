#include "orrery/kernel/transfer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace orrery {
namespace {

// Relative errors of a relative's surface, shared by all ops of the family and of each op its own:
// from a GPU of the same generation and near to it, and from another generation. Rounded from
// `orrery fit kernels --transfer` (docs/kernels.md): H100, H200, B200 and B300 from each other;
// A100 and L40S from the rest.
struct TransferError {
  std::string_view family;
  double shared, own, far_shared, far_own;
};
constexpr std::array<TransferError, 7> kErrors = {{
    {"gemm", 0.08, 0.09, 0.20, 0.28},
    {"attention_prefill", 0.12, 0.10, 0.35, 0.40},
    {"attention_decode", 0.09, 0.08, 0.35, 0.35},
    {"moe", 0.11, 0.08, 0.30, 0.38},
    {"mla", 0.09, 0.06, 0.45, 0.60},
    {"mla_bmm", 0.08, 0.06, 0.25, 0.25},
    {"linear_attention", 0.08, 0.10, 0.30, 0.30},
}};

const TransferError& error_of(std::string_view family) {
  static constexpr TransferError kUnknown = {"", 0.10, 0.10, 0.35, 0.40};
  for (const TransferError& e : kErrors) {
    if (e.family == family) return e;
  }
  return kUnknown;
}

bool same_generation(const Gpu& a, const Gpu& b) {
  return a.vendor == b.vendor && a.architecture == b.architecture &&
         a.sm_version / 10 == b.sm_version / 10;
}

// |log| of a ratio of which a data sheet gives one side only.
constexpr double kUnknownRatio = 0.5;

}  // namespace

double distance(const Gpu& a, const Gpu& b) {
  auto ratio = [](double x, double y) {
    return x > 0 && y > 0 ? std::abs(std::log(x / y)) : kUnknownRatio;
  };
  auto rate = [](const Gpu& g) { return rate_for(Dtype::kBf16, g).value(); };
  auto shared = [](const Gpu& g) { return g.shared_memory ? g.shared_memory->value() : 0; };
  auto per_unit = [&](const Gpu& g) { return g.compute_units > 0 ? rate(g) / g.compute_units : 0; };
  auto power = [&](const Gpu& g) { return g.power ? g.power->value() / rate(g) : 0; };
  auto stacked = [](const Gpu& g) { return g.memory.kind.starts_with("HBM"); };
  double d = same_generation(a, b) ? 0 : kOtherGeneration;
  if (a.sm_version != b.sm_version) d += 0.2;
  if (stacked(a) != stacked(b)) d += 1;
  d += 2 * ratio(shared(a), shared(b)) + ratio(per_unit(a), per_unit(b));
  d += 0.5 * ratio(rate(a) / a.memory.bandwidth.value(), rate(b) / b.memory.bandwidth.value());
  d += 0.5 * ratio(power(a), power(b));
  return d;
}

ServingSurface choose_surface(
    std::string_view family, const KernelFamily::KernelClass& wanted,
    std::span<const MeasuredGpu> measured,
    const std::function<const SurfaceFile&(const std::string& gpu)>& load) {
  const TransferError& error = error_of(family);
  ServingSurface best;
  double best_penalty = std::numeric_limits<double>::infinity();
  for (const KernelFamily::Choice& choice : wanted.choices) {
    for (const MeasuredGpu& m : measured) {
      double shared = 0, own = 0;
      if (!m.own) {
        // Within a generation the error grows with the distance, up to that of another one.
        const bool near = m.distance < kOtherGeneration;
        shared =
            near ? std::min(error.shared * (1 + m.distance), error.far_shared) : error.far_shared;
        own = near ? error.own : error.far_own;
      }
      // The distance decides between relatives of the same error.
      const double penalty = shared + choice.error + 0.01 * m.distance;
      if (penalty >= best_penalty) continue;
      const SurfaceFile& file = load(m.id);
      const Surface* surface = file.find(choice.name);
      if (!surface) continue;
      best_penalty = penalty;
      best.surface = surface;
      best.file = &file;
      best.gpu = m.id;
      best.factor = choice.factor;
      best.own = std::hypot(surface->own, own);
      best.shared = std::hypot(surface->shared, shared, choice.error);
      best.origin = m.own && choice.error == 0 ? Origin::kMeasured : Origin::kTransferred;
    }
  }
  return best;
}

}  // namespace orrery
