#include "orrery/workload/inference/program.h"

#include <fmt/format.h>

#include <utility>

#include "orrery/base/error.h"
#include "orrery/model/architecture/parameters.h"
#include "orrery/workload/inference/layer_input_ops.h"
#include "orrery/workload/inference/lora_ops.h"
#include "orrery/workload/inference/mixer_ops.h"
#include "orrery/workload/inference/mlp_ops.h"
#include "orrery/workload/inference/rank_step.h"
#include "orrery/workload/inference/residual_stream_ops.h"

namespace orrery {
namespace {

void add_embedding(OpList& ops, const RankStep& step) {
  const Architecture& model = step.model;
  const std::int64_t tokens = step.tokens();
  const auto look_up = [&](std::string_view name) {
    ops.add(name, Part::kEmbedding, Embedding{tokens, step.hidden(), step.precision.activations});
  };
  const auto combine = [&] {
    ops.elementwise("embedding_add", Part::kEmbedding, Elementwise::Kind::kAdd,
                    {tokens, step.hidden(), step.element(), 2, 1}, true);
  };
  look_up("embedding");
  if (step.tp() > 1) {
    ops.collective("embedding_all_reduce", Collective::Kind::kAllReduce, Collective::Group::kTensor,
                   step.tp(), step.stream());
  }
  if (model.position == Position::kLearned) look_up("position_embedding"), combine();
  if (model.token_types > 0) look_up("segment_embedding"), combine();
  if (model.embedding_norm) {
    ops.elementwise("embedding_norm", Part::kEmbedding, Elementwise::Kind::kNorm,
                    {tokens, step.hidden(), step.element(), 1, 1});
  }
  add_per_layer_tables(ops, step);
  add_stream_start(ops, step);
}

// The ops of `count` equal layers that depend on the groups of sequences.
void add_layers_of_groups(OpList& ops, const RankStep& step, const LayerSpec& layer, int count) {
  ops.repeat(count);
  add_mixer(ops, step, layer.mixer);
  ops.depend_on(OpSource::kGroups);
  add_lora(ops, step, layer);
  ops.depend_on(OpSource::kTokens);
  ops.repeat(1);
}

// Norms, both mixers, residual adds and the all-reduces of `count` equal layers.
void add_layers(OpList& ops, const RankStep& step, const LayerSpec& layer, int count) {
  const bool mixes = has_mixer(layer.mixer);
  const bool mlp = has_mlp(layer.mlp);
  const bool parallel = layer.parallel && mixes && mlp;
  const int blocks = (mixes ? 1 : 0) + (mlp ? 1 : 0);
  // Each block in turn begins with a norm that takes in the residual add of the block before it; a
  // parallel pair of blocks shares one.
  const int add_norms = std::min(layer.norms, parallel ? 1 : blocks);
  const auto elementwise = [&](std::string_view name, Elementwise::Kind kind, int times,
                               double reads, double writes) {
    if (times == 0) return;
    ops.repeat(1.0 * count * times);
    ops.elementwise(name, mixes ? Part::kAttention : Part::kMlp, kind,
                    {step.tokens(), step.hidden(), step.element(), reads, writes});
    ops.repeat(count);
  };
  if (layer.residual_streams > 1) {
    add_stream_layers(ops, step, layer, count, blocks);
  } else if (layer.residual_sources > 0) {
    ops.repeat(1.0 * count * add_norms);
    add_attention_residuals(ops, step, layer, mixes ? Part::kAttention : Part::kMlp);
  } else {
    elementwise("add_norm", Elementwise::Kind::kAddNorm, add_norms, 2, 2);
  }
  const int stream_norms = layer.residual_streams > 1 ? layer.norms : add_norms;
  elementwise("norm", Elementwise::Kind::kNorm, layer.norms - stream_norms, 1, 1);
  ops.repeat(count);
  add_mixer(ops, step, layer.mixer);
  add_mlp(ops, step, layer.mlp);
  ops.depend_on(OpSource::kGroups);
  add_lora(ops, step, layer);
  ops.depend_on(OpSource::kTokens);
  if (parallel) elementwise("residual_add", Elementwise::Kind::kAdd, 1, 2, 1);
  if (step.tp() > 1 && blocks > 0) {
    ops.repeat(1.0 * count * (parallel ? 1 : blocks));
    ops.collective("tp_all_reduce", Collective::Kind::kAllReduce, Collective::Group::kTensor,
                   step.tp(), step.stream());
    ops.repeat(count);
  }
  add_per_layer_input(ops, step, layer);
  ops.repeat(1);
}

void add_lm_head(OpList& ops, const RankStep& step) {
  const Architecture& model = step.model;
  const std::int64_t rows = step.batch.logits;
  if (!model.lm_head || rows == 0) return;
  const std::int64_t shard = (std::int64_t{model.vocab} + step.tp() - 1) / step.tp();
  ops.gemm("lm_head", Part::kLmHead, rows, shard, step.hidden(), step.precision.lm_head);
  const double logits = real(rows) * real(shard * step.tp());
  if (step.tp() > 1) {
    ops.collective("logits_all_gather", Collective::Kind::kAllGather, Collective::Group::kTensor,
                   step.tp(), logits * step.element());
  }
  // Widened to fp32, then read once more for the choice.
  ops.add("sample", Part::kSampling,
          Elementwise{Elementwise::Kind::kSample, rows, model.vocab,
                      logits * (step.element() + Bytes(4)), logits * Bytes(4)});
}

void add_end(OpList& ops, const RankStep& step) {
  const Architecture& model = step.model;
  add_stream_end(ops, step);
  if (model.final_norm) {
    // The norm of a plain residual writes the last sum too; attention residuals are mixed once
    // more, and streams are already one.
    const int sources =
        model.layers.empty() ? 0 : model.layers.at(model.layers.size() - 1).residual_sources;
    const bool streams = residual_streams(model) > 1;
    ops.elementwise("final_norm", Part::kLmHead,
                    streams ? Elementwise::Kind::kNorm : Elementwise::Kind::kAddNorm,
                    {step.tokens(), step.hidden(), step.element(),
                     streams       ? 1.0
                     : sources > 0 ? 1.0 + sources
                                   : 2,
                     streams || sources > 0 ? 1.0 : 2});
  }
  ops.depend_on(OpSource::kOutputs);
  if (model.kind != Kind::kEncoder) {
    add_lm_head(ops, step);
  } else if (model.pooler) {
    ops.gemm("pooler", Part::kLmHead, step.batch.sequences, step.hidden(), step.hidden(),
             step.plain());
  }
  ops.depend_on(OpSource::kTokens);
}

// Multiply-adds with weights a stage does: what decides which one is the slowest.
double stage_work(const RankStep& step, int stage) {
  const LayerStack& stack = step.model.layers;
  const StageLayers range = stage_layers(stack.size(), step.plan.pp, stage);
  double work = 0;
  for (std::size_t i = 0; i < stack.specs().size(); ++i) {
    const int count = stack.count(static_cast<int>(i), range.first, range.last);
    const LayerParameters one =
        count_parameters(stack.specs()[i], step.model.hidden, step.model.norm);
    work += count * real(one.active()) * real(step.tokens());
  }
  if (stage == step.plan.pp - 1 && step.model.lm_head) {
    work += real(step.batch.logits) * step.model.vocab * step.model.hidden;
  }
  return work;
}

int chosen_stage(const RankStep& step, int stage) {
  const int pp = step.plan.pp;
  if (stage >= pp || stage < -1) {
    throw InputError(fmt::format("stage {}: there are {} stages, numbered from 0", stage, pp));
  }
  if (stage >= 0 || pp == 1) return std::max(stage, 0);
  int slowest = pp - 1;
  double most = stage_work(step, slowest);
  for (int s = pp - 2; s >= 0; --s) {
    const double work = stage_work(step, s);
    if (work > most) most = work, slowest = s;
  }
  return slowest;
}

}  // namespace

std::string_view to_text(Part part) {
  switch (part) {
    case Part::kEmbedding:
      return "embedding";
    case Part::kAttention:
      return "attention";
    case Part::kMlp:
      return "mlp";
    case Part::kMoe:
      return "moe";
    case Part::kLmHead:
      return "lm_head";
    case Part::kSampling:
      return "sampling";
    case Part::kCommunication:
      return "communication";
  }
  return "other";
}

Program forward_program(const Architecture& model, const ParallelPlan& plan,
                        const Precision& precision, const Batch& batch,
                        const ProgramOptions& options) {
  return forward_program_parts(model, plan, precision, batch, options, false).program;
}

ProgramParts forward_program_parts(const Architecture& model, const ParallelPlan& plan,
                                   const Precision& precision, const Batch& batch,
                                   const ProgramOptions& options, bool groups_alone) {
  ProgramParts parts;
  forward_program_parts(model, plan, precision, batch, options, groups_alone, parts);
  return parts;
}

void forward_program_parts(const Architecture& model, const ParallelPlan& plan,
                           const Precision& precision, const Batch& batch,
                           const ProgramOptions& options, bool groups_alone, ProgramParts& parts) {
  if (!groups_alone) check_plan(model, plan, precision);
  RankStep step{model, plan, precision, options.expert_skew,
                rank_batch(batch, plan.dp, options.padding, std::move(parts.groups))};
  if (model.kind == Kind::kEncoder) {
    for (const SequenceGroup& g : batch.groups) {
      if (g.past == 0) continue;
      throw InputError(fmt::format("{} is an encoder: it has no past tokens", model.id));
    }
  }
  const int stage = options.slice ? 0 : chosen_stage(step, options.stage);
  const LayerSlice slice = options.slice
                               ? *options.slice
                               : LayerSlice{stage_layers(model.layers.size(), plan.pp, stage),
                                            stage == 0, stage == plan.pp - 1};
  const StageLayers range = slice.layers;

  constexpr std::size_t kOpsPerLayer = 14, kOtherOps = 8;
  const std::size_t per_layer = (groups_alone ? 0 : kOpsPerLayer) + batch.groups.size();
  OpList ops(std::move(parts.program.ops), std::move(parts.origins),
             (groups_alone ? 0 : kOtherOps) + model.layers.specs().size() * per_layer,
             groups_alone);
  if (slice.start && !groups_alone) add_embedding(ops, step);
  for (std::size_t i = 0; i < model.layers.specs().size(); ++i) {
    const int count = model.layers.count(static_cast<int>(i), range.first, range.last);
    ops.layer_spec(static_cast<int>(i));
    const LayerSpec& spec = model.layers.specs()[i];
    if (count > 0)
      groups_alone ? add_layers_of_groups(ops, step, spec, count)
                   : add_layers(ops, step, spec, count);
  }
  ops.layer_spec(-1);
  if (slice.end && !groups_alone) add_end(ops, step);
  if (plan.pp > 1 && !options.slice && !groups_alone) {
    const double rows =
        sent_rows(model, model.layers.at(std::max(0, range.last - 1))) * residual_streams(model);
    ops.collective("pp_send", Collective::Kind::kSend, Collective::Group::kPipeline, plan.pp,
                   rows * step.stream());
  }
  parts.program = {ops.take(), step.tokens(), step.batch.sampled, range.size()};
  parts.totals = {step.tokens(), step.batch.all_tokens,
                  model.kind == Kind::kEncoder ? step.batch.sequences : step.batch.logits, stage,
                  decodes_only(step.batch)};
  parts.origins = ops.take_origins();
  parts.groups = std::move(step.batch.groups);
}

}  // namespace orrery
