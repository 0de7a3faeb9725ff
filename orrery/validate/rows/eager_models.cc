// The kernels of the models of one data set, NeuSight's labels (eager_models.h): they are validated
// by it alone, and no question of a user reaches this file. Programs of models that users ask about
// are made in orrery/workload.
#include "orrery/validate/rows/eager_models.h"

#include <fmt/format.h>

#include <array>

#include "orrery/base/error.h"

namespace orrery {
namespace {

// Host time of a layer of experts. Experts take their tokens by index: the host waits for the count
// of each expert, and routing is about 25 small kernels. The value is the time of switchxl4 on V100
// and A100 that its kernels do not explain (data/training).
constexpr Seconds kExpertLayerHost = milliseconds(0.5);
constexpr std::int64_t kExperts = 4, kExpertCapacity = 64;

// Collects the kernels of both passes.
class Recorder {
 public:
  explicit Recorder(const EagerRun& run)
      : train_(run.train), compiled_(run.compiled), accumulate_(run.accumulate) {}

  void repeat(double times) { times_ = times; }
  bool train() const { return train_; }
  bool compiled() const { return compiled_; }

  // [m, k] x [k, n] with or without bias; in the backward pass its sum over rows.
  void linear(std::int64_t m, std::int64_t n, std::int64_t k, bool bias) {
    Gemm g;
    g.m = m;
    g.n = n;
    g.k = k;
    g.format = Format::kFp32;
    forward(g);
    backward(gradients(g).first);
    backward(gradients(g).second);
    if (bias) backward(work(Elementwise::Kind::kAdd, m, n, 1, 0));
    if (accumulate_) backward(work(Elementwise::Kind::kAdd, n, k, 2, 1));
  }

  void batched(std::int64_t b, std::int64_t m, std::int64_t n, std::int64_t k) {
    Gemm g;
    g.batch = b;
    g.m = m;
    g.n = n;
    g.k = k;
    g.format = Format::kFp32;
    g.weight = false;
    forward(g);
    backward(gradients(g).first);
    backward(gradients(g).second);
  }

  // Adds a pointwise kernel that reads `reads` and writes `writes` tensors of rows x width, and its
  // backward pass.
  void pointwise(std::int64_t rows, std::int64_t width, double reads, double writes,
                 double back_reads, double back_writes) {
    forward(work(Elementwise::Kind::kActivation, rows, width, reads, writes));
    if (back_reads + back_writes > 0)
      backward(work(Elementwise::Kind::kActivation, rows, width, back_reads, back_writes));
  }
  // Ops of one operand. The gradient of scale() and copy() reads the result's gradient alone; that
  // of activation() reads a saved tensor too.
  void scale(std::int64_t rows, std::int64_t width) { pointwise(rows, width, 1, 1, 1, 1); }
  void activation(std::int64_t rows, std::int64_t width) { pointwise(rows, width, 1, 1, 2, 1); }
  void copy(std::int64_t rows, std::int64_t width) { pointwise(rows, width, 1, 1, 1, 1); }
  // A residual add: its inputs' gradients meet again where the stream branched.
  void residual(std::int64_t rows, std::int64_t width) { pointwise(rows, width, 2, 1, 2, 1); }

  void softmax(std::int64_t rows, std::int64_t width) {
    forward(work(Elementwise::Kind::kSoftmax, rows, width, 1, 1));
    // grad * output, then the kernel that subtracts its sum.
    backward(work(Elementwise::Kind::kActivation, rows, width, 2, 1));
    backward(work(Elementwise::Kind::kSoftmax, rows, width, 2, 1));
  }

  void layer_norm(std::int64_t rows, std::int64_t width) {
    forward(work(Elementwise::Kind::kNorm, rows, width, 1, 1));
    backward(work(Elementwise::Kind::kNorm, rows, width, 2, 1));
    backward(work(Elementwise::Kind::kNorm, rows, width, 1, 0));  // of weight and bias
  }

  // The loss is taken between the passes; its gradient is the backward pass's: zeros into which
  // each row's target is written, then log-softmax's formula of that, its output and itself.
  void cross_entropy(std::int64_t rows, std::int64_t width) {
    backward(work(Elementwise::Kind::kActivation, rows, width, 0, 1));
    backward(work(Elementwise::Kind::kSoftmax, rows, width, 2, 1));
  }

  // Writes a mask of one byte an element; backward the mask is widened, multiplied and scaled.
  void dropout(std::int64_t rows, std::int64_t width) {
    if (train_) pointwise(rows, width, 1, 1.25, 3.25, 3);
  }

  void host(Seconds forward, Seconds backward) {
    passes_.forward.host += forward * times_;
    if (train_) passes_.backward.host += backward * times_;
  }

  EagerPasses take() { return std::move(passes_); }

 private:
  static Elementwise work(Elementwise::Kind kind, std::int64_t rows, std::int64_t width,
                          double reads, double writes) {
    const Bytes all = real(rows) * real(width) * Bytes(4);
    return {kind, rows, width, all * reads, all * writes};
  }
  void forward(const Op& op) { passes_.forward.ops.push_back({op, times_}); }
  void backward(Gemm op) { add_backward(op); }
  void backward(Elementwise op) {
    op.gradient = true;
    add_backward(op);
  }
  void add_backward(const Op& op) {
    if (train_) passes_.backward.ops.push_back({op, times_});
  }

  bool train_, compiled_, accumulate_;
  double times_ = 1;
  EagerPasses passes_;
};

struct Sizes {
  std::int64_t batch, tokens, heads, inner, ffn, vocab;  // of one rank
  std::int64_t rows() const { return batch * tokens; }
  std::int64_t score_rows() const { return batch * heads * tokens; }
};

// The elementwise kernels between the product of the scores and the softmax.
enum class Masking { kScaledAndAdded, kScaledAndWhere, kAddedAndMax, kAdded };

void attention_core(Recorder& r, const EagerShape& m, const Sizes& s, Masking masking,
                    bool score_dropout) {
  const std::int64_t n = s.batch * s.heads, rows = s.score_rows(), width = s.tokens;
  r.batched(n, s.tokens, s.tokens, m.head_dim);
  if (!r.compiled()) {
    switch (masking) {
      case Masking::kScaledAndAdded:  // the mask is one row a sequence
        r.scale(rows, width);
        r.pointwise(rows, width, 1, 1, 0, 0);
        break;
      case Masking::kScaledAndWhere:
        r.scale(rows, width);
        r.scale(rows, width);
        break;
      case Masking::kAddedAndMax:  // the mask is one matrix a sequence
        r.pointwise(rows, width, 1, 1, 0, 0);
        r.pointwise(rows, width, 1, 1, 2, 1);
        break;
      case Masking::kAdded:  // a bias of its own for each head
        r.pointwise(rows, width, 2, 1, 0, 0);
        break;
    }
  }
  r.softmax(rows, width);
  if (score_dropout) r.dropout(rows, width);
  r.batched(n, s.tokens, m.head_dim, s.tokens);
  r.copy(s.rows(), s.inner);
}

// Residual add and norm, in either order.
void residual_and_norm(Recorder& r, std::int64_t rows, std::int64_t hidden) {
  if (!r.compiled()) r.residual(rows, hidden);
  r.layer_norm(rows, hidden);
  if (r.compiled()) r.pointwise(rows, hidden, 1, 1, 0, 0);  // the sum and the result in one kernel
}

// The output projection of attention and the MLP, with the residual add and norm between them.
void output_and_mlp(Recorder& r, const EagerShape& m, const Sizes& s) {
  r.linear(s.rows(), m.hidden, s.inner, true);
  r.dropout(s.rows(), m.hidden);
  residual_and_norm(r, s.rows(), m.hidden);
  r.linear(s.rows(), s.ffn, m.hidden, true);
  r.activation(s.rows(), s.ffn);
  r.linear(s.rows(), m.hidden, s.ffn, true);
  r.dropout(s.rows(), m.hidden);
}

void bert(Recorder& r, const EagerShape& m, const Sizes& s) {
  r.layer_norm(s.rows(), m.hidden);
  r.dropout(s.rows(), m.hidden);
  r.repeat(real(m.layers));
  for (int i = 0; i < 3; ++i) r.linear(s.rows(), s.inner, m.hidden, true);
  attention_core(r, m, s, Masking::kScaledAndAdded, true);
  output_and_mlp(r, m, s);
  residual_and_norm(r, s.rows(), m.hidden);
  r.repeat(1);
  r.linear(s.rows(), m.hidden, m.hidden, true);
  r.activation(s.rows(), m.hidden);
  r.layer_norm(s.rows(), m.hidden);
  r.linear(s.rows(), s.vocab, m.hidden, true);
}

// GELU by tanh, written out in Python: four scalings, a power, a sum, a product.
void new_gelu(Recorder& r, std::int64_t rows, std::int64_t width) {
  if (r.compiled()) return r.activation(rows, width);
  for (int i = 0; i < 3; ++i) r.scale(rows, width);
  r.pointwise(rows, width, 1, 1, 4, 3);  // the power: again a power, scaled, times the gradient
  r.pointwise(rows, width, 1, 1, 0, 0);  // 1 + tanh
  r.residual(rows, width);
  r.activation(rows, width);
  r.pointwise(rows, width, 2, 1, 4, 2);
}

void gpt2(Recorder& r, const EagerShape& m, const Sizes& s) {
  r.dropout(s.rows(), m.hidden);
  r.repeat(real(m.layers));
  residual_and_norm(r, s.rows(), m.hidden);
  r.linear(s.rows(), 3 * s.inner, m.hidden, true);
  if (s.batch > 1) r.copy(s.rows(), 3 * s.inner);  // heads of several sequences are gathered
  attention_core(r, m, s, Masking::kScaledAndWhere, true);
  r.linear(s.rows(), m.hidden, s.inner, true);
  r.dropout(s.rows(), m.hidden);
  residual_and_norm(r, s.rows(), m.hidden);
  r.linear(s.rows(), s.ffn, m.hidden, true);
  new_gelu(r, s.rows(), s.ffn);
  r.linear(s.rows(), m.hidden, s.ffn, true);
  r.dropout(s.rows(), m.hidden);
  r.repeat(1);
  r.layer_norm(s.rows(), m.hidden);
  r.linear(s.rows(), s.vocab, m.hidden, false);
}

void opt(Recorder& r, const EagerShape& m, const Sizes& s) {
  r.repeat(real(m.layers));
  residual_and_norm(r, s.rows(), m.hidden);
  for (int i = 0; i < 3; ++i) {
    r.linear(s.rows(), s.inner, m.hidden, true);
    r.copy(s.rows(), s.inner);
  }
  if (!r.compiled()) r.scale(s.rows(), s.inner);
  attention_core(r, m, s, Masking::kAddedAndMax, false);
  output_and_mlp(r, m, s);
  r.repeat(1);
  r.layer_norm(s.rows(), m.hidden);
  r.linear(s.rows(), s.vocab, m.hidden, false);
}

// The root-mean-square norm of T5, in Python: square, mean, two products.
void t5_norm(Recorder& r, std::int64_t rows, std::int64_t width) {
  if (r.compiled()) return r.layer_norm(rows, width);
  r.pointwise(rows, width, 1, 1, 2, 1);
  r.pointwise(rows, width, 1, 0, 0, 1);
  r.pointwise(rows, width, 1, 1, 3, 1);
  r.pointwise(rows, width, 1, 1, 3, 1);
}

void t5_attention(Recorder& r, const EagerShape& m, const Sizes& s) {
  t5_norm(r, s.rows(), m.hidden);
  for (int i = 0; i < 3; ++i) {
    r.linear(s.rows(), s.inner, m.hidden, false);
    if (s.batch > 1) r.copy(s.rows(), s.inner);
  }
  attention_core(r, m, s, Masking::kAdded, true);
  r.linear(s.rows(), m.hidden, s.inner, false);
  r.dropout(s.rows(), m.hidden);
  r.residual(s.rows(), m.hidden);
}

void switch_transformer(Recorder& r, const EagerShape& m, const Sizes& s) {
  r.repeat(3 * real(m.layers));  // the decoder also attends to the encoder
  t5_attention(r, m, s);
  const auto feed_forward = [&](std::int64_t rows) {
    r.linear(rows, s.ffn, m.hidden, false);
    r.activation(rows, s.ffn);
    r.dropout(rows, s.ffn);
    r.linear(rows, m.hidden, s.ffn, false);
  };
  r.repeat(2 * real(m.layers));
  t5_norm(r, s.rows(), m.hidden);
  r.dropout(s.rows(), m.hidden);
  r.residual(s.rows(), m.hidden);
  r.repeat(real(m.layers));  // half of both stacks is dense
  feed_forward(s.rows());
  r.linear(s.rows(), kExperts, m.hidden, false);
  r.host(kExpertLayerHost, kExpertLayerHost);
  r.repeat(real(m.layers) * real(kExperts));
  feed_forward(s.batch * kExpertCapacity);
  for (int i = 0; i < 2; ++i) r.copy(s.batch * kExpertCapacity, m.hidden);
  r.repeat(1);
  r.linear(s.rows(), s.vocab, m.hidden, false);
}

}  // namespace

EagerShape eager_shape(std::string_view model) {
  using Kind = EagerShape::Kind;
  static constexpr std::array<std::pair<std::string_view, EagerShape>, 6> kModels = {
      {{"bert_large", {Kind::kBert, 24, 1024, 16, 64, 4096, 30522}},
       {"gpt2_large", {Kind::kGpt2, 36, 1280, 20, 64, 5120, 50257}},
       {"gpt3_xl", {Kind::kGpt2, 24, 3072, 24, 128, 12288, 50257}},
       {"gpt3_27", {Kind::kGpt2, 32, 2560, 32, 80, 10240, 50257}},
       {"opt_13", {Kind::kOpt, 24, 2048, 32, 64, 8192, 50272}},
       {"switchxl4", {Kind::kSwitch, 24, 1024, 32, 128, 16384, 32128}}}};
  for (const auto& [name, shape] : kModels) {
    if (name == model) return shape;
  }
  throw InputError(fmt::format("no eager composition of model '{}'", model));
}

EagerPasses eager_passes(const EagerShape& m, std::int64_t batch, std::int64_t tokens,
                         const EagerRun& run) {
  Recorder r(run);
  const Sizes s{batch,
                tokens,
                m.heads / run.shards,
                m.heads * m.head_dim / run.shards,
                m.ffn / run.shards,
                m.vocab / run.shards};
  switch (m.kind) {
    case EagerShape::Kind::kBert:
      bert(r, m, s);
      break;
    case EagerShape::Kind::kGpt2:
      gpt2(r, m, s);
      break;
    case EagerShape::Kind::kOpt:
      opt(r, m, s);
      break;
    case EagerShape::Kind::kSwitch:
      switch_transformer(r, m, s);
      break;
  }
  r.cross_entropy(s.rows(), s.vocab);
  return r.take();
}

}  // namespace orrery
