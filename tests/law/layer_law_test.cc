// Laws of the declaration of a layer: rooms that state one quantity state the same, for every
// model of the catalog and every tensor parallel size that it allows.
//
// The references below repeat by hand which weights the public sources keep whole on every rank
// (docs/decisions/0009-layers.md). They know the structs, not their declarations.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "orrery/memory/kv_cache.h"
#include "orrery/memory/weights.h"
#include "orrery/model/architecture/declared_weights.h"
#include "orrery/model/architecture/parameters.h"
#include "orrery/model/catalog/catalog.h"
#include "orrery/workload/training/training_parameters.h"
#include "orrery/workload/training/training_program.h"
#include "tests/refusal.h"
#include "tests/unit/workload/reading.h"

namespace orrery {
namespace layer_law_test {

using namespace reading;

// Calls `check` for every decoder of the catalog and every tp up to 16 that it allows.
void each_plan(const std::function<void(const Architecture&, int)>& check) {
  int plans = 0;
  for (const std::string& id : model_ids()) {
    const Architecture model = load_model(id);
    if (model.kind == Kind::kEncoderDecoder) continue;
    for (int tp = 1; tp <= 16; ++tp) {
      if (!refusal_of<Infeasible>([&] { check_plan(model, {.tp = tp}); }).empty()) continue;
      SCOPED_TRACE(id + " tp " + std::to_string(tp));
      check(model, tp);
      ++plans;
    }
  }
  EXPECT_GT(plans, 500);
}

// ---- weights: training = serving = parameters + copies ------------------------------------------

// Elements that ranks hold beyond one of each, all ranks together.
struct Copies {
  double hidden;
  int tp;
  bool whole_groups;  // a group of key-value heads is not cut (vLLM), or it is (Megatron-Core 0.16)

  double whole(double elements) const { return (tp - 1) * elements; }
  double of_groups(int groups, double elements) const {
    return whole_groups && tp > groups ? (1.0 * tp / groups - 1) * elements : 0;
  }

  double operator()(const NoMixer&) const { return 0; }

  // QKVParallelLinear; biases of row-parallel products; norms of a head; the index key.
  double operator()(const SoftmaxAttention& a) const {
    const double k = a.shares_kv ? 0 : 1.0 * a.kv_heads * a.head_dim;
    const double v = a.shares_kv || a.values_from_keys ? 0 : 1.0 * a.kv_heads * a.value_dim;
    double n = of_groups(a.kv_heads, (hidden + (a.k_bias ? 1 : 0)) * k +
                                         (hidden + (a.v_bias ? 1 : 0)) * v +
                                         (a.qk_norm == QkNorm::kFull ? k : 0));
    if (a.o_bias) n += whole(hidden);
    if (a.qk_norm == QkNorm::kPerHead) n += whole((a.shares_kv ? 1 : 2) * a.head_dim);
    if (a.blocks) {
      const double dim = a.blocks->index_dim, heads = a.blocks->index_heads;
      n += whole(hidden * dim + 2 * dim) + of_groups(a.blocks->index_heads, hidden * heads * dim);
    }
    return n;
  }

  // ReplicatedLinear, "duplicated": the projections to latents, their norms, the indexer.
  double operator()(const LatentAttention& a) const {
    double n =
        hidden * (a.q_lora_rank + a.kv_lora_rank + a.qk_rope_dim) + a.q_lora_rank + a.kv_lora_rank;
    if (const auto& x = a.indexer)
      n += 1.0 * a.q_lora_rank * x->heads * x->head_dim + hidden * (x->head_dim + x->heads) +
           2 * x->head_dim;
    return whole(n);
  }

  double operator()(const CompressedAttention& a) const {
    const auto compressor = [&](double dim) {
      const double width = (a.overlapping ? 2 : 1) * dim;
      return 2 * hidden * width + a.compress * width + dim;
    };
    double n = hidden * (a.q_lora_rank + a.head_dim) + a.q_lora_rank + a.head_dim;
    if (a.compress > 0) n += compressor(a.head_dim);
    if (const auto& x = a.indexer)
      n += compressor(x->head_dim) + 1.0 * a.q_lora_rank * x->heads * x->head_dim +
           hidden * x->heads;
    return whole(n);
  }

  // First halves of low-rank gates, norms of a head.
  double operator()(const KimiDelta& a) const {
    return whole((a.full_rank_gate ? 1 : 2) * hidden * a.head_dim + a.head_dim);
  }
  double operator()(const GatedDeltaNet& a) const { return whole(a.v_dim); }
  // extra_groups_for_head_shards of vLLM.
  double operator()(const Mamba2& a) const {
    return of_groups(a.groups,
                     2.0 * a.groups * a.state * (hidden + a.conv + (a.conv_bias ? 1 : 0)));
  }

  double operator()(const NoMlp&) const { return 0; }
  double operator()(const DenseMlp& m) const { return m.bias ? whole(hidden) : 0; }
  // Each expert is divided by all ranks here (ep 1).
  double operator()(const MoeMlp& m) const {
    const double row = m.latent > 0 ? m.latent : hidden;
    double n = hidden * m.experts + (m.router_bias ? m.experts : 0) +
               (m.router_scales ? hidden + m.experts : 0) + (m.shared_gate ? hidden : 0) +
               2 * hidden * m.latent + (m.latent_norm ? m.latent : 0);
    if (m.bias) n += m.experts * row;
    return whole(n);
  }

  double layer(const LayerSpec& spec, Norm norm) const {
    const double streams = spec.residual_streams, rows = (2 + streams) * streams;
    double frame = spec.norms * (norm == Norm::kLayer ? 2 : 1) * hidden +
                   (spec.residual_sources > 0 ? 4 * hidden : 0);
    if (spec.residual_streams > 1) frame += 2 * (rows * streams * hidden + rows + 3);
    if (spec.per_layer_input > 0)
      frame += 2 * hidden * spec.per_layer_input + (norm == Norm::kLayer ? 2 : 1) * hidden;
    return std::visit(*this, spec.mixer) + std::visit(*this, spec.mlp) + whole(frame);
  }

  // Rows of the vocabulary are divided, padded to a multiple of `unit`.
  double model(const Architecture& m, int unit) const {
    double n = 0;
    for (int i = 0; i < m.layers.size(); ++i) n += layer(m.layers.at(i), m.norm);
    const double padding = std::ceil(1.0 * m.vocab / unit) * unit - m.vocab;
    const int tables = m.tied_embeddings || !m.lm_head ? 1 : 2;
    n += padding * hidden * tables + (m.lm_head && m.lm_head_bias ? padding : 0);
    const ParameterCounts p = count_parameters(m);
    n += whole(static_cast<double>(p.positions + p.final_norms + p.pooler));
    if (m.lm_head && m.lm_head_transform)
      n += whole(hidden * hidden + hidden + (m.norm == Norm::kLayer ? 2 : 1) * hidden);
    if (m.per_layer_vocab > 0) n += whole(m.layers.at(0).per_layer_input);  // its norm
    return n;
  }
};

double parameters(const Architecture& m) {
  return static_cast<double>(count_parameters(m).total());
}

TEST(LayerLaw, RanksThatServeHoldTheParametersAndTheCopiesOfTheSources) {
  each_plan([](const Architecture& m, int tp) {
    constexpr double kBytes = 2;
    constexpr int kRows = 64;
    const double all = tp * stage_weights(m, {.tp = tp}, {}, 0).value() / kBytes;
    const Copies copies{1.0 * m.hidden, tp, true};
    const double expected = parameters(m) + copies.model(m, kRows);
    EXPECT_NEAR(all / expected, 1, 1e-12);
  });
}

TrainingJob job_of(int tp) {
  TrainingJob job;
  job.plan.tp = tp;
  job.global_batch = 1;
  return job;
}

bool trains(const Architecture& m, const TrainingJob& job) {
  try {
    check_job(m, job);
  } catch (const NoData&) {
    return false;
  } catch (const Infeasible&) {
    return false;
  }
  return true;
}

TEST(LayerLaw, RanksThatTrainHoldTheParametersAndTheCopiesOfTheSources) {
  each_plan([](const Architecture& m, int tp) {
    const TrainingJob job = job_of(tp);
    if (!trains(m, job)) return;
    const double all = tp * chunk_parameters(m, job, 0).all();
    const Copies copies{1.0 * m.hidden, tp, false};
    const double towers = static_cast<double>(count_parameters(m).towers);
    const double expected = parameters(m) - towers + copies.model(m, 128 * tp);
    EXPECT_NEAR(all / expected, 1, 1e-12);
  });
}

// ---- products against weights -------------------------------------------------------------------

// Elements of the declared matrices on a rank.
struct MatrixElements {
  RankShare share;
  double sum = 0;
  double active = 0;  // that one token passes through, of all `top_k` experts
  int top_k = 0;
  void matrix(const LayerMatrix& m) {
    sum += share.matrix(m);
    const bool routed = m.part == WeightPart::kRoutedExperts;
    active += share.matrix(m) * (routed ? 1.0 * top_k / static_cast<double>(m.copies) : 1);
  }
  void vector(const LayerVector&) {}
};

MatrixElements matrices_of(const Architecture& m, const RankShare& share) {
  MatrixElements all{share};
  for (int i = 0; i < m.layers.size(); ++i) {
    const auto* moe = std::get_if<MoeMlp>(&m.layers.at(i).mlp);
    all.top_k = moe ? moe->top_k : 0;
    declare_layer(m.layers.at(i), m.hidden, m.norm, all);
  }
  return all;
}

// Elements of weights that the products of the layers read in a step.
double read_elements(const Program& program) {
  double n = 0;
  for (const ProgramOp& op : program.ops) {
    if (op.spec < 0) continue;
    double one = 0;
    if (const auto* g = std::get_if<Gemm>(&op.op)) {
      one = g->weight ? real(g->batch) * real(g->n) * real(g->k) : 0;
    } else if (const auto* b = std::get_if<SparseAttentionBlock>(&op.op)) {
      one = work(*b).projections();
    } else if (const auto* e = std::get_if<MoeExperts>(&op.op)) {
      one = (e->gated ? 3.0 : 2.0) * e->hidden * e->intermediate / e->tp * e->experts / e->ep;
    }
    n += op.count * one;
  }
  return n;
}

TEST(LayerLaw, ADecodeStepReadsTheMatricesThatMemoryHolds) {
  each_plan([](const Architecture& m, int tp) {
    if (m.kind != Kind::kDecoder) return;
    const ParallelPlan plan{.tp = tp};
    const Program step = forward_program(m, plan, {}, decode(4096, 100));
    EXPECT_NEAR(read_elements(step) / matrices_of(m, plan.rank_share()).sum, 1, 1e-12);
  });
}

TEST(LayerLaw, RoutedExpertsAreSharedAsMemoryHoldsThem) {
  int seen = 0;
  for (const std::string& id : model_ids()) {
    const Architecture m = load_model(id);
    if (m.kind != Kind::kDecoder ||
        count_parameters(m.layers.at(m.layers.size() - 1), m.hidden, m.norm).experts == 0)
      continue;
    for (const ParallelPlan& plan :
         {ParallelPlan{.tp = 8, .ep = 8}, ParallelPlan{.tp = 2, .dp = 4, .ep = 8},
          ParallelPlan{.tp = 4, .dp = 2, .ep = 4}}) {
      if (!refusal_of<Infeasible>([&] { check_plan(m, plan); }).empty()) continue;
      SCOPED_TRACE(id);
      const Program step = forward_program(m, plan, {}, decode(4096, 100));
      EXPECT_NEAR(read_elements(step) / matrices_of(m, plan.rank_share()).sum, 1, 1e-12);
      ++seen;
    }
  }
  EXPECT_GT(seen, 30);
}

// FLOPs of products with weights of the layers.
double product_flops(const Program& program, double tokens) {
  double n = 0;
  for (const ProgramOp& op : program.ops) {
    if (op.spec < 0) continue;
    double one = 0;
    if (const auto* g = std::get_if<Gemm>(&op.op)) {
      one = g->weight ? g->flop_count().value() : 0;
    } else if (const auto* b = std::get_if<SparseAttentionBlock>(&op.op)) {
      one = 2 * tokens * work(*b).projections();
    } else if (const auto* e = std::get_if<MoeExperts>(&op.op)) {
      one = e->flop_count().value();
    }
    n += op.count * one;
  }
  return n;
}

TEST(LayerLaw, APrefillDoesTwoFlopsForEachMatrixElementAndToken) {
  each_plan([](const Architecture& m, int tp) {
    constexpr double kTokens = 64;
    const ParallelPlan plan{.tp = tp};
    const Program step = forward_program(m, plan, {}, prefill(1, 64));
    const double expected = 2 * kTokens * matrices_of(m, plan.rank_share()).active;
    EXPECT_NEAR(product_flops(step, kTokens) / expected, 1, 1e-12);
  });
}

TEST(LayerLaw, ATrainingPassDoesTwoFlopsForEachMatrixElementAndToken) {
  each_plan([](const Architecture& m, int tp) {
    TrainingJob job = job_of(tp);
    job.seq = 4096;
    if (!trains(m, job)) return;
    // The job's 4,096 tokens give each expert whole rows.
    double flops_of_products = 0;
    for (const TrainingOp& op : training_ops(m, job, 0)) {
      const auto* g = std::get_if<Gemm>(&op.op);
      if (!g || op.pass != TrainingPass::kForward || op.name == "lm_head" || !g->weight) continue;
      if (op.part == Part::kEmbedding || op.part == Part::kLmHead) continue;
      flops_of_products += op.count * g->flop_count().value();
    }
    const RankShare share = stage_plan(job.plan).rank_share();
    const double expected = 2.0 * 4096 * matrices_of(m, share).active;
    // Rows of an expert are whole numbers.
    EXPECT_NEAR(flops_of_products / expected, 1, 0.01);
  });
}

// ---- the cache ----------------------------------------------------------------------------------

// Bytes that the cores of attention read of a cache, by how much more a wider one costs.
double cache_read(const Architecture& m, int tp, double past) {
  const auto read = [&](Dtype kv) {
    Precision precision;
    precision.kv_cache = kv;
    double n = 0;
    for (const ProgramOp& op : forward_program(m, {.tp = tp}, precision, decode(1, past)).ops) {
      const bool core = std::holds_alternative<DecodeAttention>(op.op) ||
                        std::holds_alternative<LatentAttentionCore>(op.op);
      if (core) n += op.count * bytes(op.op).value();
    }
    return n;
  };
  return read(Dtype::kFp32) - read(Dtype::kBf16);
}

// The last token of a chunk of every size: all windows are full.
constexpr std::int64_t kTokens = 65536;

TEST(LayerLaw, AttentionReadsTheCacheThatMemoryHolds) {
  each_plan([](const Architecture& m, int tp) {
    if (m.kind != Kind::kDecoder) return;
    double held = 0;
    for (int i = 0; i < m.layers.size(); ++i) {
      KeptState kept = kept_state(m.layers.at(i).mixer);
      // Attention to chosen tokens reads less, and so do blocks that are one op.
      if (kept.chosen || kept.rotated > 0) return;
      kept.cached_elsewhere = false;  // the layer reads it all the same
      Precision wide;
      wide.kv_cache = Dtype::kFp32;
      held += (layer_kv(kept, tp, wide, kTokens, 1) - layer_kv(kept, tp, {}, kTokens, 1)).value();
    }
    EXPECT_NEAR(cache_read(m, tp, kTokens - 1), held, 1e-9 * held);
  });
}

TEST(LayerLaw, AttentionToChosenTokensReadsNoMoreThanMemoryHolds) {
  int seen = 0;
  each_plan([&](const Architecture& m, int tp) {
    for (std::size_t i = 0; i < m.layers.specs().size(); ++i) {
      const KeptState kept = kept_state(m.layers.specs()[i].mixer);
      if (!kept.chosen && kept.rotated == 0) continue;
      const double held = (layer_kv(kept, tp, {}, kTokens, 1) + layer_state(kept, tp, {})).value();
      for (const ProgramOp& op : forward_program(m, {.tp = tp}, {}, decode(1, kTokens - 1)).ops) {
        if (op.spec != static_cast<int>(i)) continue;
        double read = 0;
        if (const auto* b = std::get_if<SparseAttentionBlock>(&op.op)) {
          read = bytes(op.op).value() - 2 * work(*b).projections() - 2.0 * 2 * b->hidden;
        } else if (std::holds_alternative<LatentAttentionCore>(op.op)) {
          read = bytes(op.op).value();
        } else {
          continue;
        }
        // Queries and outputs of one token are small next to a cache of this length.
        EXPECT_LT(read, 1.05 * held);
        ++seen;
      }
    }
  });
  EXPECT_GT(seen, 50);
}

TEST(LayerLaw, RecurrencesKeepTheStateThatMemoryHolds) {
  int seen = 0;
  each_plan([&](const Architecture& m, int tp) {
    if (m.kind != Kind::kDecoder) return;
    double held = 0, of_ops = 0;
    for (int i = 0; i < m.layers.size(); ++i) {
      const KeptState kept = kept_state(m.layers.at(i).mixer);
      if (kept.recurrent.total() > 0) held += layer_state(kept, tp, {}).value();
    }
    if (held == 0) return;
    for (const ProgramOp& op : forward_program(m, {.tp = tp}, {}, decode(1, 100)).ops) {
      if (const auto* c = std::get_if<LinearAttentionCore>(&op.op)) {
        const double channels = 2.0 * c->k_heads * c->k_dim + 1.0 * c->v_heads * c->v_dim;
        of_ops +=
            op.count * (4.0 * c->v_heads * c->k_dim * c->v_dim + 2 * (c->conv - 1) * channels);
      } else if (const auto* w = std::get_if<CausalConvolution>(&op.op)) {
        of_ops += op.count * 2 * real(w->channels) * (w->window - 1);
      }
    }
    EXPECT_NEAR(of_ops, held, 1e-9 * held);
    ++seen;
  });
  EXPECT_GT(seen, 20);
}

// ---- collectives --------------------------------------------------------------------------------

// Bytes of the all-reduces and gathers of tensor-parallel ranks by name of the op.
std::map<std::string_view, double> tensor_bytes(const Program& program) {
  std::map<std::string_view, double> all;
  for (const ProgramOp& op : program.ops) {
    const auto* c = std::get_if<Collective>(&op.op);
    if (c && c->group == Collective::Group::kTensor && op.spec >= 0)
      all[op.name] += op.count * c->bytes.value();
  }
  return all;
}

TEST(LayerLaw, AForwardPassOfTrainingReducesWhatAPrefillReduces) {
  each_plan([](const Architecture& m, int tp) {
    TrainingJob job = job_of(tp);
    job.seq = 512;
    if (tp == 1 || !trains(m, job)) return;
    std::map<std::string_view, double> passes, divided;
    for (const TrainingOp& op : training_ops(m, job, 0)) {
      const auto* c = std::get_if<Collective>(&op.op);
      if (c && c->group == Collective::Group::kTensor && op.pass == TrainingPass::kForward)
        passes[op.name] += op.count * c->bytes.value();
    }
    const Program prefilled = forward_program(m, stage_plan(job.plan), {}, prefill(1, 512));
    for (const auto& [name, bytes_of_op] : tensor_bytes(prefilled))
      EXPECT_NEAR(passes[name], bytes_of_op, 1e-9 * bytes_of_op) << name;
    // With sequence parallelism an all-reduce is a reduce-scatter and an all-gather of as much.
    job.plan.sequence_parallel = true;
    for (const TrainingOp& op : training_ops(m, job, 0)) {
      const auto* c = std::get_if<Collective>(&op.op);
      if (c && c->group == Collective::Group::kTensor && op.pass == TrainingPass::kForward)
        divided[op.name] += op.count * c->bytes.value();
    }
    EXPECT_NEAR(divided["tp_all_reduce"], 2 * passes["tp_all_reduce"],
                1e-9 * divided["tp_all_reduce"]);
  });
}

}  // namespace layer_law_test
}  // namespace orrery
