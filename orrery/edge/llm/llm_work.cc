#include "orrery/edge/llm/llm_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "orrery/base/error.h"

namespace orrery {
namespace {

constexpr double kHalf = 2, kFloat = 4;  // bytes
// Kernels of llama.cpp's graph of a layer: of attention (norm, three products, two rotations, two
// writes of the cache, attention, the output's product, the residual sum), of linear attention, of
// a dense MLP (norm, two or three products, activation, sum), and what experts add (router, choice,
// weights, sum of the chosen). Before and after the layers: the table, a norm, the LM head.
constexpr double kAttentionKernels = 11, kLinearKernels = 16, kMlpKernels = 6, kExpertKernels = 8,
                 kOuterKernels = 3;

// The sum over i = 1..tokens of min(depth + i, window).
double pairs(double depth, double tokens, int window) {
  const auto growing = [](double from, double count) {
    return count * from + count * (count + 1) / 2;
  };
  if (window == 0) return growing(depth, tokens);
  const double grows = std::clamp(window - depth, 0.0, tokens);
  return growing(depth, grows) + (tokens - grows) * window;
}

// Elements that the kernels of a layer read and write for a token. Each of the kernels above reads
// what the one before it wrote: rows of the width `hidden`, of queries and outputs, of keys and
// values, of the MLP. Linear attention is taken to have twice the hidden width.
double mixer_elements(const Mixer& mixer, double hidden) {
  constexpr double kHidden = 9, kQueries = 6, kKeys = 4, kLinearWidth = 2;
  if (!has_mixer(mixer)) return 0;
  double queries = kLinearWidth * hidden, keys = 0;
  if (const Width entry = kept_state(mixer).entry; entry.grouped > 0) {
    const DecodeWidths core = decode_widths(mixer);
    keys = double(entry.groups) * core.head;
    queries = keys * core.packed;
  }
  return kHidden * hidden + kQueries * queries + kKeys * keys;
}

double mlp_elements(const Mlp& mlp, double hidden) {
  constexpr double kHidden = 6, kInner = 6, kOfExpert = 3;
  if (const auto* d = std::get_if<DenseMlp>(&mlp))
    return kHidden * hidden + kInner * d->intermediate;
  if (const auto* m = std::get_if<MoeMlp>(&mlp))
    return kHidden * hidden + kInner * m->shared_intermediate +
           m->top_k * (kInner * m->intermediate + kOfExpert * hidden);
  return 0;
}

// LlmFile::packed_heads of one layer.
double packed_of(int queries_per_key) {
  for (const int packed : {8, 4, 2}) {
    if (queries_per_key % packed == 0) return std::log2(packed);
  }
  return 0;
}

// Kernels of a mixer, by what it caches.
double kernels_of(const KeptState& kept) {
  constexpr double kOfLatents = 4, kOfEntries = 8;  // further ones
  if (kept.entry.grouped > 0) return kAttentionKernels;
  if (kept.rotated > 0) return kAttentionKernels + kOfEntries;
  if (kept.entry.total() > 0) return kAttentionKernels + kOfLatents;
  return kept.recurrent.total() > 0 ? kLinearKernels : 0;
}

}  // namespace

LlmFile::LlmFile(const Architecture& model, const GgufFormat& format)
    : model_(model.id),
      format_(&format),
      kernels_(kOuterKernels),
      hidden_(model.hidden),
      layers_(model.layers.size()),
      max_context_(model.max_context) {
  using Role = GgufMatrices::Role;
  const auto matrices = gguf_matrices(model, format);
  size_ = gguf_bytes(matrices);
  for (const GgufMatrices& m : matrices) {
    const double packed = m.type->weights > 1 ? m.elements : 0;
    if (m.role == Role::kLayer) always_packed_ += packed;
    if (m.role == Role::kExperts) {
      experts_.push_back({Bytes(m.bytes()), Flops(2 * m.elements), m.active, packed});
    } else {
      (m.role == Role::kEmbedding ? tables_ : always_) += Bytes(m.bytes());
    }
    const Flops flops(2 * m.elements * m.active);
    if (m.role == Role::kOutput) head_flops_ += flops;
    if (m.role == Role::kLayer || m.role == Role::kExperts) body_flops_ += flops;
  }
  for (int i = 0; i < model.layers.size(); ++i) {
    const LayerSpec& spec = model.layers.at(i);
    const KeptState kept = kept_state(spec.mixer);
    const DecodeWidths core = decode_widths(spec.mixer);
    kernels_ += kernels_of(kept);
    activations_ += Bytes(
        kFloat * (mixer_elements(spec.mixer, model.hidden) + mlp_elements(spec.mlp, model.hidden)));
    state_ += Bytes(kFloat * double(kept.recurrent.total()));
    if (core.multiply_adds > 0)
      attention_.push_back({Bytes(kHalf * double(kept.cached().total())), 2 * core.multiply_adds,
                            kept.window, double(core.head), packed_of(core.packed), 1});
    if (has_mlp(spec.mlp)) kernels_ += kMlpKernels;
    if (std::holds_alternative<MoeMlp>(spec.mlp)) kernels_ += kExpertKernels;
  }
  std::vector<Attention> merged;
  for (const Attention& a : attention_) {
    const auto same = std::find_if(merged.begin(), merged.end(), [&](const Attention& m) {
      return m.cached == a.cached && m.flops == a.flops && m.window == a.window &&
             m.width == a.width && m.packed == a.packed;
    });
    if (same == merged.end()) {
      merged.push_back(a);
    } else {
      same->layers += 1;
    }
  }
  attention_ = std::move(merged);
  hidden_row_ = Bytes(kFloat * model.hidden);
  buffered_row_ = Bytes(kFloat * (double(model.vocab) + model.hidden));
}

LlmFile LlmFile::of_size(Bytes file) const {
  constexpr double kLargest = 4;
  const double factor = file / size_;
  if (!(factor >= 1 / kLargest) || factor > kLargest)
    throw InputError(fmt::format("a file of {:.2f} GB is not {} in {}, which takes {:.2f} GB",
                                 file.value() / 1e9, model_, format_->name, size_.value() / 1e9));
  LlmFile out = *this;
  out.size_ = file;
  out.tables_ *= factor, out.always_ *= factor;
  for (Experts& e : out.experts_) e.bytes *= factor;
  return out;
}

Bytes LlmFile::read(double tokens) const {
  Bytes sum = always_;
  for (const Experts& e : experts_) sum += e.bytes * (1 - std::pow(1 - e.active, tokens));
  return sum;
}

Bytes LlmFile::unpacked(double tokens) const {
  constexpr double kWrittenAndRead = 2;
  if (tokens < kPackedTokens) return {};
  double elements = always_packed_;
  for (const Experts& e : experts_) elements += e.packed * (1 - std::pow(1 - e.active, tokens));
  return Bytes(kWrittenAndRead * kHalf * elements);
}

Flops LlmFile::padding(double tokens) const {
  Flops sum;
  for (const Experts& e : experts_)
    sum += e.each * (kExpertTile / 2 * (1 - std::pow(1 - e.active, tokens)));
  return sum;
}

Flops LlmFile::attention_flops(double depth, double tokens) const {
  double sum = 0;
  for (const Attention& a : attention_) sum += a.layers * a.flops * pairs(depth, tokens, a.window);
  return Flops(sum);
}

double LlmFile::mean_by_flops(double Attention::* of, double usual) const {
  constexpr double kLong = 32768;
  double sum = 0, weighted = 0;
  for (const Attention& a : attention_) {
    const double flops = a.layers * a.flops * (a.window > 0 ? a.window : kLong);
    sum += flops, weighted += flops * a.*of;
  }
  return sum > 0 ? weighted / sum : usual;
}

double LlmFile::head_width() const { return mean_by_flops(&Attention::width, 128); }
double LlmFile::packed_heads() const { return mean_by_flops(&Attention::packed, 2); }

Bytes LlmFile::cache_read(double depth) const {
  Bytes sum = state_ * 2;  // read and written
  for (const Attention& a : attention_)
    sum += a.cached * a.layers * (a.window > 0 ? std::min<double>(depth, a.window) : depth);
  return sum;
}

Bytes LlmFile::cache(double tokens, double ubatch) const {
  Bytes sum = state_;
  for (const Attention& a : attention_)
    sum += a.cached * a.layers * (a.window > 0 ? std::min(tokens, a.window + ubatch) : tokens);
  return sum;
}

}  // namespace orrery
