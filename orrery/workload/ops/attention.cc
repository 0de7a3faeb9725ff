#include "orrery/workload/ops/attention.h"

#include <fmt/format.h>

#include <algorithm>

namespace orrery {
namespace {

// Queries and outputs of attention are 16 bits wide unless it computes in 32.
Bytes stream_bytes(Dtype dtype) { return dtype == Dtype::kFp32 ? Bytes(4) : Bytes(2); }

double visible(double context, std::int64_t window) {
  return window > 0 ? std::min(context, real(window)) : context;
}

// Keys that the queries of one sequence read, window included.
double keys_read(const PrefillAttention& a) {
  const double past = a.window > 0 ? real(std::min(a.past, a.window - 1)) : real(a.past);
  return past + real(a.new_tokens);
}

double latent_pairs(const LatentAttentionCore& a) {
  // The context is a mean and need not be whole: the causal sum is linear in it.
  const double n = real(a.new_tokens);
  return a.decode ? n * a.context : n * (a.context - n) + n * (n + 1) / 2;
}

std::string window_text(std::int64_t window) {
  return window > 0 ? fmt::format(", window {}", window) : std::string();
}

}  // namespace

double attended_pairs(std::int64_t new_tokens, std::int64_t past, std::int64_t window,
                      bool causal) {
  const double n = real(new_tokens), p = real(past), w = real(window);
  if (!causal) return n * visible(n + p, window);
  // Query i sees past + i + 1 keys until that exceeds the window; the others see the whole window.
  const double growing = window > 0 ? std::clamp(w - p, 0.0, n) : n;
  return growing * p + growing * (growing + 1) / 2 + (n - growing) * w;
}

Flops PrefillAttention::flop_count() const {
  return Flops(2 * real(batch) * heads * (head_dim + value_dim) *
               attended_pairs(new_tokens, past, window, causal));
}

Bytes PrefillAttention::byte_count() const {
  const double queries = real(new_tokens) * heads;
  return real(batch) *
         (queries * (head_dim + value_dim) * stream_bytes(dtype) +
          keys_read(*this) * kv_heads * (head_dim + value_dim) * bytes_per_element(kv_dtype));
}

std::string PrefillAttention::description() const {
  return fmt::format("attention_prefill {} kv {}: {} x {} new + {} past, heads {}/{}, dim {}{}{}",
                     to_text(dtype), to_text(kv_dtype), batch, new_tokens, past, heads, kv_heads,
                     head_dim, window_text(window), causal ? "" : ", bidirectional");
}

Flops DecodeAttention::flop_count() const {
  return Flops(2 * real(batch) * queries * heads * (head_dim + value_dim) *
               visible(context, window));
}

Bytes DecodeAttention::byte_count() const {
  const double width = head_dim + value_dim;
  return real(batch) * (queries * heads * width * stream_bytes(dtype) +
                        visible(context, window) * kv_heads * width * bytes_per_element(kv_dtype));
}

std::string DecodeAttention::description() const {
  const std::string several = queries == 1 ? "" : fmt::format("{:.6g} new over ", queries);
  return fmt::format("attention_decode {} kv {}: {} x {}{:.6g} keys, heads {}/{}, dim {}{}",
                     to_text(dtype), to_text(kv_dtype), batch, several, context, heads, kv_heads,
                     head_dim, window_text(window));
}

Flops AttentionBackward::flop_count() const { return 2.5 * forward.flop_count(); }

Bytes AttentionBackward::byte_count() const {
  const PrefillAttention& a = forward;
  const double queries = real(a.new_tokens) * a.heads;
  const Bytes stream = stream_bytes(a.dtype);
  // Queries and their gradient; outputs and their gradient; the sum in 32 bits.
  const Bytes of_queries =
      queries * ((2 * a.head_dim + 2 * a.value_dim) * stream + 2.0 * a.head_dim * Bytes(4));
  // Keys and values, and their gradients.
  const Bytes of_keys = keys_read(a) * a.kv_heads * (a.head_dim + a.value_dim) *
                        (bytes_per_element(a.kv_dtype) + stream);
  return real(a.batch) * (of_queries + of_keys);
}

std::string AttentionBackward::description() const {
  return "backward of " + forward.description();
}

Flops LatentAttentionCore::flop_count() const {
  const int scores = qk_rope_dim + (decode ? kv_lora_rank : qk_nope_dim);
  const int values = decode ? kv_lora_rank : value_dim;
  return Flops(2 * real(batch) * heads * (scores + values) * latent_pairs(*this));
}

Bytes LatentAttentionCore::byte_count() const {
  const double latent = kv_lora_rank + qk_rope_dim;
  const double queries = real(new_tokens) * heads;
  if (decode) {
    return real(batch) * (queries * (latent + kv_lora_rank) * stream_bytes(dtype) +
                          context * latent * bytes_per_element(kv_dtype));
  }
  const double qk = qk_nope_dim + qk_rope_dim;
  // Keys and values are expanded, 16 bits; the rotary part of the key is one for all heads.
  const double expanded = 1.0 * heads * (qk_nope_dim + value_dim) + qk_rope_dim;
  return real(batch) * (queries * (qk + value_dim) + context * expanded) * stream_bytes(dtype);
}

std::string LatentAttentionCore::description() const {
  return fmt::format("mla {} {} kv {}: {} x {} new, {:.6g} keys, heads {}, latent {} + {}",
                     decode ? "absorbed" : "expanded", to_text(dtype), to_text(kv_dtype), batch,
                     new_tokens, context, heads, kv_lora_rank, qk_rope_dim);
}

MlaProjections projections(const MlaModule& m) {
  const LatentAttentionCore& a = m.core;
  const std::int64_t rows = a.batch * a.new_tokens;
  MlaProjections p;
  const auto add = [&](std::int64_t n, std::int64_t k, std::int64_t batch, Format format) {
    Gemm& g = p.products[p.count++];
    g.m = rows, g.n = n, g.k = k, g.batch = batch, g.format = format;
  };
  add(m.q_lora_rank + a.kv_lora_rank + a.qk_rope_dim, m.hidden, 1, m.format);
  add(std::int64_t{a.heads} * (a.qk_nope_dim + a.qk_rope_dim), m.q_lora_rank, 1, m.format);
  if (a.decode) {
    add(a.kv_lora_rank, a.qk_nope_dim, a.heads, Format::kBf16);
    add(a.value_dim, a.kv_lora_rank, a.heads, Format::kBf16);
  } else {
    add(std::int64_t{a.heads} * (a.qk_nope_dim + a.value_dim), a.kv_lora_rank, 1, m.format);
  }
  add(m.hidden, std::int64_t{a.heads} * a.value_dim, 1, m.format);
  return p;
}

Flops MlaModule::flop_count() const {
  Flops sum = core.flop_count();
  const MlaProjections p = projections(*this);
  for (std::size_t i = 0; i < p.count; ++i) sum = sum + p.products[i].flop_count();
  return sum;
}

Bytes MlaModule::byte_count() const {
  Bytes sum = core.byte_count();
  const MlaProjections p = projections(*this);
  for (std::size_t i = 0; i < p.count; ++i) sum = sum + p.products[i].byte_count();
  return sum;
}

Dtype MlaModule::arithmetic() const { return properties(format).arithmetic; }

std::string MlaModule::description() const {
  return fmt::format("{}, hidden {}, {}", core.description(), hidden, properties(format).name);
}

}  // namespace orrery
