// Models, machines and jobs that the tests of iterations share.
#pragma once

#include <cstdint>
#include <memory>

#include "orrery/model/catalog/catalog.h"
#include "orrery/network/collectives/make_network.h"
#include "orrery/training/iteration/iteration.h"

namespace orrery::iteration_fixture {

// A GPT of learned positions, GELU and full attention, with tied embeddings.
inline Architecture gpt(int layers, int hidden, int heads) {
  Architecture a;
  a.id = "gpt";
  a.hidden = hidden;
  a.vocab = 51200;
  a.tied_embeddings = true;
  a.position = Position::kLearned;
  a.position_rows = 2048;
  a.norm = Norm::kLayer;
  SoftmaxAttention s;
  s.heads = s.kv_heads = heads;
  s.head_dim = s.value_dim = hidden / heads;
  s.rope = false;
  DenseMlp m;
  m.intermediate = 4 * hidden;
  m.activation = Activation::kGelu;
  LayerSpec layer;
  layer.mixer = s;
  layer.mlp = m;
  a.layers.append(layer, layers);
  return a;
}

// GPUs of one kind with their kernel and network models.
class Machine {
 public:
  explicit Machine(int gpus, const char* name = "a100-80g-sxm")
      : catalog_(bundle_),
        gpu_(catalog_.gpu(name)),
        cluster_(catalog_, gpu_, gpus),
        kernels_(make_kernel_model(gpu_, {}, bundle_)),
        network_(make_network_model(cluster_, {}, "nccl", bundle_)) {}

  IterationModel iterations(const Architecture& model) const {
    return IterationModel(model, cluster_, *kernels_, *network_);
  }
  IterationParts parts(const Architecture& model, const TrainingJob& job,
                       const StackTraits& stack = {.fused_accumulation = true}) const {
    check_job(model, job);
    return iterations(model).parts(job, stack);
  }
  Seconds all_reduce(const TrainingPlan& plan, double bytes) const {
    const Collective c{Collective::Kind::kAllReduce, Collective::Group::kData, plan.dp,
                       Bytes(bytes)};
    return network_->predict(c, placement(plan)).time.value;
  }
  // The priors: nothing that was fitted to a run.
  TrainingConstants constants(const TrainingJob& job, const char* stack = "megatron") const {
    const ConstantTable priors = read_constant_table(bundle_.replacing("training", {}));
    return training_constants(priors, stack, gpu_, job.precision);
  }
  IterationTime time(const Architecture& model, const TrainingJob& job,
                     const char* stack = "megatron") const {
    return iteration_time(parts(model, job), constants(job, stack), job);
  }

 private:
  Bundle bundle_;
  Catalog catalog_;
  Gpu gpu_;
  Cluster cluster_;
  std::unique_ptr<KernelModel> kernels_;
  std::unique_ptr<NetworkModel> network_;
};

inline TrainingJob job_of(int tp, int pp, int vp, std::int64_t micro, std::int64_t global) {
  TrainingJob j;
  j.plan.tp = tp, j.plan.pp = pp, j.plan.vp = vp;
  j.micro_batch = micro, j.global_batch = global;
  return j;
}

}  // namespace orrery::iteration_fixture
