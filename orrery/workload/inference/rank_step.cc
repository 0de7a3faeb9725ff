#include "orrery/workload/inference/rank_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "orrery/base/error.h"

namespace orrery {
namespace {

// Far above any step, far below what overflows in products with the sizes of a model.
constexpr double kMostTokens = 1e9;

void check(const Batch& batch, std::int64_t padding) {
  double tokens = real(padding);
  for (const SequenceGroup& g : batch.groups) {
    if (g.sequences < 0 || g.new_tokens < 1 || !(g.past >= 0)) {
      throw InputError(
          fmt::format("expected sequences >= 0, new tokens >= 1 and past >= 0, got {}, {} and {}",
                      g.sequences, g.new_tokens, g.past));
    }
    if (g.past > kMostTokens) {
      throw InputError(
          fmt::format("{} cached tokens a sequence: at most {} are allowed", g.past, kMostTokens));
    }
    tokens += real(g.sequences) * real(g.new_tokens);
  }
  if (padding < 0) throw InputError(fmt::format("padding must not be negative, got {}", padding));
  if (tokens > kMostTokens) {
    throw InputError(
        fmt::format("a step of {} tokens: at most {} are allowed", tokens, kMostTokens));
  }
  if (batch.tokens() == 0) throw InputError("the batch has no tokens");
}

}  // namespace

void OpList::gather_queries(const RankStep& step, double tokens, int heads, int query_dim) {
  if (step.cp() == 1) return;
  collective("cp_query_all_gather", Collective::Kind::kAllGather, Collective::Group::kContext,
             step.cp(), tokens * heads * step.cp() * query_dim * step.element());
}

void OpList::combine_outputs(const RankStep& step, double tokens, int heads, int value_dim) {
  if (step.cp() == 1) return;
  const double all_heads = 1.0 * heads * step.cp();
  collective("cp_lse_all_gather", Collective::Kind::kAllGather, Collective::Group::kContext,
             step.cp(), tokens * all_heads * step.cp() * Bytes(4));
  const auto rows = static_cast<std::int64_t>(std::llround(tokens));
  elementwise("cp_rescale", Part::kAttention, Elementwise::Kind::kActivation,
              {rows, std::int64_t{heads} * step.cp() * value_dim, step.element(), 1, 1});
  collective("cp_output_reduce_scatter", Collective::Kind::kReduceScatter,
             Collective::Group::kContext, step.cp(),
             tokens * all_heads * value_dim * step.element());
}

std::int64_t Batch::tokens() const {
  std::int64_t n = 0;
  for (const SequenceGroup& g : groups) n += g.sequences * g.new_tokens;
  return n;
}

std::int64_t Batch::sequences() const {
  std::int64_t n = 0;
  for (const SequenceGroup& g : groups) n += g.sequences;
  return n;
}

RankBatch rank_batch(const Batch& batch, int dp, std::int64_t padding,
                     std::vector<SequenceGroup> memory) {
  check(batch, padding);
  RankBatch rank;
  rank.padding = padding;
  rank.adapters = batch.adapters;
  rank.lora = batch.lora;
  rank.all_tokens = std::max(batch.all_tokens, batch.tokens()) + padding * dp;
  rank.groups = std::move(memory);
  rank.groups.assign(batch.groups.begin(), batch.groups.end());
  if (dp > 1 && batch.all_tokens == 0) {
    std::stable_sort(
        rank.groups.begin(), rank.groups.end(),
        [](const SequenceGroup& a, const SequenceGroup& b) { return a.new_tokens > b.new_tokens; });
    // The first dp group gets every dp-th sequence, from the first on.
    std::int64_t before = 0;
    for (SequenceGroup& g : rank.groups) {
      const std::int64_t after = before + g.sequences;
      g.sequences = (after + dp - 1) / dp - (before + dp - 1) / dp;
      before = after;
    }
  }
  rank.tokens = padding;
  for (const SequenceGroup& g : rank.groups) {
    rank.tokens += g.sequences * g.new_tokens;
    rank.sequences += g.sequences;
    if (!g.sampled) continue;
    rank.sampled += g.sequences;
    rank.logits += g.sequences * (g.verify ? g.new_tokens : 1);
  }
  return rank;
}

bool decodes_only(const RankBatch& batch) {
  return std::all_of(batch.groups.begin(), batch.groups.end(),
                     [](const SequenceGroup& g) { return g.new_tokens == 1 || g.verify; });
}

void OpList::quantise(std::string_view name, Part part, std::int64_t rows, std::int64_t width,
                      Bytes element, Format format) {
  // The measured products of fp8, fp8_block and nvfp4 quantise their input themselves.
  if (format != Format::kInt8 && format != Format::kMxfp4Fp8 && format != Format::kInt4Fp8) return;
  const double n = real(rows) * real(width);
  add(name, part,
      Elementwise{Elementwise::Kind::kQuantise, rows, width, n * element,
                  n * properties(format).activation},
      true);
}

}  // namespace orrery
