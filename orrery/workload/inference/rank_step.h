// One rank's share of a step, and the list of ops that the builders of the layers (mixer_ops.h,
// mlp_ops.h) append to.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "orrery/model/architecture/architecture.h"
#include "orrery/workload/inference/program_parts.h"

namespace orrery {

// The sequences and tokens that one rank of a dp group works on.
struct RankBatch {
  std::vector<SequenceGroup> groups;
  std::int64_t tokens = 0;  // with padding
  std::int64_t padding = 0;
  std::int64_t all_tokens = 0;  // of all dp groups, with padding
  std::int64_t sampled = 0;     // sequences that yield a token
  std::int64_t logits = 0;      // rows of the LM head: of those, and of verified drafts
  std::int64_t sequences = 0;
  std::int64_t adapters = 0;
  LoraShape lora = {};
};

// The share of the busiest dp group. Sequences are dealt to the groups in turn, those with the most
// new tokens first. InputError as for forward_program. `memory`: used for RankBatch::groups.
RankBatch rank_batch(const Batch& batch, int dp, std::int64_t padding,
                     std::vector<SequenceGroup> memory = {});

// Whether every sequence computes one token or verifies drafts.
bool decodes_only(const RankBatch& batch);

struct RankStep {
  const Architecture& model;
  const ParallelPlan& plan;
  const Precision& precision;
  double expert_skew;
  RankBatch batch;

  std::int64_t tokens() const { return batch.tokens; }
  std::int64_t hidden() const { return model.hidden; }
  int tp() const { return plan.tp; }
  int cp() const { return plan.cp; }
  // Size of an element of the residual stream.
  Bytes element() const { return bytes_per_element(precision.activations); }
  // Format of the products that are never quantised (router, gates, absorbed products).
  Format plain() const { return plain_format(precision.activations); }
  // Size of the residual stream of all tokens of the rank.
  Bytes stream() const { return static_cast<double>(tokens() * hidden()) * element(); }
};

// How often elementwise work reads and writes rows of `width` elements of this size.
struct RowPasses {
  std::int64_t rows = 1, width = 1;
  Bytes element;
  double reads = 1, writes = 1;
};

class OpList {
 public:
  explicit OpList(std::size_t expected) : OpList({}, {}, expected) {}
  // Uses the memory of `ops` and `origins`, whose contents are lost.
  OpList(std::vector<ProgramOp> ops, std::vector<OpOrigin> origins, std::size_t expected,
         bool groups_alone = false)
      : ops_(std::move(ops)), origins_(std::move(origins)), groups_alone_(groups_alone) {
    ops_.clear();
    origins_.clear();
    ops_.reserve(expected);
    origins_.reserve(expected);
  }

  // Sets how often each op appended from now on runs.
  void repeat(double count) { count_ = count; }
  // Sets the LayerSpec that the ops appended from now on belong to; -1: none.
  void layer_spec(int spec) { spec_ = spec; }
  // Sets what the ops appended from now on depend on, which begins a section. kTokens at first.
  void depend_on(OpSource source) { origin_ = {source, origin_.section + 1}; }
  // Whether the ops of OpSource::kGroups alone are wanted.
  bool groups_alone() const { return groups_alone_; }
  // Sets whether the ops appended from now on belong to shared experts.
  void shared_experts(bool are) { shared_expert_ = are; }
  // Sets ProgramOp::up_projection of the ops appended from now on.
  void up_projections(bool are) { up_projection_ = are; }

  void add(std::string_view name, Part part, const Op& op, bool fusible = false) {
    origins_.push_back(origin_);
    ops_.push_back(
        {op, count_, name, part, fusible, shared_expert_, up_projection_, spec_, std::nullopt});
  }
  void gemm(std::string_view name, Part part, std::int64_t m, std::int64_t n, std::int64_t k,
            Format format, std::int64_t batch = 1) {
    add(name, part, Gemm{m, n, k, batch, format, true});
  }
  void elementwise(std::string_view name, Part part, Elementwise::Kind kind, const RowPasses& over,
                   bool fusible = false) {
    const Bytes once = real(over.rows) * real(over.width) * over.element;
    add(name, part, Elementwise{kind, over.rows, over.width, over.reads * once, over.writes * once},
        fusible);
  }
  // Scaling and rounding of the input of a product, if the product's measured kernel does not do
  // it.
  void quantise(std::string_view name, Part part, std::int64_t rows, std::int64_t width,
                Bytes element, Format format);
  void collective(std::string_view name, Collective::Kind kind, Collective::Group group, int ranks,
                  Bytes bytes) {
    add(name, Part::kCommunication, Collective{kind, group, ranks, bytes});
  }

  // Decode context parallelism (program.h), around the attention of `tokens` queries. `heads` are
  // those of a rank, of `query_dim` and `value_dim` elements. Nothing without it.
  void gather_queries(const RankStep& step, double tokens, int heads, int query_dim);
  void combine_outputs(const RankStep& step, double tokens, int heads, int value_dim);

  // A dispatch or combine among `ranks` ranks. `bytes` is a copy of each token for each expert.
  void exchange(std::string_view name, const ExpertMove& move, int ranks, Bytes bytes) {
    collective(name, Collective::Kind::kAllToAll, Collective::Group::kExpert, ranks, bytes);
    ops_.back().move = move;
  }

  std::vector<ProgramOp> take() { return std::move(ops_); }
  std::vector<OpOrigin> take_origins() { return std::move(origins_); }

 private:
  std::vector<ProgramOp> ops_;
  std::vector<OpOrigin> origins_;
  OpOrigin origin_;
  double count_ = 1;
  bool groups_alone_ = false, shared_expert_ = false, up_projection_ = false;
  int spec_ = -1;
};

}  // namespace orrery
