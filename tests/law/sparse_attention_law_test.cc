// Laws of compressed attention (DeepSeek-V4) and block-sparse attention (MiniMax-M3): the FLOPs and
// bytes of their ops are those of a count, one multiply-add and one cached element at a time.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "orrery/model/architecture/parameters.h"
#include "orrery/model/catalog/catalog.h"
#include "orrery/workload/inference/program.h"
#include "tests/unit/workload/reading.h"

namespace orrery {
namespace sparse_attention_law_test {

using namespace reading;

int pick(int least, int most) { return *rc::gen::inRange(least, most + 1); }

Architecture of_mixer(const Mixer& mixer, int hidden) {
  Architecture model;
  model.id = "any";
  model.hidden = hidden;
  model.vocab = 16;
  LayerSpec layer;
  layer.mixer = mixer;
  layer.norms = 1;
  model.layers.append(layer);
  return model;
}

// The attention op of a step of one layer.
SparseAttentionBlock block_of(const Architecture& model, const Batch& batch, int tp = 1) {
  const Program p = forward_program(model, {tp, 1, 1, 1}, {}, batch);
  for (const ProgramOp& op : p.ops) {
    if (const auto* b = std::get_if<SparseAttentionBlock>(&op.op)) return *b;
  }
  ADD_FAILURE() << "no block of sparse attention";
  return {};
}

double flops_of(const Architecture& model, const Batch& batch, int tp = 1) {
  return flops(block_of(model, batch, tp)).value();
}

// One sequence that grows token by token, each matrix of a rank multiplied element by element.
struct Machine {
  long multiply_adds = 0;
  std::set<const void*> matrices;
  long weights = 0;  // elements of the matrices that were read, each once

  void matrix(const void* which, long inputs, long outputs) {
    for (long o = 0; o < outputs; ++o) {
      for (long i = 0; i < inputs; ++i) ++multiply_adds;
    }
    if (matrices.insert(which).second) weights += inputs * outputs;
  }
  void dot(long length) {
    for (long i = 0; i < length; ++i) ++multiply_adds;
  }
};

struct CompressedMachine : Machine {
  const CompressedAttention& a;
  int hidden, tp;
  // Positions whose window and entries a query has read.
  std::set<long> window_read, entries_read, index_read;
  char w[16] = {};  // names of the matrices

  CompressedMachine(const CompressedAttention& mixer, int h, int ranks)
      : a(mixer), hidden(h), tp(ranks) {}

  void token(long position) {
    const int heads = a.heads / tp;
    matrix(&w[0], hidden, a.q_lora_rank);
    matrix(&w[1], a.q_lora_rank, heads * a.head_dim);
    matrix(&w[2], hidden, a.head_dim);
    const int series = a.overlapping ? 2 : 1;
    if (a.compress > 0) {
      matrix(&w[3], hidden, series * a.head_dim);
      matrix(&w[4], hidden, series * a.head_dim);
    }
    // Entries whose last token is this one or an earlier one.
    std::vector<long> entries;
    for (long t = 0; t <= position; ++t) {
      if (a.compress > 0 && (t + 1) % a.compress == 0) entries.push_back(t / a.compress);
    }
    if (a.indexer) {
      matrix(&w[5], hidden, series * a.indexer->head_dim);
      matrix(&w[6], hidden, series * a.indexer->head_dim);
      matrix(&w[7], a.q_lora_rank, a.indexer->heads * a.indexer->head_dim);
      matrix(&w[8], hidden, a.indexer->heads);
      for (const long e : entries) {
        for (int h = 0; h < a.indexer->heads; ++h) dot(a.indexer->head_dim);
        index_read.insert(e);
      }
      // The latest are taken to be the best.
      const auto kept = std::min<std::size_t>(entries.size(), static_cast<std::size_t>(a.top_k));
      entries.erase(entries.begin(), entries.end() - static_cast<std::ptrdiff_t>(kept));
    }
    const auto attend = [&] {
      for (int h = 0; h < heads; ++h) dot(a.head_dim), dot(a.head_dim);
    };
    for (long t = std::max(0L, position - a.window + 1); t <= position; ++t) {
      attend();
      window_read.insert(t);
    }
    for (const long e : entries) {
      attend();
      entries_read.insert(e);
    }
    for (int g = 0; g < a.o_groups / tp; ++g)
      matrix(&w[9] + g, a.heads / a.o_groups * a.head_dim, a.o_lora_rank);
    matrix(&w[15], a.o_groups / tp * a.o_lora_rank, hidden);
  }
};

CompressedAttention any_compressed(int tp) {
  CompressedAttention a;
  a.o_groups = tp * pick(1, 2);
  a.heads = a.o_groups * pick(1, 3);
  a.head_dim = 2 * pick(2, 4);
  a.rope_dim = 2;
  a.q_lora_rank = pick(2, 6), a.o_lora_rank = pick(2, 5);
  a.window = pick(1, 9);
  switch (pick(0, 2)) {
    case 0:
      a.compress = pick(2, 5), a.overlapping = true;
      a.top_k = pick(1, 6);
      a.indexer = SparseIndexer{pick(1, 3), pick(2, 5)};
      break;
    case 1:
      a.compress = pick(2, 9);
      break;
    default:
      break;
  }
  return a;
}

RC_GTEST_PROP(SparseAttentionLaw, CompressedAttentionDoesTheMultiplyAddsOfItsTokens, ()) {
  const int tp = pick(1, 2), hidden = pick(3, 9);
  const CompressedAttention a = any_compressed(tp);
  const Architecture model = of_mixer(a, hidden);
  const int past = pick(0, 40), tokens = past > 0 ? pick(1, 30) : pick(2, 30);
  CompressedMachine m(a, hidden, tp);
  for (int t = past; t < past + tokens; ++t) m.token(t);
  RC_ASSERT(flops_of(model, prefill(1, tokens, past), tp) ==
            2.0 * static_cast<double>(m.multiply_adds));
}

// In 16 bits an entry takes two bytes an element. An index key has one byte an element and a scale
// of four; kv and gate of a decoded token are written and read in four bytes an element.
RC_GTEST_PROP(SparseAttentionLaw, ADecodeStepMovesWhatItTouches, ()) {
  const int tp = pick(1, 2), hidden = pick(3, 9), past = pick(1, 60);
  const CompressedAttention a = any_compressed(tp);
  CompressedMachine m(a, hidden, tp);
  m.token(past);
  const double entry = 2.0 * a.head_dim, series = a.overlapping ? 2 : 1;
  double moved = 2.0 * static_cast<double>(m.weights) + 2.0 * 2 * hidden +
                 entry * static_cast<double>(m.window_read.size() + m.entries_read.size());
  if (a.indexer) {
    moved += (a.indexer->head_dim + 4.0) * static_cast<double>(m.index_read.size());
    moved += 2 * 4 * 2 * series * a.indexer->head_dim;
  }
  if (a.compress > 0) moved += 2 * 4 * 2 * series * a.head_dim;
  RC_ASSERT(bytes(block_of(of_mixer(a, hidden), decode(1, past), tp)).value() == moved);
}

RC_GTEST_PROP(SparseAttentionLaw, PrefillReadsNoEntryTwice, ()) {
  const int hidden = pick(3, 9), past = pick(0, 40), tokens = pick(2, 40);
  CompressedAttention a = any_compressed(1);
  a.top_k = 0, a.indexer.reset();  // every entry in sight is read
  CompressedMachine m(a, hidden, 1);
  for (int t = past; t < past + tokens; ++t) m.token(t);
  const double moved =
      2.0 * static_cast<double>(m.weights) + 2.0 * 2 * hidden * tokens +
      2.0 * a.head_dim * static_cast<double>(m.window_read.size() + m.entries_read.size());
  RC_ASSERT(bytes(block_of(of_mixer(a, hidden), prefill(1, tokens, past))).value() == moved);
}

SoftmaxAttention any_blocks(int tp) {
  SoftmaxAttention a;
  a.kv_heads = tp * pick(1, 2);
  a.heads = a.kv_heads * pick(1, 3);
  a.head_dim = pick(2, 6), a.value_dim = pick(2, 6);
  a.blocks = BlockSelection{pick(1, 5), pick(1, 4), a.kv_heads, pick(2, 5)};
  return a;
}

struct BlockMachine : Machine {
  const SoftmaxAttention& a;
  int hidden, tp;
  std::set<long> keys_read;
  char w[6] = {};

  BlockMachine(const SoftmaxAttention& mixer, int h, int ranks) : a(mixer), hidden(h), tp(ranks) {}

  void token(long position) {
    const int heads = a.heads / tp, kv = a.kv_heads / tp;
    const BlockSelection& b = *a.blocks;
    matrix(&w[0], hidden, heads * a.head_dim);
    matrix(&w[1], hidden, kv * a.head_dim);
    matrix(&w[2], hidden, kv * a.value_dim);
    matrix(&w[3], hidden, b.index_heads / tp * b.index_dim);
    matrix(&w[4], hidden, b.index_dim);
    matrix(&w[5], heads * a.value_dim, hidden);
    for (long t = 0; t <= position; ++t) {
      for (int h = 0; h < b.index_heads / tp; ++h) dot(b.index_dim);
    }
    // The query's own block and the latest before it are taken to be the best.
    const long first_block = std::max(0L, position / b.block - b.top_blocks + 1);
    for (long t = first_block * b.block; t <= position; ++t) {
      for (int h = 0; h < heads; ++h) dot(a.head_dim), dot(a.value_dim);
      keys_read.insert(t);
    }
  }
};

RC_GTEST_PROP(SparseAttentionLaw, BlockSelectionDoesTheMultiplyAddsOfItsTokens, ()) {
  const int tp = pick(1, 2), hidden = pick(3, 9);
  const SoftmaxAttention a = any_blocks(tp);
  const int past = pick(0, 40), tokens = past > 0 ? pick(1, 30) : pick(2, 30);
  BlockMachine m(a, hidden, tp);
  for (int t = past; t < past + tokens; ++t) m.token(t);
  RC_ASSERT(flops_of(of_mixer(a, hidden), prefill(1, tokens, past), tp) ==
            2.0 * static_cast<double>(m.multiply_adds));
}

RC_GTEST_PROP(SparseAttentionLaw, ADecodeStepReadsItsBlocksAndEveryIndexKey, ()) {
  const int tp = pick(1, 2), hidden = pick(3, 9), past = pick(1, 60);
  const SoftmaxAttention a = any_blocks(tp);
  BlockMachine m(a, hidden, tp);
  m.token(past);
  const double moved =
      2.0 * static_cast<double>(m.weights) + 2.0 * 2 * hidden +
      2.0 * a.kv_heads / tp * (a.head_dim + a.value_dim) * static_cast<double>(m.keys_read.size()) +
      2.0 * a.blocks->index_dim * (past + 1);
  RC_ASSERT(bytes(block_of(of_mixer(a, hidden), decode(1, past), tp)).value() == moved);
}

// The projections, window, entries, index scores and blocks of a token are the same whether it is
// prefilled or decoded; the LM head, which runs once a step, is not compared.
RC_GTEST_PROP(SparseAttentionLaw, PrefillAndDecodeDoTheWorkOfALongerPrefill, ()) {
  const int hidden = pick(3, 9), prompt = pick(2, 60), answer = pick(1, 30);
  const Mixer mixer = *rc::gen::arbitrary<bool>() ? Mixer(any_compressed(1)) : Mixer(any_blocks(1));
  const Architecture model = of_mixer(mixer, hidden);
  double sum = flops_of(model, prefill(1, prompt));
  for (int i = 0; i < answer; ++i) sum += flops_of(model, decode(1, prompt + i));
  RC_ASSERT(sum == flops_of(model, prefill(1, prompt + answer)));
}

CompressedAttention like_v4(int compress, int top_k) {
  CompressedAttention a;
  a.heads = 64, a.head_dim = 512, a.rope_dim = 64;
  a.q_lora_rank = 1024, a.o_groups = 8, a.o_lora_rank = 1024;
  a.window = 128, a.compress = compress, a.top_k = top_k;
  if (top_k > 0) a.overlapping = true, a.indexer = SparseIndexer{64, 128};
  return a;
}

// "2.3.1 Compressed sparse attention": attention over at most top_k entries, an indexer over all.
TEST(SparseAttentionLaw, CompressedSparseAttentionGrowsByItsIndexerAlone) {
  const Architecture model = of_mixer(like_v4(4, 512), 4096);
  const SparseAttentionWork near = work(block_of(model, decode(1, 4 * 512 + 128)));
  const SparseAttentionWork far = work(block_of(model, decode(1, 1 << 20)));
  EXPECT_EQ(near.attention, far.attention);
  EXPECT_EQ(near.attention, 64 * 2 * 512.0 * (128 + 512));
  EXPECT_EQ(far.index_score, 64 * 128.0 * (1 << 20) / 4);
  const SparseAttentionWork twice = work(block_of(model, decode(1, 2 << 20)));
  EXPECT_EQ(twice.index_score, 2 * far.index_score);
}

// "2.3.2 Heavily compressed attention": every entry of 128 tokens is read.
TEST(SparseAttentionLaw, HeavilyCompressedAttentionGrowsByAnEntryIn128Tokens) {
  const Architecture model = of_mixer(like_v4(128, 0), 4096);
  const auto attention = [&](double past) {
    return work(block_of(model, decode(1, past))).attention;
  };
  EXPECT_EQ(attention(1 << 20), 64 * 2 * 512.0 * (128 + (1 << 20) / 128));
  EXPECT_EQ(attention((1 << 20) + 128) - attention(1 << 20), 64 * 2 * 512.0);
  EXPECT_EQ(attention((1 << 20) + 126), attention(1 << 20));
}

// Longer contexts and more sequences never move fewer bytes or take fewer FLOPs.
RC_GTEST_PROP(SparseAttentionLaw, WorkGrowsWithContextAndSequences, ()) {
  const Mixer mixer = *rc::gen::arbitrary<bool>() ? Mixer(any_compressed(1)) : Mixer(any_blocks(1));
  const Architecture model = of_mixer(mixer, 8);
  const int past = pick(1, 60), more = pick(0, 60), sequences = pick(1, 5);
  // A query at the start of a block reads less than one at the end of the block before it.
  const int step = std::holds_alternative<SoftmaxAttention>(mixer)
                       ? std::get<SoftmaxAttention>(mixer).blocks->block
                       : 1;
  const SparseAttentionBlock a = block_of(model, decode(sequences, past));
  const SparseAttentionBlock b = block_of(model, decode(sequences, past + step * more));
  RC_ASSERT(flops(a) <= flops(b));
  RC_ASSERT(bytes(a) <= bytes(b));
  RC_ASSERT(flops(block_of(model, decode(sequences + 1, past))) > flops(a));
}

// Section 1 of DeepSeek-V4's report: at a context of a million tokens a token of V4-Pro takes 27 %
// of the FLOPs of one of V3.2, V4-Flash 10 %. The report weighs FLOPs by the rate of their number
// format (the indexer of V4 scores in fp4), this test counts all alike: hence the room.
TEST(SparseAttentionLaw, AMillionTokensTakeThePublishedShareOfFlops) {
  const auto token = [](const char* id) {
    return total_flops(forward_program(load_model(id), {}, {}, decode(1, 1e6)));
  };
  const double v32 = token("deepseek-v3.2");
  EXPECT_NEAR(token("deepseek-v4-pro") / v32, 0.27, 0.05);
  EXPECT_NEAR(token("deepseek-v4-flash") / v32, 0.10, 0.03);
}

// With s streams of h elements each half of a layer reads s*h elements of a token for the product
// with (2+s)*s columns and s*h for the sum, writes h, then reads s*h and its output and writes s*h.
TEST(SparseAttentionLaw, ResidualStreamsMoveTheirElements) {
  const int s = 4, h = 64, n = 10;
  Architecture model = of_mixer(like_v4(0, 0), h);
  LayerSpec layer = model.layers.at(0);
  layer.residual_streams = s;
  layer.norms = 2;
  layer.mlp = DenseMlp{32, true};
  model.layers = {};
  model.layers.append(layer, 3);
  const Program p = forward_program(model, {}, {}, prefill(1, n));
  const auto moved = [&](std::string_view name) {
    return bytes(all(p, name).at(0).op).value() / (2.0 * h * n);
  };
  EXPECT_EQ(count(p, "stream_weights"), 6 + 1);
  EXPECT_EQ(flops(all(p, "stream_weights").at(0).op).value(), 2.0 * n * 24 * s * h);
  EXPECT_EQ(count(p, "stream_expand"), 6);
  EXPECT_EQ(count(p, "norm"), 6);
  EXPECT_EQ(count(p, "add_norm"), 0);
  EXPECT_EQ(moved("stream_collapse"), s + 1);
  EXPECT_EQ(moved("stream_expand"), s + 1 + s);
  EXPECT_EQ(moved("stream_copy"), 1 + s);
  EXPECT_EQ(moved("final_norm"), 2);
  const Program staged = forward_program(model, {1, 3, 1, 1}, {}, prefill(1, n));
  EXPECT_EQ(first<Collective>(staged, "pp_send").bytes, Bytes(2.0 * s * h * n));
}

}  // namespace sparse_attention_law_test
}  // namespace orrery
