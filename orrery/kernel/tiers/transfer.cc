#include "orrery/kernel/tiers/transfer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace orrery {
namespace {

// Relative error (one standard deviation of the logarithm) of what a relative's surface gives: from
// a sister of the same generation, and from the nearest GPU of another one, at the distance of
// Hopper and B200. A single kernel's interval has Student's tails, so one number serves both bands;
// set between what half and what nine tenths of the rows ask for. `near`: H100 from H200 and B200
// from B300 (`orrery validate kernels --tier transferred --rows all`); the other way round, H200
// and B300, judges (docs/kernels.md). `far`: B200 from Hopper.
struct TransferError {
  std::string_view family;
  double near, far;
};
constexpr std::array<TransferError, 8> kErrors = {{
    {"gemm", 0.070, 0.26},
    {"attention_prefill", 0.049, 0.25},
    {"attention_decode", 0.045, 0.29},
    {"moe", 0.062, 0.29},
    {"mla", 0.058, 0.21},
    {"mla_module", 0.053, 0.37},
    {"mla_bmm", 0.069, 0.26},
    {"linear_attention", 0.078, 0.55},
}};
constexpr double kTransferShared = 0.6,
                 kTransferOwn = 0.8;      // of the error; in quadrature they make it
constexpr double kFarDistance = 4.3;      // of B200 and H200
constexpr double kReplacedFactor = 1.15;  // a known replacement widens the error

const TransferError& error_of(std::string_view family) {
  static constexpr TransferError kUnknown = {"", 0.080, 0.40};
  for (const TransferError& e : kErrors) {
    if (e.family == family) return e;
  }
  return kUnknown;
}

// Floor and set-up of 16-bit products, over those of the generation before. H100 from A100 asks for
// 0.6, from L40S for 0.75 (all rows; mean error 28 to 20 and 31 to 29.5 %); B200 from Hopper, which
// was looked at afterwards, for 0.8. Of fp8 products, which begin with kernels that quantise, and
// of attention there is no such trend.
constexpr double kLaterLatency = 0.75;

// Within a generation: what kernels reach of their limits at best, as time over base. Time beyond
// that is latency (few blocks, dependent steps), which has no reason to follow bandwidth or peak.
// From H100 and H200 predicted from each other: 1.0 to 1.3 for memory and 1.2 to 2.2 for
// arithmetic change the errors by less than one point.
constexpr double kMemoryLimit = 1 / 0.82, kComputeLimit = 1.6;

// Share of the passes over the tokens of a layer of experts (routing, gather, scatter; moe.cc) that
// follows the bandwidth within a generation; between generations all of it does. Regressions of
// H200's times over H100's, class by class, give 0.1 to 0.25 (the bandwidth differs by 0.30, the
// times by 0.03 to 0.06 of it). The least error of predicting both from each other is at 0.2 to
// 0.3.
constexpr double kPassesByBandwidth = 0.25;

// A series of a relative (one model's experts) that is this far above the surface that all shapes
// share, in logs, is a kernel that the relative's library chose badly, not physics: TensorRT-LLM's
// bf16 experts take five times their neighbours' time at single splits over ranks, at others on
// H100 than on H200.
constexpr float kBadlyChosen = 0.5;

// Base on `here` as it matters within a generation.
Seconds base_within(const Op& op, const KernelPoint& here, const KernelPoint& relative) {
  if (!std::holds_alternative<MoeExperts>(op)) return here.base;
  const Seconds kept =
      relative.base + (here.compute - relative.compute) + (here.memory - relative.memory);
  const Seconds mixed = kept + (here.base - kept) * kPassesByBandwidth;
  return here.base < relative.base ? std::clamp(mixed, here.base, relative.base)
                                   : std::clamp(mixed, relative.base, here.base);
}

// How much of the change of compute + memory between two GPUs is that of compute, 0 to 1.
double compute_change(const KernelPoint& here, const KernelPoint& relative) {
  const auto change = [](Seconds a, Seconds b) { return std::abs(a.value() - b.value()); };
  const double compute = change(here.compute, relative.compute),
               memory = change(here.memory, relative.memory);
  return compute + memory > 0 ? compute / (compute + memory) : 0;
}

// Dense products run into the power limit: dynamic power grows with the cube of the clock, so that
// the clock follows the cube root of the power that a FLOP/s may take. A100 (1.28 W per TFLOP/s of
// bf16) is not held back, H100 (0.71) reaches 0.93 of its share of the peak: the limit begins at
// about 0.9.
constexpr double kFullPower = 0.9e-12;  // W per FLOP/s of bf16; of narrower formats by their width
// Boards with GDDR share less of their power with the tensor cores and are held back earlier and
// harder: they run at their lowest voltage, where the clock follows the power itself. L40S (0.97)
// reaches 0.57 of its peak, RTX PRO 6000 (1.28) 0.86, RTX 4090 (2.7) all of it (kernel sweeps and
// measured layers, docs/data.md). The law holds from one such board to another.
constexpr double kFullPowerGddr = 1.7e-12;

// Share of its peak in this number format that the power of `g` allows, where `full` is enough for
// all of it.
double held_by_power(Dtype arithmetic, const KernelGpu& g, double full) {
  const Dtype used = g.compute_dtype(arithmetic);
  const double width = bytes_per_element(used) / bytes_per_element(Dtype::kBf16);
  return std::min(1.0, g.power->value() / g.rate(used).value() / (full * width));
}

bool gddr_boards(const KernelGpu& a, const KernelGpu& b) {
  return a.memory.kind.starts_with("GDDR") && b.memory.kind.starts_with("GDDR");
}

// How much faster `here` is than `relative` in this number format, each measured by its peak.
double power_gain(Dtype arithmetic, const KernelGpu& here, const KernelGpu& relative) {
  if (!here.power || !relative.power) return 1;
  const auto held = [&](const KernelGpu& g, double full) {
    return held_by_power(arithmetic, g, full);
  };
  if (gddr_boards(here, relative))
    return held(here, kFullPowerGddr) / held(relative, kFullPowerGddr);
  return std::cbrt(held(here, kFullPower) / held(relative, kFullPower));
}

// The same for prefill on boards with GDDR, which other kernels of attention load less than
// products do. A kernel draws power for its work: on the relative it was held back the more, the
// closer it comes there to the rate that the power allows (in logs, by that share). On L40S
// FlashAttention 2 reaches 0.45 to 0.55 of the peak and TensorRT-LLM's kernel 0.38, where its power
// allows 0.57; A100, which is not held back, gives them 0.56 to 0.66 and 0.47. `reached`: share of
// the peak that the call reached on the relative.
double prefill_power_gain(Dtype arithmetic, double reached, const KernelGpu& here,
                          const KernelGpu& relative) {
  if (!here.power || !relative.power || !gddr_boards(here, relative)) return 1;
  const double allowed = held_by_power(arithmetic, relative, kFullPowerGddr);
  return std::pow(power_gain(arithmetic, here, relative), std::min(1.0, reached / allowed));
}

// Exponentials (exponentials_per_second) in the families whose base has none: the share is their
// time over that of the products. Kernels overlap the two in part: the weight is that of prefill
// (attention.cc).
constexpr double kSoftmaxWeight = 0.8;
constexpr double kLatentPairWidth = 192 + 128;  // expanded heads of DeepSeek V2 and V3

double softmax_share(const Op& op, const KernelGpu& gpu) {
  double width = 0;  // multiply-adds of a pair
  if (const auto* a = std::get_if<PrefillAttention>(&op); a && !a->causal)
    width = a->head_dim + a->value_dim;
  if (const auto* a = std::get_if<LatentAttentionCore>(&op); a && !a->decode)
    width = kLatentPairWidth;
  const double exponentials = gpu.exponentials_per_second();
  if (width == 0 || exponentials == 0) return 0;
  return gpu.rate(arithmetic(op)).value() / (2 * width) / exponentials;
}

// |log| of a ratio of which a data sheet gives one side only.
constexpr double kUnknownRatio = 0.5;

}  // namespace

bool same_generation(const Gpu& a, const Gpu& b) {
  return a.vendor == b.vendor && a.architecture.kernels == b.architecture.kernels;
}

double distance(const KernelGpu& a, const KernelGpu& b) {
  auto ratio = [](double x, double y) {
    return x > 0 && y > 0 ? std::abs(std::log(x / y)) : kUnknownRatio;
  };
  auto rate = [](const KernelGpu& g) { return g.rate(Dtype::kBf16).value(); };
  auto shared = [](const Gpu& g) { return g.shared_memory ? g.shared_memory->value() : 0; };
  auto per_unit = [&](const KernelGpu& g) {
    return g.compute_units > 0 ? rate(g) / g.compute_units : 0;
  };
  auto power = [&](const KernelGpu& g) { return g.power ? g.power->value() / rate(g) : 0; };
  auto stacked = [](const Gpu& g) { return g.memory.kind.starts_with("HBM"); };
  double d = same_generation(a, b) ? 0 : kOtherGeneration;
  if (a.sm_version != b.sm_version) d += 0.2;
  if (stacked(a) != stacked(b)) d += 1;
  d += 2 * ratio(shared(a), shared(b)) + ratio(per_unit(a), per_unit(b));
  d += 0.5 * ratio(rate(a) / a.memory.bandwidth.value(), rate(b) / b.memory.bandwidth.value());
  d += 0.5 * ratio(power(a), power(b));
  return d;
}

double transfer_error(std::string_view family, double distance) {
  const TransferError& error = error_of(family);
  const double far = error.far * std::max(1.0, distance / kFarDistance);
  return distance < kOtherGeneration ? std::min(error.near * (1 + distance), far) : far;
}

double latency_ratio(std::string_view family, std::string_view kernel_class, const KernelGpu& here,
                     const KernelGpu& relative) {
  if (family != "gemm" || kernel_class != "bf16") return 1;
  const int later = here.architecture.generation - relative.architecture.generation;
  return later > 0 ? kLaterLatency : later < 0 ? 1 / kLaterLatency : 1;
}

Surface as_relative(Surface surface) {
  for (SurfaceSeries& series : surface.series) {
    for (float& v : series.values) v = std::min(v, kBadlyChosen);
  }
  return surface;
}

void widen_replaced(ServingSurface& s) {
  s.own *= kReplacedFactor;
  s.shared *= kReplacedFactor;
}

double carried_over(double there, const Op& op, const KernelPoint& here_point,
                    const KernelGpu& here, const KernelPoint& relative_point,
                    const KernelGpu& relative, Seconds saved) {
  // How far the op is bound by arithmetic, 0 to 1.
  const double compute = relative_point.compute.value(), memory = relative_point.memory.value();
  const double arithmetic = compute * compute / (compute * compute + memory * memory);
  double factor = 1, softmax = 1;
  const auto* product = std::get_if<Gemm>(&op);
  if (product && properties(product->format).gguf) {
    // llama.cpp's kernels of 4-bit blocks reach a fifth of the peak. They draw less power and are
    // held back less: by half, in logs.
    factor = 1 / std::sqrt(power_gain(orrery::arithmetic(op), here, relative));
  } else if (product && orrery::arithmetic(op) == Dtype::kFp32) {
    factor = 1;  // base has the power limit of fp32 products (KernelGpu::sustained_fp32)
  } else if (product || std::holds_alternative<MoeExperts>(op)) {
    factor = 1 / power_gain(orrery::arithmetic(op), here, relative);
  } else {
    softmax = 1 + kSoftmaxWeight * softmax_share(op, relative);
    factor = (1 + kSoftmaxWeight * softmax_share(op, here)) / softmax;
    if (std::holds_alternative<PrefillAttention>(op)) {
      const double reached = compute / (there * relative_point.base.value());
      factor /= prefill_power_gain(orrery::arithmetic(op), reached, here, relative);
    }
  }
  factor = std::pow(factor, arithmetic);
  if (!same_generation(here, relative)) {
    return there * factor * (1 - saved / here_point.base) +
           std::max(here_point.first_tile - relative_point.first_tile, Seconds(0)) /
               here_point.base;
  }
  // The part of base that changes between the GPUs follows its own limit. Power and exponentials
  // change the time of the arithmetic.
  const auto limit = [](double share) {
    return kMemoryLimit * std::pow(kComputeLimit / kMemoryLimit, share);
  };
  const double moved = std::min(there, limit(compute_change(here_point, relative_point)));
  const double worked = std::min(there, limit(arithmetic) * std::pow(softmax, arithmetic));
  const double carried = moved * (base_within(op, here_point, relative_point) / here_point.base) +
                         (there - moved) * (relative_point.base / here_point.base);
  return carried * (1 + (factor - 1) * worked / there);
}

const char* replacement_of(std::string_view family, std::string_view kernel_class,
                           const KernelGpu& here, const KernelGpu& relative) {
  if (same_generation(here, relative)) return nullptr;
  for (const ReplacedKernels& r : here.architecture.replaced_kernels) {
    if (r.family == family && kernel_class.starts_with(r.classes)) return r.what.c_str();
  }
  return nullptr;
}

ServingSurface choose_surface(
    std::string_view family, const KernelClass& wanted, std::span<const MeasuredGpu> measured,
    const std::function<const SurfaceFile&(const std::string& gpu)>& load) {
  ServingSurface best;
  double best_penalty = std::numeric_limits<double>::infinity();
  for (const KernelClassSource& choice : wanted.sources) {
    for (const MeasuredGpu& m : measured) {
      const double error = m.own ? 0 : transfer_error(family, m.distance);
      // The distance decides between relatives of the same error.
      const double penalty = error + choice.error + 0.01 * m.distance;
      if (penalty >= best_penalty) continue;
      const SurfaceFile& file = load(m.id);
      const Surface* surface = m.own ? nullptr : file.find(choice.name + std::string(kForOthers));
      if (!surface) surface = file.find(choice.name);
      if (!surface) continue;
      best_penalty = penalty;
      best.surface = surface;
      best.file = &file;
      best.gpu = m.id;
      best.factor = choice.factor;
      // The errors of transfer are those of whole predictions: the surface's own are among them.
      best.own = std::max(surface->own, error * kTransferOwn);
      best.shared = std::hypot(std::max(surface->shared, error * kTransferShared), choice.error);
      best.origin = m.own && choice.error == 0 ? Origin::kMeasured : Origin::kTransferred;
    }
  }
  return best;
}

}  // namespace orrery
