#include "orrery/memory/saved_activations.h"

#include <algorithm>
#include <cmath>

#include "orrery/model/layers/saved_tensors.h"
#include "orrery/workload/ops/op.h"

namespace orrery {
namespace {

constexpr double kFp32 = 4;

// Bytes of a saved operand of a large product, scales included.
double operand_bytes(const TrainingPrecision& p) {
  const double plain = bytes_per_element(p.activations).value();
  switch (p.compute) {
    case Dtype::kFp8:
      // Blocks of 128 elements have an fp32 scale, mx blocks of 32 elements a scale of one byte.
      return p.recipe == Fp8Recipe::kBlock || p.recipe == Fp8Recipe::kMx ? 1 + 1.0 / 32 : 1;
    case Dtype::kFp4:
      return 0.5 + 1.0 / 16;
    default:
      return plain;
  }
}

struct Counter {
  const Architecture& model;
  const TrainingJob& job;
  const TrainingMemoryConstants& stack;
  LayerActivations out{};

  double h = model.hidden, tp = job.plan.tp;
  double tokens = static_cast<double>(rank_tokens(job));
  double own = job.plan.sequence_parallel ? tokens / tp : tokens;  // tokens of norms and residuals
  double e = bytes_per_element(job.precision.activations).value();
  double x = operand_bytes(job.precision);
  bool narrow = x < e;  // operands of products are copies in a smaller format
  bool trained = job.tuning == Tuning::kFull;
  double widest = 0;  // elements of the gradients of an op's operands, minus what is freed before

  void save(double bytes) { out.saved += Bytes(bytes); }
  void drop(RecomputeModule module, double bytes) {
    if (job.recomputes(module)) out.dropped += Bytes(bytes);
  }
  void keep_product(double bytes) { out.products += Bytes(bytes); }

  using Targets = std::initializer_list<std::string_view>;

  bool adapts(Targets targets) const {
    if (trained) return true;
    return std::any_of(targets.begin(), targets.end(), [&](std::string_view t) {
      return std::find(job.lora_targets.begin(), job.lora_targets.end(), t) !=
             job.lora_targets.end();
    });
  }
  // Saves the input of the products named by `targets`, unless it is already saved.
  void operand(double elements, Targets targets, bool saved_already = false) {
    if (!adapts(targets) || (saved_already && !narrow)) return;
    save(x * elements);
  }
  // The row that a norm before attention or an MLP made.
  void normed_row(Targets targets) {
    operand(h * own, targets);
    if (adapts(targets)) drop(RecomputeModule::kLayerNorm, x * h * own);
  }
  // Drops all that a block saved since it had `before`, except its input, which is kept unless the
  // norm makes it again. `dropped_before`: what was dropped before the block.
  void drop_block(RecomputeModule module, Bytes before, Bytes dropped_before) {
    if (!job.recomputes(module)) return;
    const Bytes input(job.recomputes(RecomputeModule::kLayerNorm) ? 0 : e * h * own);
    out.dropped = dropped_before + std::max(Bytes(0), out.saved - before - input);
  }
  void norm(double elements) {
    if (stack.fused || model.norm != Norm::kRms) {
      save(e * elements);
    } else {
      save((kFp32 + (trained ? e : 0)) * elements);
    }
  }
  bool keeps_activated_gate() const { return !stack.fused || stack.activated_gates; }
  void dropout_mask() {
    if (job.dropout) save(h * own);
  }

  // ---- what mixers declare (model/layers/saved_tensors.h) ----

  double rows(SavedRows of) const { return of == SavedRows::kOwn ? own : tokens; }
  double width(const Width& w) const { return w.on_rank(job.plan.tp); }

  void input(Targets targets) { normed_row(targets); }
  void operand(const Width& w, Targets targets, SavedRows of) {
    operand(width(w) * rows(of), targets);
  }
  void norm(const Width& w, SavedRows of) { norm(width(w) * rows(of)); }
  void tensor(double times, const Width& w) { save(e * times * width(w) * tokens); }
  void tensor_fp32(const Width& w) { save(kFp32 * width(w) * tokens); }
  Width keys(const Width& w, const Width& expanded) const {
    return stack.expanded_kv ? expanded : w;
  }
  void attention(const Width& heads, const Width& result) {
    core(width(heads), width(result));
    operand(width(result) * tokens, {"o"}, job.flash);
  }
  template <class Declared>
  void up_projections(const Declared& declared) {
    const Bytes before = out.saved;
    declared();
    drop(RecomputeModule::kMlaUpProj, (out.saved - before).value());
  }
  void gradients(const Width& w) { widest = std::max(widest, e * width(w) * tokens); }
  void recomputed(double times, const Width& w) { keep_product(e * times * width(w) * tokens); }

  // The softmax, and all ops from it to the product with the values.
  void core(double heads, double result) {
    if (job.flash) {
      save(e * result * tokens + kFp32 * heads * tokens);
      return;
    }
    const double weights = heads * tokens * static_cast<double>(job.seq);
    const double softmax = stack.fused ? e : kFp32 + e;
    const double bytes = weights * (softmax + (job.dropout ? e + 1 : 0));
    save(bytes);
    drop(RecomputeModule::kCoreAttention, bytes);
    widest = std::max(widest, e * weights);
  }

  void operator()(const NoMlp&) {}

  void operator()(const DenseMlp& m) {
    const Bytes before = out.saved, dropped = out.dropped;
    normed_row({"gate", "up"});
    mlp(m.intermediate / tp, m.gated, tokens);
    if (m.activation == Activation::kWrittenGelu && !m.gated && !stack.fused)
      save((written_gelu() - e) * m.intermediate / tp * tokens);
    drop_block(RecomputeModule::kMlp, before, dropped);
  }

  // Bytes an element that the kernels of a written GELU save: the operand of the power, tanh, and
  // the factors of the product. Under autocast all but half of x are in fp32 (training_eager.h).
  double written_gelu() const { return job.plan.zero < 3 ? 3 * kFp32 + e : 4 * e; }

  void mlp(double width, bool gated, double rows) {
    const double in = gated ? (keeps_activated_gate() ? 3 : 2) : 1;
    save(e * in * width * rows);
    operand(width * rows, {"down"});
    widest = std::max(widest, e * (gated ? 2 : 1) * width * rows);
    keep_product(e * (gated ? 1 : 0.5) * width * rows + e * h / 2 * own);
  }

  void operator()(const MoeMlp& m) {
    const Bytes before = out.saved, dropped = out.dropped;
    if (trained) save(e * h * own);  // the router's input
    if (trained) drop(RecomputeModule::kLayerNorm, e * h * own);
    save(2 * kFp32 * m.experts * own);  // the router's logits and weights
    const double mean = tokens * m.top_k * job.plan.expert_tp() / tp;
    double rows = mean;
    if (job.expert_skew > 0) {
      const auto all = static_cast<std::int64_t>(tokens) * std::max(1, job.plan.ep);
      rows *= expert_imbalance(all, m.experts, m.top_k, job.plan.ep, job.expert_skew);
    }
    if (job.capacity_factor > 0) rows = std::min(rows, mean * job.capacity_factor);
    const double row = m.latent > 0 ? m.latent : h;
    operand(row * rows, {"gate", "up"});
    const double inner = 1.0 * m.intermediate / job.plan.expert_tp();
    mlp(inner, m.gated, rows);
    const double activated =
        (adapts({"down"}) ? x : 0) + (m.gated && keeps_activated_gate() ? e : 0);
    drop(RecomputeModule::kMoeActivation, activated * inner * rows);
    if (stack.routed_outputs) save(e * row * rows);  // for the gradient of the routing weights
    if (m.latent_norm) norm(m.latent * own);
    if (m.latent > 0) operand(m.latent * own, {});  // of the projection back
    if (m.router_scales) norm(h * own);
    if (m.shared_intermediate > 0) {
      operand(h * own, {"gate", "up"}, trained);
      mlp(m.shared_intermediate / tp, m.gated, tokens);
    }
    drop_block(RecomputeModule::kMoe, before, dropped);
    widest = std::max(widest, e * row * rows);
  }

  // Each half keeps the sum of the block so far, which is a source, and the weights of the sources.
  void attention_residuals(int sources) {
    if (sources == 0) return;
    save(2 * (e * h + kFp32 * sources) * own);
    widest = std::max(widest, e * h * sources * own);
  }

  // The gate, its activation and their product; the projected row is normed.
  void per_layer_input(double width) {
    if (width == 0) return;
    operand(h * own, {});
    save(e * 2 * width * own);
    operand(width * own, {});
    norm(h * own);
  }
};

}  // namespace

LayerActivations layer_activations(const Architecture& model, const LayerSpec& layer,
                                   const TrainingJob& job, const TrainingMemoryConstants& stack) {
  Counter c{.model = model, .job = job, .stack = stack};
  for (int i = 0; i < layer.norms; ++i) c.norm(c.h * c.own);
  save_tensors(layer.mixer, c);
  std::visit(c, layer.mlp);
  c.attention_residuals(layer.residual_sources);
  c.per_layer_input(layer.per_layer_input);
  if (layer.parallel) {  // attention and MLP have the same input
    c.save(-c.x * c.h * c.own);
    c.drop(RecomputeModule::kLayerNorm, -c.x * c.h * c.own);
  }
  c.dropout_mask(), c.dropout_mask();
  c.out.input = Bytes(c.e * c.h * c.own);
  c.out.products += c.out.input;
  c.out.gradients = Bytes(2 * c.e * c.h * c.own + c.widest);
  return c.out;
}

Bytes chunk_activations(const Architecture& model, const TrainingJob& job,
                        const TrainingMemoryConstants& stack, int chunk) {
  const StageLayers range = chunk_layers(model, job.plan, chunk);
  Bytes sum;
  Counter c{.model = model, .job = job, .stack = stack};
  // The first layers of a chunk are recomputed.
  const int recomputed = job.recompute != Recompute::kFull ? 0
                         : job.recompute_layers > 0 ? std::min(job.recompute_layers, range.size())
                                                    : range.size();
  for (std::size_t i = 0; i < model.layers.specs().size(); ++i) {
    const int spec = static_cast<int>(i);
    const int all = model.layers.count(spec, range.first, range.last);
    if (all == 0) continue;
    const int again = model.layers.count(spec, range.first, range.first + recomputed);
    const LayerActivations a = layer_activations(model, model.layers.specs()[i], job, stack);
    Bytes kept = a.saved;
    if (job.recompute == Recompute::kSelective)
      kept = job.recomputes(RecomputeModule::kProducts) ? std::min(a.products, a.saved)
                                                        : a.saved - a.dropped;
    sum += again * a.input + (all - again) * kept;
  }
  const int last = job.plan.pp * job.plan.vp - 1;
  if (stack.stage_outputs && chunk != last) sum += Bytes(c.e * c.h * c.own);
  if (chunk == last) {
    if (model.final_norm) c.norm(c.h * c.own);
    if (model.lm_head && c.trained) c.save(c.e * c.h * c.own);
    sum += c.out.saved;
  }
  return sum;
}

}  // namespace orrery
