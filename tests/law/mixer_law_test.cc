// Laws of token mixers and blocks of hybrid models: FLOPs and bytes against a count of
// multiply-adds and of touched elements, element by element, on tiny instances.
//
// The reference runs each kernel as plain loops over tokens, heads and elements. A multiply-add of
// two elements counts once (two FLOPs); scalings, sums, norms and activations count none, as in
// op.h. An element of memory counts once for each kernel that reads it and once for each that
// writes it, however often the loops touch it. Elements of the state take 4 bytes, all others 2.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>
#include <tuple>

#include "orrery/memory/kv_cache.h"
#include "tests/unit/workload/reading.h"

namespace orrery {
namespace mixer_law_test {

using namespace reading;

int pick(int least, int most) { return *rc::gen::inRange(least, most + 1); }

// The tensors of a layer.
enum Tensor {
  kInput,
  kWeight,
  kQueries,
  kKeys,
  kValues,
  kDecay,
  kState,
  kWindow,
  kOutput,
  kSources,
};

// One kernel: its multiply-adds, and the elements that it reads and writes.
class Kernel {
 public:
  void read(Tensor t, int a = 0, int b = 0, int c = 0, int d = 0) { read_.insert({t, a, b, c, d}); }
  void write(Tensor t, int a = 0, int b = 0, int c = 0, int d = 0) {
    written_.insert({t, a, b, c, d});
  }
  void multiply_add() { ++multiply_adds_; }

  double flops() const { return 2.0 * multiply_adds_; }
  double bytes() const {
    double n = 0;
    for (const auto* elements : {&read_, &written_})
      for (const Element& e : *elements) n += std::get<0>(e) == kState ? 4 : 2;
    return n;
  }

 private:
  using Element = std::tuple<Tensor, int, int, int, int>;
  std::set<Element> read_, written_;
  int multiply_adds_ = 0;
};

// Rows times a matrix of in x out.
Kernel product(int rows, int in, int out) {
  Kernel k;
  for (int r = 0; r < rows; ++r)
    for (int o = 0; o < out; ++o) {
      for (int i = 0; i < in; ++i) {
        k.read(kInput, r, i), k.read(kWeight, i, o);
        k.multiply_add();
      }
      k.write(kOutput, r, o);
    }
  return k;
}

// The recurrence of sequences of `tokens` tokens, token after token. `state` elements of a head are
// keys x values. Decoding starts from a state in memory; a prompt starts from none.
Kernel recurrence(const LinearAttentionCore& a, bool in_memory) {
  Kernel kernel;
  const bool delta = a.kind != LinearAttentionCore::Kind::kMamba2;
  const int group = a.v_heads / a.k_heads;
  for (int s = 0; s < a.batch; ++s)
    for (int t = 0; t < a.new_tokens; ++t)
      for (int h = 0; h < a.v_heads; ++h)
        for (int v = 0; v < a.v_dim; ++v) {
          kernel.read(kValues, s, t, h, v);
          for (int k = 0; k < a.k_dim; ++k) {
            kernel.read(kKeys, s, t, h / group, k), kernel.read(kQueries, s, t, h / group, k);
            if (a.kind == LinearAttentionCore::Kind::kKimiDelta) kernel.read(kDecay, s, t, h, k);
            if (in_memory) kernel.read(kState, s, h, k, v);
            if (delta) kernel.multiply_add();  // what the state holds for the key
            kernel.multiply_add();             // the state with the outer product of key and value
            kernel.multiply_add();             // what the state holds for the query
            kernel.write(kState, s, h, k, v);
          }
          kernel.write(kOutput, s, t, h, v);
        }
  return kernel;
}

// The convolution of `channels` over the last `window` tokens. While decoding, the inputs before
// the new one are in memory, and move on by one place.
Kernel convolution(int batch, int tokens, int channels, int window, bool in_memory) {
  Kernel k;
  for (int s = 0; s < batch; ++s)
    for (int t = 0; t < tokens; ++t)
      for (int c = 0; c < channels; ++c) {
        k.read(kInput, s, t, c), k.write(kOutput, s, t, c);
        for (int i = 0; in_memory && i < window - 1; ++i)
          k.read(kWindow, s, c, i), k.write(kWindow, s, c, i);
      }
  return k;
}

Architecture one_layer(const LayerSpec& layer, int hidden) {
  Architecture model;
  model.id = "tiny";
  model.hidden = hidden;
  model.vocab = 8;
  model.lm_head = false;
  model.final_norm = false;
  model.layers.append(layer);
  return model;
}

const Op& op_of(const Program& p, std::string_view name) {
  for (const ProgramOp& op : p.ops)
    if (op.name == name) return op.op;
  throw std::out_of_range(std::string(name));
}

void same(const Program& p, std::string_view name, const Kernel& reference) {
  RC_ASSERT(flops(op_of(p, name)).value() == reference.flops());
  RC_ASSERT(bytes(op_of(p, name)).value() == reference.bytes());
}

RC_GTEST_PROP(MixerLaw, KimiDeltaTouchesWhatTheLoopsTouch, ()) {
  LayerSpec layer;
  const KimiDelta a = {.heads = pick(1, 3),
                       .head_dim = pick(1, 5),
                       .conv = pick(1, 4),
                       .full_rank_gate = *rc::gen::arbitrary<bool>()};
  layer.mixer = a;
  const int hidden = pick(1, 9), batch = pick(1, 3), tokens = pick(2, 5);
  const int w = a.heads * a.head_dim;
  const Architecture m = one_layer(layer, hidden);
  for (const bool decoding : {false, true}) {
    const int n = decoding ? 1 : tokens;
    const Program p = forward_program(m, {}, {}, decoding ? decode(batch, 7) : prefill(batch, n));
    // Queries, keys, values; beta; the decay's and the gate's first halves, or the whole gate.
    const int in = 3 * w + a.heads + a.head_dim + (a.full_rank_gate ? w : a.head_dim);
    same(p, "in_proj", product(batch * n, hidden, in));
    same(p, "decay_proj", product(batch * n, a.head_dim, w));
    if (!a.full_rank_gate) same(p, "gate_proj", product(batch * n, a.head_dim, w));
    const auto core =
        std::get<LinearAttentionCore>(op_of(p, decoding ? "mixer_decode" : "mixer_prefill"));
    RC_ASSERT(core.v_heads == a.heads && core.v_dim == a.head_dim && core.k_dim == a.head_dim);
    same(p, decoding ? "mixer_decode" : "mixer_prefill", recurrence(core, decoding));
    const Op& conv = op_of(p, decoding ? "conv_decode" : "conv_prefill");
    RC_ASSERT(bytes(conv).value() == convolution(batch, n, 3 * w, a.conv, decoding).bytes());
    same(p, "o_proj", product(batch * n, w, hidden));
  }
}

RC_GTEST_PROP(MixerLaw, RecurrencesTouchWhatTheLoopsTouch, ()) {
  LinearAttentionCore a;
  a.kind =
      *rc::gen::element(LinearAttentionCore::Kind::kGatedDeltaNet,
                        LinearAttentionCore::Kind::kMamba2, LinearAttentionCore::Kind::kKimiDelta);
  a.decode = *rc::gen::arbitrary<bool>();
  a.batch = pick(1, 3), a.new_tokens = a.decode ? 1 : pick(1, 4);
  a.k_heads = pick(1, 2), a.k_dim = pick(1, 4);
  a.v_heads = a.k_heads * pick(1, 3), a.v_dim = pick(1, 4);
  a.conv = 1;
  const Kernel reference = recurrence(a, a.decode);
  RC_ASSERT(a.flop_count().value() == reference.flops());
  RC_ASSERT(a.byte_count().value() == reference.bytes());
}

// Softmax attention that makes fewer keys and values: a query meets every key up to its own, once
// for the score and once for the value.
RC_GTEST_PROP(MixerLaw, GatedAndSharedAttentionTouchesWhatTheLoopsTouch, ()) {
  SoftmaxAttention a;
  a.kv_heads = pick(1, 2), a.heads = a.kv_heads * pick(1, 2);
  a.head_dim = a.value_dim = pick(1, 4);
  a.head_gate = *rc::gen::arbitrary<bool>();
  a.shares_kv = *rc::gen::arbitrary<bool>();
  a.values_from_keys = *rc::gen::arbitrary<bool>();
  LayerSpec layer;
  layer.mixer = a;
  const int hidden = pick(1, 9), batch = pick(1, 2), tokens = pick(2, 6);
  const Program p = forward_program(one_layer(layer, hidden), {}, {}, prefill(batch, tokens));
  int made = 0;  // matrices of kv_heads * head_dim columns
  if (!a.shares_kv) made = a.values_from_keys ? 1 : 2;
  same(p, "qkv_proj", product(batch * tokens, hidden, (a.heads + made * a.kv_heads) * a.head_dim));
  if (a.head_gate) same(p, "attn_gate_proj", product(batch * tokens, hidden, a.heads));

  Kernel core, gate;
  int pairs = 0;
  for (int s = 0; s < batch; ++s)
    for (int q = 0; q < tokens; ++q)
      for (int h = 0; h < a.heads; ++h) {
        const int kv = h / (a.heads / a.kv_heads);
        gate.read(kWeight, s, q, h);
        for (int d = 0; d < a.head_dim; ++d) {
          core.read(kQueries, s, q, h, d), core.write(kOutput, s, q, h, d);
          gate.read(kInput, s, q, h, d), gate.write(kOutput, s, q, h, d);
          for (int key = 0; key <= q; ++key) {
            core.read(kKeys, s, key, kv, d), core.read(kValues, s, key, kv, d);
            core.multiply_add(), core.multiply_add();
            ++pairs;
          }
        }
      }
  RC_ASSERT(pairs > 0);
  same(p, "attn_prefill", core);
  if (a.head_gate) same(p, "attn_gate", gate);
}

// Experts of a latent, all of which see every token (top_k = experts), so that the weights that
// they read are those of all experts.
RC_GTEST_PROP(MixerLaw, ExpertsOfALatentMultiplyWhatTheLoopsMultiply, ()) {
  MoeMlp moe;
  moe.experts = moe.top_k = pick(1, 3);
  moe.intermediate = pick(1, 5);
  moe.gated = *rc::gen::arbitrary<bool>();
  moe.latent = pick(1, 6);
  moe.latent_norm = *rc::gen::arbitrary<bool>();
  LayerSpec layer;
  layer.mlp = moe;
  const int hidden = pick(1, 9), tokens = pick(1, 5);
  const Program p = forward_program(one_layer(layer, hidden), {}, {}, prefill(1, tokens));
  same(p, "moe_latent_down", product(tokens, hidden, moe.latent));
  same(p, "moe_latent_up", product(tokens, moe.latent, hidden));
  double expected = 0;
  for (int expert = 0; expert < moe.experts; ++expert)
    expected += product(tokens, moe.latent, (moe.gated ? 2 : 1) * moe.intermediate).flops() +
                product(tokens, moe.intermediate, moe.latent).flops();
  RC_ASSERT(flops(op_of(p, "moe_experts")).value() == expected);
}

RC_GTEST_PROP(MixerLaw, ResidualsAndLayerInputsTouchWhatTheLoopsTouch, ()) {
  LayerSpec layer;
  layer.mixer = KimiDelta{.heads = 1, .head_dim = 2, .conv = 2, .full_rank_gate = true};
  layer.norms = 1;
  layer.residual_sources = pick(1, 6);
  layer.per_layer_input = pick(1, 4);
  const int hidden = pick(1, 9), tokens = pick(1, 5);
  const Program p = forward_program(one_layer(layer, hidden), {}, {}, prefill(1, tokens));
  Kernel mixture, gated, sum;
  for (int t = 0; t < tokens; ++t) {
    for (int i = 0; i < hidden; ++i) {
      // Every source, the block so far among them, and the last output.
      for (int s = 0; s < layer.residual_sources; ++s) mixture.read(kSources, t, s, i);
      mixture.read(kInput, t, i);
      mixture.write(kSources, t, layer.residual_sources - 1, i), mixture.write(kOutput, t, i);
      sum.read(kInput, t, i), sum.read(kValues, t, i), sum.write(kOutput, t, i);
    }
    for (int i = 0; i < layer.per_layer_input; ++i)
      gated.read(kInput, t, i), gated.read(kValues, t, i), gated.write(kOutput, t, i);
  }
  same(p, "attn_residual", mixture);
  same(p, "per_layer_gate", product(tokens, hidden, layer.per_layer_input));
  same(p, "per_layer_activation", gated);
  same(p, "per_layer_proj", product(tokens, layer.per_layer_input, hidden));
  same(p, "per_layer_add_norm", sum);
}

Mixer any_causal_mixer() {
  switch (pick(0, 3)) {
    case 0:
      return KimiDelta{.heads = pick(1, 4),
                       .head_dim = 8 * pick(1, 4),
                       .conv = pick(1, 4),
                       .full_rank_gate = *rc::gen::arbitrary<bool>()};
    case 1: {
      GatedDeltaNet g;
      g.k_heads = pick(1, 3), g.v_heads = g.k_heads * pick(1, 3);
      g.k_dim = 8 * pick(1, 4), g.v_dim = 8 * pick(1, 4), g.conv = pick(2, 4);
      return g;
    }
    case 2: {
      Mamba2 m;
      m.groups = pick(1, 3), m.heads = m.groups * pick(1, 3);
      m.head_dim = 8 * pick(1, 4), m.state = 8 * pick(1, 4), m.conv = pick(2, 4);
      return m;
    }
    default: {
      SoftmaxAttention a;
      a.kv_heads = pick(1, 3), a.heads = a.kv_heads * pick(1, 3);
      a.head_dim = a.value_dim = 8 * pick(1, 4);
      a.window = *rc::gen::element(0, pick(1, 40));
      a.window_kind = *rc::gen::element(WindowKind::kSliding, WindowKind::kChunked);
      a.output_gate = *rc::gen::arbitrary<bool>();
      a.head_gate = *rc::gen::arbitrary<bool>();
      a.values_from_keys = *rc::gen::arbitrary<bool>();
      return a;
    }
  }
}

// Compared are the FLOPs of all ops of the layers: those of a prompt of n tokens and of m decode
// steps after it, and those of a prompt of n + m tokens. Latent attention is left out, whose decode
// multiplies by the latent itself (absorbed), and bytes, since every step reads the weights.
RC_GTEST_PROP(MixerLaw, AStepByStepContinuationDoesTheWorkOfAPrompt, ()) {
  Architecture model = one_layer({}, 8 * pick(1, 8));
  for (int n = pick(1, 3); n > 0; --n) {
    LayerSpec layer;
    layer.mixer = any_causal_mixer();
    if (*rc::gen::arbitrary<bool>()) {
      MoeMlp moe;
      moe.experts = 4, moe.top_k = pick(1, 4), moe.intermediate = 8 * pick(1, 4);
      moe.latent = *rc::gen::element(0, 16);
      layer.mlp = moe;
    }
    layer.per_layer_input = *rc::gen::element(0, 8);
    model.layers.append(layer, pick(1, 2));
  }
  const int prompt = pick(1, 60), more = pick(1, 20), sequences = pick(1, 3);
  double sum = total_flops(forward_program(model, {}, {}, prefill(sequences, prompt)));
  for (int i = 0; i < more; ++i)
    sum += total_flops(forward_program(model, {}, {}, decode(sequences, prompt + i)));
  const double whole =
      total_flops(forward_program(model, {}, {}, prefill(sequences, prompt + more)));
  RC_ASSERT(std::abs(sum / whole - 1) < 1e-12);
}

// A recurrent layer keeps as much after a million tokens as after one, and a decode step moves as
// many bytes; attention keeps more.
RC_GTEST_PROP(MixerLaw, RecurrentLayersKeepTheSameAtEveryLength, ()) {
  LayerSpec layer;
  layer.mixer = any_causal_mixer();
  const bool recurrent = !std::holds_alternative<SoftmaxAttention>(layer.mixer);
  const int tp = 1;
  const auto kept = [&](std::int64_t tokens) {
    return layer_kv(kept_state(layer.mixer), tp, {}, tokens, 1) +
           layer_state(kept_state(layer.mixer), tp, {});
  };
  RC_ASSERT((kept(1000000) == kept(1)) ==
            (recurrent || layer_kv(kept_state(layer.mixer), tp, {}, 2, 1) ==
                              layer_kv(kept_state(layer.mixer), tp, {}, 1, 1)));
  if (!recurrent) return;
  const Architecture m = one_layer(layer, 16);
  const auto moved = [&](double past) {
    double n = 0;
    for (const ProgramOp& op : forward_program(m, {}, {}, decode(3, past)).ops)
      n += op.count * bytes(op.op).value();
    return n;
  };
  RC_ASSERT(moved(1) == moved(1e6));
}

}  // namespace mixer_law_test
}  // namespace orrery
