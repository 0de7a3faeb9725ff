// Models, jobs and constants that the tests of training memory share.
#pragma once

#include "orrery/base/bundle.h"
#include "orrery/hardware/catalog.h"
#include "orrery/memory/saved_activations.h"
#include "orrery/memory/training_memory.h"
#include "orrery/model/catalog/catalog.h"
#include "orrery/workload/training/training_parameters.h"

namespace orrery::training_fixture {

// Layer norms with biases, GELU, MHA, f = 4h: the layers of Korthikanti et al. 2022.
inline Architecture gpt(int layers, int hidden, int heads, int vocab = 51200) {
  Architecture m;
  m.id = "gpt";
  m.hidden = hidden;
  m.vocab = vocab;
  m.norm = Norm::kLayer;
  m.tied_embeddings = true;
  SoftmaxAttention a;
  a.heads = a.kv_heads = heads;
  a.head_dim = a.value_dim = hidden / heads;
  m.layers.append({.mixer = a, .cross_attention = {}, .mlp = DenseMlp{4 * hidden, false, true}},
                  layers);
  return m;
}

inline TrainingJob classic(int tp = 1, bool sequence_parallel = false) {
  TrainingJob job;
  job.plan.tp = tp;
  job.plan.sequence_parallel = sequence_parallel;
  job.flash = false;
  job.dropout = true;
  job.precision.gradients = Dtype::kBf16;
  return job;
}

inline double layer_bytes(const Architecture& m, const TrainingJob& job) {
  return layer_activations(m, m.layers.specs()[0], job, {}).saved.value();
}

inline Gpu gpu(const char* id = "a100-80g-sxm") { return Catalog().gpu(id); }

inline TrainingMemoryConstants stack(const char* name) {
  return load_training_memory(name, Bundle());
}

}  // namespace orrery::training_fixture
