#include "orrery/workload/ops/sparse_attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "orrery/workload/ops/attention.h"

namespace orrery {
namespace {

using Block = SparseAttentionBlock;
using Kind = SparseAttentionBlock::Kind;

constexpr double kScaledElements = 64;  // elements of an fp8 entry that share a scale byte
constexpr double kIndexGroup = 128;     // elements of an index key that share a 32-bit scale

bool is_dsa(const Block& a) { return a.kind == Kind::kDsa || a.kind == Kind::kDsaReuse; }
bool has_entries(const Block& a) { return a.kind == Kind::kCsa || a.kind == Kind::kHca; }

// Sum of min(floor(q / compress), most) over q = 1 .. tokens; most 0: no limit.
double whole_entry_sum(double tokens, double compress, double most) {
  const double growing = most > 0 ? std::min(tokens, compress * most) : tokens;
  const double m = std::floor(growing / compress);
  const double sum = compress * m * (m - 1) / 2 + m * (growing - compress * m + 1);
  return sum + (tokens - growing) * most;
}

// Sum of the keys that the first `tokens` queries of a sequence read in blocks.
double whole_block_sum(double tokens, double block, double blocks) {
  const double growing = std::min(tokens, block * blocks);
  const double sum = growing * (growing + 1) / 2, more = tokens - growing;
  const double whole = std::floor(more / block), rest = more - whole * block;
  return sum + more * block * (blocks - 1) + whole * block * (block + 1) / 2 +
         rest * (rest + 1) / 2;
}

// `sum` of a number of tokens that is a mean: linear between whole numbers.
template <class Sum>
double between(double tokens, const Sum& sum) {
  const double low = std::floor(tokens), share = tokens - low;
  return share == 0 ? sum(low) : (1 - share) * sum(low) + share * sum(low + 1);
}

// The sum over the new tokens of a sequence, from the sums over the first tokens.
template <class Sum>
double over_new(const Block& a, const Sum& sum) {
  return between(a.past + real(a.new_tokens), sum) - between(a.past, sum);
}

double entry_pairs(const Block& a, int most) {
  return over_new(a, [&](double t) { return whole_entry_sum(t, a.compress, most); });
}

double window_pairs(const Block& a) {
  return over_new(
      a, [&](double t) { return attended_pairs(static_cast<std::int64_t>(t), 0, a.window, true); });
}

double block_pairs(const Block& a) {
  const double blocks = std::max(1, a.top_k / a.block);
  return over_new(a, [&](double t) { return whole_block_sum(t, a.block, blocks); });
}

// Keys in sight of the mean query of DSA, and the number of them that it reads.
double keys_in_sight(const Block& a) {
  return std::max(1.0, (a.past + (real(a.new_tokens) + 1) / 2) / a.compress);
}
double keys_read(const Block& a) { return std::min(keys_in_sight(a), real(a.top_k)); }

// The traffic of a sequence with its cache.
Bytes cache_bytes(const Block& a) {
  const double tokens = a.past + real(a.new_tokens);
  if (is_dsa(a)) {
    const double all = tokens / a.compress;
    const double read = std::min(all, real(a.new_tokens) * keys_read(a));
    return read * a.entry * bytes_per_element(a.kv_dtype) +
           (a.index_heads > 0 ? all * a.index_dim : 0) * bytes_per_element(Dtype::kFp8);
  }
  if (a.kind == Kind::kMsa) {
    const double read = std::min(tokens, block_pairs(a));
    return read * a.entry * bytes_per_element(a.kv_dtype) +
           (a.index_heads > 0 ? tokens * a.index_dim : 0) * bytes_per_element(Dtype::kBf16);
  }
  const Bytes entry = compressed_entry_bytes(a.entry, a.rope_dim, a.kv_dtype);
  Bytes sum = (std::min(a.past, real(a.window - 1)) + real(a.new_tokens)) * entry;
  if (!has_entries(a)) return sum;
  const double entries = between(tokens, [&](double t) { return std::floor(t / a.compress); });
  sum += std::min(entries, entry_pairs(a, a.top_k)) * entry;
  if (a.index_heads > 0) sum += entries * index_key_bytes(a.index_dim);
  // kv and gate of a token wait in 32 bits for the rest of their entry: written once, read once.
  if (a.decode) {
    const double width =
        (a.overlapping ? 2.0 : 1.0) * (a.entry + (a.index_heads ? a.index_dim : 0));
    sum += 2 * real(a.new_tokens) * 2 * width * bytes_per_element(Dtype::kFp32);
  }
  return sum;
}

std::string_view sparse_name(Kind kind) {
  switch (kind) {
    case Kind::kDsa:
      return "dsa";
    case Kind::kDsaReuse:
      return "dsa_reuse";
    case Kind::kCsa:
      return "csa";
    case Kind::kHca:
      return "hca";
    case Kind::kMsa:
      return "msa";
    case Kind::kWindow:
      return "window";
  }
  return "sparse";
}

}  // namespace

Bytes compressed_entry_bytes(int elements, int rope_dim, Dtype kv_dtype) {
  if (bytes_per_element(kv_dtype) > Bytes(1)) return elements * bytes_per_element(kv_dtype);
  const double plain = elements - rope_dim;
  return Bytes(plain + std::floor(plain / kScaledElements) + 1) +
         rope_dim * bytes_per_element(Dtype::kBf16);
}

Bytes index_key_bytes(int elements) {
  return Bytes(elements + std::ceil(elements / kIndexGroup) * 4);
}

SparseAttentionWork work(const SparseAttentionBlock& a) {
  SparseAttentionWork w;
  const double hidden = a.hidden, heads = a.heads;
  const double queries = heads * a.head_dim, q_rank = a.q_rank;
  const double index_width = 1.0 * a.index_heads * a.index_dim;
  w.queries = (a.q_rank > 0 ? q_rank * (hidden + queries) : hidden * queries) + hidden * a.entry;
  w.indexer = index_width * (a.q_rank > 0 ? q_rank : hidden);
  w.output = heads * a.value_dim * hidden;
  if (is_dsa(a)) {
    w.attention = real(a.new_tokens) * 2 * heads * a.entry * keys_read(a);
    w.index_score = real(a.new_tokens) * index_width * keys_in_sight(a);
    return w;
  }
  const double pair = heads * (a.head_dim + a.value_dim);
  if (a.kind == Kind::kMsa) {
    if (a.index_heads > 0) w.indexer += hidden * a.index_dim;
    w.attention = pair * block_pairs(a);
    w.index_score = index_width * attended_pairs(a.new_tokens, 0, 0, true) +
                    index_width * real(a.new_tokens) * a.past;
    return w;
  }
  if (a.o_groups > 0)
    w.output = heads * a.value_dim * a.o_rank + 1.0 * a.o_groups * a.o_rank * hidden;
  w.attention = pair * window_pairs(a);
  if (!has_entries(a)) return w;
  const double series = a.overlapping ? 2 : 1;
  w.compressor = 2 * hidden * series * a.entry;
  w.attention += pair * entry_pairs(a, a.top_k);
  if (a.index_heads > 0) {
    w.indexer += 2 * hidden * series * a.index_dim + hidden * a.index_heads;
    w.index_score = index_width * entry_pairs(a, 0);
  }
  return w;
}

Flops SparseAttentionBlock::flop_count() const {
  const SparseAttentionWork w = work(*this);
  const double rows = real(batch) * real(new_tokens) + real(padding);
  return Flops(2 * (rows * w.projections() + real(batch) * (w.attention + w.index_score)));
}

Bytes SparseAttentionBlock::byte_count() const {
  const double rows = real(batch) * real(new_tokens) + real(padding);
  return work(*this).projections() * properties(format).weight + real(batch) * cache_bytes(*this) +
         2 * rows * hidden * bytes_per_element(Dtype::kBf16);
}

Dtype SparseAttentionBlock::arithmetic() const { return properties(format).arithmetic; }

std::string SparseAttentionBlock::description() const {
  return fmt::format("{} block {} {} kv {}: {} x {} new + {:.6g} past, heads {}, width {}",
                     sparse_name(kind), decode ? "decode" : "prefill", properties(format).name,
                     to_text(kv_dtype), batch, new_tokens, past, heads, hidden);
}

}  // namespace orrery
