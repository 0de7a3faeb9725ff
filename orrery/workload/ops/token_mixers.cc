#include "orrery/workload/ops/token_mixers.h"

#include <fmt/format.h>

namespace orrery {
namespace {

// Recurrent state is kept in fp32 (the default of SGLang and of the published models).
constexpr Bytes kStateElement{4};

// Input channels of the convolution over q, k and v (Mamba-2: C, B and x).
double channels_of(const LinearAttentionCore& a) {
  return 2.0 * a.k_heads * a.k_dim + 1.0 * a.v_heads * a.v_dim;
}

// Elements of a token's decay that the recurrence reads; those with one value for each head are
// left out.
double decay_of(const LinearAttentionCore& a) {
  return a.kind == LinearAttentionCore::Kind::kKimiDelta ? 1.0 * a.v_heads * a.k_dim : 0;
}

std::string_view recurrence_name(LinearAttentionCore::Kind kind) {
  switch (kind) {
    case LinearAttentionCore::Kind::kGatedDeltaNet:
      return "gated_delta_net";
    case LinearAttentionCore::Kind::kMamba2:
      return "mamba2";
    case LinearAttentionCore::Kind::kKimiDelta:
      return "kimi_delta";
  }
  return "recurrence";
}

}  // namespace

Flops LinearAttentionCore::flop_count() const {
  const double tokens = real(batch) * real(new_tokens);
  const double state = 1.0 * v_heads * k_dim * v_dim;
  const int products = kind == Kind::kMamba2 ? 2 : 3;
  return Flops(2 * tokens * (products * state + (conv > 1 ? conv * channels_of(*this) : 0)));
}

Bytes LinearAttentionCore::byte_count() const {
  const double tokens = real(batch) * real(new_tokens);
  const double state = 1.0 * v_heads * k_dim * v_dim;
  const Bytes element = bytes_per_element(dtype);
  const double passes = decode ? 2 : 1;  // a prefill starts from nothing and writes the state once
  return passes * real(batch) *
             (state * kStateElement + (conv - 1) * channels_of(*this) * element) +
         tokens * (channels_of(*this) + decay_of(*this) + 1.0 * v_heads * v_dim) * element;
}

std::string LinearAttentionCore::description() const {
  return fmt::format("{} {} {}: {} x {} new, keys {} x {}, values {} x {}", recurrence_name(kind),
                     decode ? "decode" : "prefill", to_text(dtype), batch, new_tokens, k_heads,
                     k_dim, v_heads, v_dim);
}

Bytes CausalConvolution::byte_count() const {
  const double windows = decode ? 2 * real(batch) * (window - 1) : 0;
  return (2 * real(batch) * real(new_tokens) + windows) * real(channels) * bytes_per_element(dtype);
}

std::string CausalConvolution::description() const {
  return fmt::format("causal_convolution of {} {} {}: {} x {} new, {} channels, window {}",
                     recurrence_name(mixer), decode ? "decode" : "prefill", to_text(dtype), batch,
                     new_tokens, channels, window);
}

}  // namespace orrery
