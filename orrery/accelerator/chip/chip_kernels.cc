#include "orrery/accelerator/chip/chip_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <mutex>
#include <shared_mutex>

#include "orrery/accelerator/chip/chip_rows.h"
#include "orrery/base/error.h"
#include "orrery/base/index.h"

namespace orrery {
namespace {

// Errors of operators on A100 and MI210 (`orrery validate accelerator`, table llmcompass_measured):
// a share that all operators of a chip have in common, and one of each.
constexpr double kSharedError = 0.12, kOwnError = 0.12;

// The backward pass of attention computes five products where the forward pass computes two.
constexpr double kBackwardProducts = 2.5;

constexpr double kResult = 2;  // bytes of a result
constexpr double kScores = 0;  // bytes of a score, which stays on the chip
// Operations of a score besides its exponential: scale, compare, subtract, range reduction of the
// exponential, add.
constexpr double kScoreOperations = 11;
// Operations and exponentials of an element of pointwise work, by kind.
constexpr double kActivationOperations = 18, kPlainOperations = 4;
constexpr double kBytesOfElement = 2;
// Contexts of decode attention are searched on a grid of this many points to a doubling, and scaled
// to the context between them.
constexpr double kContextsPerDoubling = 8;

std::int64_t whole(double x) { return std::max<std::int64_t>(1, std::llround(x)); }

struct CallTime {
  Seconds time;
  ChipWork work;
};

void add(ChipWork& to, const ChipWork& w, double times = 1) {
  to.memory += w.memory * times, to.l2 += w.l2 * times, to.l1 += w.l1 * times;
  to.multiply_adds += w.multiply_adds * times, to.vector_ops += w.vector_ops * times;
}

// The sizes, bytes and number format of a product.
using ProductKey = std::array<double, 8>;

class ChipKernels : public KernelModel {
 public:
  explicit ChipKernels(const CoreChip& chip) : chip_(chip), sheet_(data_sheet(chip)) {}

  KernelTime predict(const Op& op) const override {
    KernelTime t;
    t.time.tails = Tails::kHeavy;
    t.compute = compute_of(op);
    t.memory = bytes(op) / chip_.memory.bandwidth;
    const Seconds time = call(op).time;
    t.time.value = std::max({time, t.compute, t.memory});
    t.time.shared = kSharedError, t.time.own = kOwnError;
    t.time.origin = Origin::kAnalytical;
    const bool floor = std::max(t.compute, t.memory) < chip_.kernel_floor;
    t.bound = floor ? Bound::kLaunch : t.compute > t.memory ? Bound::kCompute : Bound::kMemory;
    return t;
  }

  std::string provenance(const Op& op) const override {
    const bool vector = std::holds_alternative<Elementwise>(op) || flops(op) <= Flops(0);
    return fmt::format("{} of the chip", vector ? "vector units" : "fastest tiles on the arrays");
  }

  CallTime call(const Op& op) const {
    return std::visit([&](const auto& o) { return time(o); }, op);
  }

 private:
  Seconds compute_of(const Op& op) const {
    const Flops f = flops(op);
    return f > Flops(0) ? f / sheet_.peak(multiplied(arithmetic(op))) : Seconds(0);
  }

  // The format in which the arrays multiply; the vector units where they do not.
  Dtype multiplied(Dtype dtype) const { return sheet_.compute_dtype(dtype); }

  CallTime product(ChipProduct p) const {
    p.arithmetic = multiplied(p.arithmetic);
    if (chip_.peak(p.arithmetic) <= FlopsPerSecond(0)) return on_vector_units(p);
    const ProductKey key = {real(p.m), real(p.n), real(p.k), real(p.batch),
                            p.a,       p.b,       p.c,       real(index(p.arithmetic))};
    {
      const std::shared_lock lock(mutex_);
      if (const auto it = known_.find(key); it != known_.end()) return it->second;
    }
    const ChipProductTime t = product_time(chip_, p);
    const std::unique_lock lock(mutex_);
    return known_.emplace(key, CallTime{t.time, t.work}).first->second;
  }

  // A product in a format that only the vector units have.
  CallTime on_vector_units(const ChipProduct& p) const {
    const double macs = real(p.m) * real(p.n) * real(p.k) * real(p.batch);
    const double moved = real(p.batch) * (real(p.k) * (real(p.m) * p.a + real(p.n) * p.b) +
                                          real(p.m) * real(p.n) * p.c);
    return pointwise(moved, 0, macs, 1, 0);
  }

  CallTime rows(const ChipRows& r) const {
    const ChipRowsTime t = rows_time(chip_, r);
    return {t.time, t.work};
  }

  CallTime pointwise(double read, double written, double elements, double operations,
                     double exponentials) const {
    ChipRows r;
    r.width = whole(elements);
    r.read = read / real(r.width), r.written = written / real(r.width);
    r.operations = operations, r.exponentials = exponentials;
    return rows(r);
  }

  static double element_bytes(Dtype dtype) { return bytes_per_element(dtype).value(); }

  CallTime time(const Gemm& g) const {
    const FormatProperties& f = properties(g.format);
    ChipProduct p;
    p.m = g.m, p.n = g.n, p.k = g.k, p.batch = g.batch;
    p.a = f.activation.value();
    p.b = (g.weight ? f.weight : f.activation).value();
    // The op's bytes less its operands are its results.
    p.c = std::max(0.0, g.byte_count().value() / real(g.batch) -
                            real(g.k) * (real(g.m) * p.a + real(g.n) * p.b)) /
          (real(g.m) * real(g.n));
    p.arithmetic = g.arithmetic();
    return product(p);
  }

  // Scores and values of `batch` groups of `queries` rows that see `keys` keys. `share`: of the
  // pairs that are computed.
  struct Attention {
    double batch = 1, queries = 1, keys = 1, share = 1;
    double query_bytes = 2, key_bytes = 2;
    int head_dim = 128, value_dim = 128;
    Dtype arithmetic = Dtype::kBf16;
  };
  CallTime attention(const Attention& a, double memory_bytes) const {
    ChipProduct scores;
    scores.m = whole(a.queries), scores.batch = whole(a.batch), scores.k = a.head_dim;
    scores.n = grid(a.keys);
    scores.a = a.query_bytes, scores.b = a.key_bytes, scores.c = kScores;
    scores.arithmetic = a.arithmetic;
    ChipProduct values = scores;
    values.k = scores.n, values.n = std::max(1, a.value_dim);
    values.a = kScores, values.b = a.key_bytes, values.c = kResult;
    const bool only_scores = a.value_dim <= 0;
    const CallTime first = product(scores);
    const CallTime second = only_scores ? CallTime{chip_.kernel_floor, {}} : product(values);
    const double scale = a.share * a.keys / real(scores.n);
    const double pairs = a.batch * a.queries * a.keys * a.share;
    const Seconds vector(pairs * std::max(kScoreOperations / chip_.operations_per_second(),
                                          1 / chip_.exponentials_per_second()));
    const Seconds memory = Bytes(memory_bytes) / (chip_.memory.bandwidth * chip_.memory.sustained);
    const Seconds arrays =
        (first.time - chip_.kernel_floor + second.time - chip_.kernel_floor) * scale;
    CallTime t;
    t.time = chip_.kernel_floor + std::max({arrays, vector, memory});
    add(t.work, first.work, scale);
    add(t.work, second.work, scale);
    t.work.memory = memory_bytes;
    t.work.vector_ops += pairs * (kScoreOperations + 1);
    return t;
  }
  static std::int64_t grid(double keys) {
    const double step = std::exp2(1 / kContextsPerDoubling);
    return whole(
        std::ceil(std::pow(step, std::ceil(std::log(std::max(1.0, keys)) / std::log(step)))));
  }

  CallTime time(const PrefillAttention& p) const {
    Attention a;
    const double all = real(p.new_tokens) * real(p.past + p.new_tokens);
    a.batch = real(p.batch) * p.kv_heads;
    a.queries = real(p.new_tokens) * p.heads / p.kv_heads;
    a.keys = real(p.past + p.new_tokens);
    a.share = attended_pairs(p.new_tokens, p.past, p.window, p.causal) / all;
    a.query_bytes = element_bytes(p.dtype), a.key_bytes = element_bytes(p.kv_dtype);
    a.head_dim = p.head_dim, a.value_dim = p.value_dim, a.arithmetic = p.dtype;
    return attention(a, p.byte_count().value());
  }

  CallTime time(const DecodeAttention& d) const {
    Attention a;
    a.batch = real(d.batch) * d.kv_heads;
    a.queries = d.queries * d.heads / d.kv_heads;
    a.keys = d.window > 0 ? std::min(d.context, real(d.window)) : d.context;
    a.query_bytes = element_bytes(d.dtype), a.key_bytes = element_bytes(d.kv_dtype);
    a.head_dim = d.head_dim, a.value_dim = d.value_dim, a.arithmetic = d.dtype;
    return attention(a, d.byte_count().value());
  }

  CallTime time(const LatentAttentionCore& l) const {
    Attention a;
    a.batch = real(l.batch);
    a.queries = real(l.new_tokens) * l.heads, a.keys = l.context;
    const double pairs = attended_pairs(l.new_tokens, whole(l.context) - l.new_tokens, 0, true);
    a.share = std::min(1.0, pairs / (real(l.new_tokens) * l.context));
    a.query_bytes = element_bytes(l.dtype), a.key_bytes = element_bytes(l.kv_dtype);
    a.head_dim = l.kv_lora_rank + l.qk_rope_dim, a.value_dim = l.kv_lora_rank;
    a.arithmetic = l.dtype;
    return attention(a, l.byte_count().value());
  }

  CallTime time(const MlaModule& m) const {
    CallTime t = time(m.core);
    const MlaProjections all = projections(m);
    for (std::size_t i = 0; i < all.count; ++i) {
      const CallTime one = time(all.products[i]);
      t.time += one.time;
      add(t.work, one.work);
    }
    return t;
  }

  CallTime time(const SparseAttentionBlock& /*block*/) const {
    throw NoData(fmt::format("a chip of cores ({}) does not map {}; ask for a GPU of the catalog",
                             chip_.id, SparseAttentionBlock::kName));
  }

  CallTime time(const MoeExperts& e) const {
    const FormatProperties& f = properties(e.format);
    const double inner = 1.0 * e.intermediate / e.tp;
    const double active =
        std::max(1.0, expected_active_experts(e.tokens, e.experts, e.top_k, e.skew) / e.ep);
    const double slots = real(e.tokens) * e.top_k / e.ep *
                         expert_imbalance(e.tokens, e.experts, e.top_k, e.ep, e.skew);
    ChipProduct up;
    up.batch = whole(active), up.m = whole(std::ceil(slots / active)), up.k = e.hidden;
    up.n = whole((e.gated ? 2 : 1) * inner);
    up.a = f.activation.value(), up.b = f.weight.value(), up.c = kResult;
    up.arithmetic = e.arithmetic();
    ChipProduct down = up;
    down.k = whole(inner), down.n = e.hidden;
    const CallTime first = product(up), second = product(down);
    const CallTime between =
        pointwise(slots * inner * (e.gated ? 2 : 1) * kBytesOfElement,
                  slots * inner * kBytesOfElement, slots * inner, kActivationOperations, 1);
    CallTime t{first.time + second.time + between.time, first.work};
    add(t.work, second.work);
    add(t.work, between.work);
    return t;
  }

  CallTime time(const Elementwise& e) const {
    using Kind = Elementwise::Kind;
    ChipRows r;
    r.rows = e.rows, r.width = e.width;
    const double elements = real(e.rows) * real(e.width);
    r.read = e.read.value() / elements, r.written = e.written.value() / elements;
    r.operations = kPlainOperations;
    if (e.kind == Kind::kNorm || e.kind == Kind::kAddNorm) r.kind = ChipRows::Kind::kNorm;
    if (e.kind == Kind::kSoftmax) r.kind = ChipRows::Kind::kSoftmax;
    if (e.kind == Kind::kActivation) r.operations = kActivationOperations, r.exponentials = 1;
    return rows(r);
  }

  // Ops without FLOPs move their bytes; recurrences compute on the vector units.
  template <class Simple>
  CallTime time(const Simple& op) const {
    const double moved = op.byte_count().value();
    const double macs = op.flop_count().value() / 2;
    return pointwise(moved, 0, std::max(1.0, macs > 0 ? macs : moved / kBytesOfElement), 1, 0);
  }

  CallTime time(const AttentionBackward& b) const {
    CallTime t = time(b.forward);
    t.time = chip_.kernel_floor + (t.time - chip_.kernel_floor) * kBackwardProducts;
    ChipWork work;
    add(work, t.work, kBackwardProducts);
    t.work = work;
    return t;
  }

  CallTime time(const Collective& /*collective*/) const { return {}; }

  const CoreChip chip_;
  const Gpu sheet_;
  mutable std::shared_mutex mutex_;
  mutable std::map<ProductKey, CallTime> known_;
};

}  // namespace

std::unique_ptr<KernelModel> make_chip_kernel_model(const CoreChip& chip) {
  return std::make_unique<ChipKernels>(chip);
}

ChipWork work_of(const CoreChip& chip, const Op& op) { return ChipKernels(chip).call(op).work; }

Joules energy_of(const CoreChip& chip, const ChipWork& work) {
  if (!chip.energy) return Joules(0);
  constexpr double kPico = 1e-12;
  const ChipEnergy& e = *chip.energy;
  return Joules(kPico * (work.memory * e.memory + work.l2 * e.l2 + work.l1 * e.l1 +
                         work.multiply_adds * e.multiply_add + work.vector_ops * e.vector_op));
}

}  // namespace orrery
