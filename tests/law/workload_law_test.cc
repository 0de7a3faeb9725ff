// Laws of the workload room: work is conserved, however a model or a prompt is cut.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

#include "orrery/model/architecture/parameters.h"
#include "orrery/model/catalog/catalog.h"
#include "orrery/workload/inference/program.h"
#include "tests/refusal.h"
#include "tests/unit/workload/reading.h"

namespace orrery {
namespace workload_law_test {

using namespace reading;

int pick(int least, int most) { return *rc::gen::inRange(least, most + 1); }
int power_of_two(int most) { return 1 << pick(0, most); }

SoftmaxAttention any_softmax(int tp) {
  SoftmaxAttention a;
  a.kv_heads = tp * pick(1, 4);
  a.heads = a.kv_heads * pick(1, 4);
  a.head_dim = 16 * pick(1, 8);
  a.value_dim = *rc::gen::element(a.head_dim, 16 * pick(1, 8));
  a.output_gate = *rc::gen::arbitrary<bool>();
  if (*rc::gen::arbitrary<bool>()) a.window = pick(1, 300);
  a.window_kind = *rc::gen::element(WindowKind::kSliding, WindowKind::kChunked);
  return a;
}

LatentAttention any_latent(int tp) {
  LatentAttention a;
  a.heads = tp * pick(1, 8);
  a.q_lora_rank = *rc::gen::element(0, 96);
  a.kv_lora_rank = 16 * pick(1, 8), a.qk_nope_dim = 16 * pick(1, 4);
  a.qk_rope_dim = 16, a.value_dim = 16 * pick(1, 4);
  return a;
}

DenseMlp any_dense(int tp) {
  DenseMlp m;
  m.intermediate = tp * pick(1, 500);
  m.gated = *rc::gen::arbitrary<bool>();
  return m;
}

MoeMlp any_moe(int tp) {
  MoeMlp m;
  m.experts = 16 * pick(1, 4);
  m.top_k = pick(1, 8);
  m.intermediate = 8 * tp * pick(1, 64);
  m.gated = *rc::gen::arbitrary<bool>();
  m.shared_intermediate = *rc::gen::element(0, tp * 32);
  m.shared_gate = m.shared_intermediate > 0 && *rc::gen::arbitrary<bool>();
  return m;
}

// Layers of several kinds whose only vectors are the norms (no biases, no weighted query norms), so
// that all other parameters are matrices. Every size divides by `tp`.
Architecture any_model(int tp) {
  Architecture model;
  model.id = "any";
  model.hidden = 8 * pick(4, 64);
  model.vocab = tp * pick(50, 500);
  for (int n = pick(1, 3); n > 0; --n) {
    LayerSpec layer;
    if (*rc::gen::arbitrary<bool>()) {
      layer.mixer = any_softmax(tp);
    } else {
      layer.mixer = any_latent(tp);
    }
    if (*rc::gen::arbitrary<bool>()) {
      layer.mlp = any_dense(tp);
    } else {
      layer.mlp = any_moe(tp);
    }
    model.layers.append(layer, pick(1, 4));
  }
  return model;
}

// Query-key pairs by definition, one by one.
double pairs_by_hand(std::int64_t new_tokens, std::int64_t past, std::int64_t window,
                     WindowKind kind) {
  std::int64_t pairs = 0;
  for (std::int64_t query = past; query < past + new_tokens; ++query) {
    const std::int64_t first = window == 0 ? 0
                               : kind == WindowKind::kSliding
                                   ? std::max<std::int64_t>(0, query - window + 1)
                                   : query / window * window;
    pairs += query - first + 1;
  }
  return static_cast<double>(pairs);
}

double attention_flops(const Architecture& model, std::int64_t new_tokens, std::int64_t past) {
  double n = 0;
  for (int i = 0; i < model.layers.size(); ++i) {
    const Mixer& mixer = model.layers.at(i).mixer;
    if (const auto* a = std::get_if<SoftmaxAttention>(&mixer)) {
      n += 2.0 * a->heads * (a->head_dim + a->value_dim) *
           pairs_by_hand(new_tokens, past, a->window, a->window_kind);
    } else if (const auto* l = std::get_if<LatentAttention>(&mixer)) {
      n += 2.0 * l->heads * (l->qk_nope_dim + l->qk_rope_dim + l->value_dim) *
           pairs_by_hand(new_tokens, past, 0, WindowKind::kSliding);
    }
  }
  return n;
}

// Parameters of matrices that a token passes in all layers: everything active but the norms.
double active_matrices(const Architecture& model) {
  double n = 0;
  for (int i = 0; i < model.layers.size(); ++i) {
    const LayerParameters one = count_parameters(model.layers.at(i), model.hidden, model.norm);
    n += static_cast<double>(one.active() - one.norms);
    if (const auto* l = std::get_if<LatentAttention>(&model.layers.at(i).mixer))
      n -= l->q_lora_rank + l->kv_lora_rank;
  }
  return n;
}

Precision in(Format format) {
  Precision precision;
  precision.weights = precision.experts = precision.lm_head = format;
  return precision;
}

RC_GTEST_PROP(WorkloadLaw, PrefillDoesTwoFlopsAParameterAndTokenAndItsAttention, ()) {
  const Architecture model = any_model(1);
  const std::int64_t n = pick(2, 700), sequences = pick(1, 3);
  const double computed = total_flops(forward_program(model, {}, {}, prefill(sequences, n)));
  const double rows = static_cast<double>(sequences);
  const double expected =
      rows * (2 * static_cast<double>(n) * active_matrices(model) + attention_flops(model, n, 0)) +
      2 * rows * model.vocab * model.hidden;
  RC_ASSERT(computed == expected);
}

RC_GTEST_PROP(WorkloadLaw, ChunksOfAPromptAttendToWhatTheWholeDoes, ()) {
  Architecture model = any_model(1);
  const std::int64_t chunks = pick(1, 6);
  std::int64_t past = 0;
  double sum = 0;
  const auto attention = [&](const Batch& batch) {
    double n = 0;
    for (const ProgramOp& op : forward_program(model, {}, {}, batch).ops) {
      if (op.name == "attn_prefill") n += op.count * flops(op.op).value();
    }
    return n;
  };
  for (std::int64_t i = 0; i < chunks; ++i) {
    const std::int64_t tokens = pick(2, 200);
    sum += attention(prefill(1, tokens, static_cast<double>(past)));
    past += tokens;
  }
  RC_ASSERT(sum == attention(prefill(1, past)));
  RC_ASSERT(sum == attention_flops(model, past, 0));
}

RC_GTEST_PROP(WorkloadLaw, AttendedPairsAreThoseOfTheDefinition, ()) {
  const std::int64_t tokens = pick(1, 300), past = pick(0, 300), window = pick(0, 400);
  RC_ASSERT(attended_pairs(tokens, past, window, true) ==
            pairs_by_hand(tokens, past, window, WindowKind::kSliding));
}

// Ops whose weights every rank holds whole, and the products on them.
bool replicated(std::string_view name) {
  return name == "router" || name == "shared_gate" || name == "q_kv_a_proj" || name == "kv_a_proj";
}

RC_GTEST_PROP(WorkloadLaw, TensorRanksDivideWeightsAndFlopsEvenly, ()) {
  const int tp = power_of_two(3);
  const Architecture model = any_model(tp);
  const Precision precision =
      in(*rc::gen::element(Format::kBf16, Format::kFp8, Format::kInt4Weight));
  const Batch batch = *rc::gen::element(prefill(2, 300), decode(5, 400));
  const auto sums = [&](const ParallelPlan& plan) {
    Program program = forward_program(model, plan, precision, batch);
    std::erase_if(program.ops, [](const ProgramOp& op) { return replicated(op.name); });
    return std::pair{weight_bytes(program), total_flops(program)};
  };
  const auto [whole_bytes, whole_flops] = sums({});
  const auto [bytes_of_one, flops_of_one] = sums({tp, 1, 1, 1});
  RC_ASSERT(std::abs(tp * bytes_of_one - whole_bytes) <= 1e-12 * whole_bytes);
  RC_ASSERT(std::abs(tp * flops_of_one - whole_flops) <= 1e-12 * whole_flops);
}

RC_GTEST_PROP(WorkloadLaw, ExpertsAreConservedOverTensorAndExpertRanks, ()) {
  const int ranks = power_of_two(3), ep = std::min(power_of_two(3), ranks);
  MoeExperts whole;
  whole.tokens = pick(4000, 9000);
  whole.hidden = 64, whole.intermediate = 64 * pick(1, 8);
  whole.experts = 8 * pick(1, 4), whole.top_k = pick(1, 8);
  whole.format = *rc::gen::element(Format::kBf16, Format::kMxfp4, Format::kFp8Block);
  MoeExperts part = whole;
  part.ep = ep, part.tp = ranks / ep;
  RC_ASSERT(std::abs(ranks * flops(part).value() - flops(whole).value()) <=
            1e-12 * flops(whole).value());
  // The weights only, without the parts that a format of activations would add.
  const auto weights = [](MoeExperts m) {
    const double here = bytes(m).value();
    m.format = Format::kFp16;
    const double in_16_bits = bytes(m).value();
    return std::pair{here, in_16_bits};
  };
  const auto [a, a16] = weights(part);
  const auto [b, b16] = weights(whole);
  RC_ASSERT(std::abs(ranks * (a16 - a) - (b16 - b)) <= 1e-9 * b16);
}

RC_GTEST_PROP(WorkloadLaw, DecodeReadsEveryWeightOnceAndTheCache, ()) {
  const Architecture model = any_model(1);
  const std::int64_t sequences = pick(1, 64);
  const int past = pick(1, 1000);
  const Program program = forward_program(model, {}, {}, decode(sequences, past));
  double weights = static_cast<double>(model.vocab) * model.hidden, cache = 0;
  for (int i = 0; i < model.layers.size(); ++i) {
    const LayerSpec& layer = model.layers.at(i);
    const LayerParameters one = count_parameters(layer, model.hidden, model.norm);
    weights += static_cast<double>(one.mixer + one.mlp + one.router + one.shared_experts);
    if (const auto* l = std::get_if<LatentAttention>(&layer.mixer))
      weights -= l->q_lora_rank + l->kv_lora_rank;
    int keys = past + 1;
    if (const auto* a = std::get_if<SoftmaxAttention>(&layer.mixer);
        a != nullptr && a->window > 0) {
      keys =
          a->window_kind == WindowKind::kSliding ? std::min(keys, a->window) : past % a->window + 1;
    }
    cache +=
        static_cast<double>(keys) * static_cast<double>(kept_state(layer.mixer).cached().total());
  }
  RC_ASSERT(weight_bytes(program) == 2 * weights);

  // With twice as wide a cache, attention moves one more cache.
  Precision wide;
  wide.kv_cache = Dtype::kFp32;
  const auto attention_bytes = [](const Program& p) {
    double n = 0;
    for (const ProgramOp& op : p.ops) {
      if (op.name == "attn_decode") n += op.count * bytes(op.op).value();
    }
    return n;
  };
  const double wider = attention_bytes(forward_program(model, {}, wide, decode(sequences, past)));
  RC_ASSERT(wider - attention_bytes(program) == static_cast<double>(sequences) * cache * 2);
}

RC_GTEST_PROP(WorkloadLaw, MergedDecodingDoesTheWorkOfSeparateSteps, ()) {
  const Architecture model = any_model(1);
  const std::int64_t a = pick(1, 20), b = pick(1, 20);
  const double p = pick(1, 500), q = pick(1, 500);
  const auto attention = [&](const Batch& batch) {
    double f = 0;
    for (const ProgramOp& op : forward_program(model, {}, {}, batch).ops) {
      if (op.name == "attn_decode") f += op.count * flops(op.op).value();
    }
    return f;
  };
  const double together = attention(Batch{{{a, 1, p, true}, {b, 1, q, true}}});
  const double apart = attention(decode(a, p)) + attention(decode(b, q));
  RC_ASSERT(std::abs(together - apart) <= 1e-12 * apart);
}

RC_GTEST_PROP(WorkloadLaw, PipelineStagesAddUp, ()) {
  const Architecture model = any_model(1);
  const int pp = pick(1, model.layers.size());
  const Batch batch = *rc::gen::element(prefill(2, 30), decode(5, 40));
  double sum = 0;
  int layers = 0;
  for (int stage = 0; stage < pp; ++stage) {
    ProgramOptions options;
    options.stage = stage;
    const Program part = forward_program(model, {1, pp, 1, 1}, {}, batch, options);
    sum += total_flops(part);
    layers += part.layers;
  }
  RC_ASSERT(layers == model.layers.size());
  RC_ASSERT(std::abs(sum - total_flops(forward_program(model, {}, {}, batch))) <= 1e-12 * sum);
}

// Biases, norms and convolutions of real models are a small part: the law holds to two thousandths.
TEST(WorkloadLaw, BundledModelsDoTwoFlopsAnActiveParameter) {
  const std::int64_t n = 64;
  for (const std::string& id : model_ids()) {
    const Architecture model = load_model(id);
    if (model.kind != Kind::kDecoder) continue;
    Program program;
    const auto build = [&] { program = forward_program(model, {}, {}, prefill(1, n)); };
    if (!refusal_of<NoData>(build).empty()) continue;  // no ops yet
    double products = 0;
    for (const ProgramOp& op : program.ops) {
      if (const auto* block = std::get_if<SparseAttentionBlock>(&op.op)) {
        products += op.count * 2 * static_cast<double>(n) * work(*block).projections();
        continue;
      }
      if (op.spec < 0 || op.name == "attn_prefill" || op.name.starts_with("indexer_prefill") ||
          op.name == "mixer_prefill") {
        continue;
      }
      products += op.count * flops(op.op).value();
    }
    const double expected =
        2.0 * static_cast<double>(n) * static_cast<double>(count_parameters(model).layers_active);
    EXPECT_NEAR(products / expected, 1, 2e-3) << id;
  }
}

}  // namespace workload_law_test
}  // namespace orrery
