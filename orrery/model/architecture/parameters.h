// Parameter counts from the dimensions. They are exact: every weight of the checkpoint is counted,
// with norms, biases and the score corrections of routers. Buffers (rotary tables, attention masks)
// are not parameters.
//
// architecture.h lists the matrices of each struct. Counts are of elements, not bytes. The limits
// of the reader (hf_config.h) keep every count below 2^62.
#pragma once

#include <cstdint>

#include "orrery/base/units.h"
#include "orrery/model/architecture/architecture.h"

namespace orrery {

struct LayerParameters {
  std::int64_t mixer = 0;  // attention or linear attention, with its query/key/latent norms
  std::int64_t cross_attention = 0;  // over the encoder's output
  std::int64_t mlp = 0;              // a dense MLP
  std::int64_t router = 0;
  std::int64_t expert = 0;  // ONE routed expert
  int experts = 0;
  int top_k = 0;
  std::int64_t shared_experts = 0;   // all shared experts, with their gate
  std::int64_t latent = 0;           // the projections to and from the experts' latent
  std::int64_t norms = 0;            // the norms over hidden
  std::int64_t residual = 0;         // of hyper-connections or attention residuals
  std::int64_t per_layer_input = 0;  // gate, projection and norm of the layer's own input

  std::int64_t total() const { return always() + experts * expert; }
  // The parameters that one token passes through: all but the experts that do not serve it.
  std::int64_t active() const { return always() + top_k * expert; }

 private:
  std::int64_t always() const {
    return mixer + cross_attention + mlp + router + shared_experts + latent + norms + residual +
           per_layer_input;
  }
};

struct ParameterCounts {
  std::int64_t embedding = 0;  // the token table
  // Learned positions, segments, T5's relative bias, the norm after the embedding, and what joins
  // residual streams or blocks before the final norm.
  std::int64_t positions = 0;
  std::int64_t per_layer_inputs = 0;  // the table of per-layer inputs and its projection
  std::int64_t towers = 0;            // vision and audio towers with their projectors
  std::int64_t layers = 0;            // all layers of decoder and encoder
  std::int64_t final_norms = 0;
  std::int64_t lm_head = 0;  // only its bias if it is tied to the embedding
  std::int64_t pooler = 0;   // BERT's pooler and its two-way head
  std::int64_t mtp = 0;      // multi-token prediction layers, which the totals below leave out
  std::int64_t layers_active = 0;
  bool tied = false;

  std::int64_t total() const {
    return embedding + positions + per_layer_inputs + towers + layers + final_norms + lm_head +
           pooler;
  }
  // The parameters that a token of text uses, with the whole embedding table (12.9 B of Mixtral
  // 8x7B) and without towers.
  std::int64_t active() const { return total() - towers - layers + layers_active; }
  // The same without the input embedding, which is looked up and not multiplied (3.6 B of
  // gpt-oss-20b). A tied embedding is the LM head too and is counted.
  std::int64_t active_without_embedding() const { return active() - (tied ? 0 : embedding); }
};

// The parameters of one layer. `hidden` and `norm` are those of the Architecture.
LayerParameters count_parameters(const LayerSpec& layer, int hidden, Norm norm);

ParameterCounts count_parameters(const Architecture& model);

// All parameters that the checkpoint stores: the total, the multi-token prediction layers and their
// copies of tables.
std::int64_t checkpoint_parameters(const Architecture& model);

// Bytes of the tensors of the checkpoint (metadata.total_size of model.safetensors.index.json):
// every matrix in its format with scales and zeros (CheckpointQuantization::parts), everything else
// in Architecture::dtype.
Bytes checkpoint_bytes(const Architecture& model);

}  // namespace orrery
