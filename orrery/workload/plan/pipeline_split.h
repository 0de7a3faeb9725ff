// How the layers of a model are divided among virtual stages when the plan lists no numbers:
// Megatron's flags for pipelines whose first and last stages have more to do than layers.
//
//   --account-for-embedding-in-pipeline-split, --account-for-loss-in-pipeline-split
//       the embedding counts as a layer of the first virtual stage, the LM head with the loss as
//       one of the last: a model of n layers is divided as one of n + 1 or n + 2, and those
//       virtual stages have one layer less than the others
//   --decoder-first-pipeline-num-layers, --decoder-last-pipeline-num-layers
//       the layers of the first and the last stage; the stages between them have equal shares
//
// The rules are those of Megatron Core (megatron/core/transformer/transformer_block.py,
// get_num_layers_to_build): the two kinds exclude each other, every share divides by the chunks of
// a stage, and what does not divide is refused.
//
// A third rule is Nanotron's (github.com/huggingface/nanotron, src/nanotron/models/base.py,
// build_model): layers and the LM head count by their parameters, and a stage takes blocks in the
// order of the model until the sum so far is above its share.
#pragma once

#include <cstdint>
#include <vector>

namespace orrery {

struct SplitRule {
  bool embedding = false, loss = false;
  int first = 0, last = 0;  // layers of the first and the last stage; 0: a share as the others
  bool balanced = false;    // by parameters, with the LM head; excludes the others
  bool counts() const { return embedding || loss; }
  bool given() const { return counts() || first > 0 || last > 0 || balanced; }
  bool operator==(const SplitRule&) const = default;
};

// Layers of each of the pp*vp virtual stages in model order: virtual stage i is chunk i / pp of
// stage i % pp. `head`: parameters of the LM head in those of a layer, which `balanced` reads.
// Throws Infeasible, with the numbers, if the rule does not divide `layers`, or leaves a stage
// without a block; REQUIRES rule.given(), pp > 0, vp > 0, head >= 0.
std::vector<std::int64_t> split_by_rule(const SplitRule& rule, int layers, double head, int pp,
                                        int vp);

// A split for layers that do not divide into `chunks` virtual stages. The embedding and the LM head
// count as a layer each, the remainder goes to the virtual stages in the middle.
std::vector<std::int64_t> uneven_split(int layers, int chunks);

}  // namespace orrery
