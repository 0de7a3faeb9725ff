// The builder behind training_ops (training_program.h): the passes of one virtual stage, op by op.
// Each kind of op has a source file of its own, named above its members.
#pragma once

#include <string_view>
#include <vector>

#include "orrery/workload/training/training_program.h"

namespace orrery {

// Bytes an element that the eager kernels of a pass move beyond the fused kernel.
struct UnfusedPass {
  double kernels = 0, read = 0, written = 0;
};

class TrainingPasses {
 public:
  // Borrows both. REQUIRES that check_job accepts.
  TrainingPasses(const Architecture& model, const TrainingJob& job, int chunk);

  std::vector<TrainingOp> build();

 private:
  using Pass = TrainingPass;
  using Cost = TrainingCost;
  using Kind = Collective::Kind;
  using Group = Collective::Group;

  void put(Op op, double count, const ProgramOp& from, Pass pass, Cost cost);
  bool in_layer(const ProgramOp& op) const;
  double again(const ProgramOp& from, const Op& op) const;
  double again(const ProgramOp& op) const { return again(op, op.op); }
  void forward_and_again(const Op& op, double count, const ProgramOp& from, Cost cost);
  void add(const ProgramOp& op, bool experts);

  // training_products.cc
  void product(const Gemm& g, const ProgramOp& op);
  void accumulate(double weights, const ProgramOp& op);
  void cast(double elements, double read, double written, double count, const ProgramOp& op,
            Pass pass);
  void cast_operand(double elements, const FormatProperties& f, bool transposed, double count,
                    const ProgramOp& op, Pass pass);
  void cast_input(double elements, const FormatProperties& f, const ProgramOp& op);
  void casts(const Gemm& g, const ProgramOp& op);
  void elementwise(const Elementwise& e, const ProgramOp& op);

  // training_eager.cc
  void eager(const Elementwise& fused, const ProgramOp& op);
  bool written_gelu(const ProgramOp& op) const;
  void eager_gelu(const Elementwise& activation, const ProgramOp& op);
  void eager_scores(const Elementwise& softmax, const ProgramOp& op);
  void eager_kernels(const Elementwise& fused, const ProgramOp& op, const UnfusedPass& forward,
                     const UnfusedPass& backward);

  // training_attention.cc
  void attention(const PrefillAttention& a, const ProgramOp& op);
  void flash(const PrefillAttention& a, const Op& forward, const ProgramOp& op);
  void latent(const LatentAttentionCore& l, const ProgramOp& op);
  void standard(const PrefillAttention& a, const ProgramOp& op);

  // training_experts.cc
  double load(const MoeExperts& m) const;
  MoeExperts of_rank(const MoeExperts& m) const;
  double own_tokens() const;
  bool gathers_copies() const;
  void gather_copies(const MoeExperts& m, const ProgramOp& op);
  void exchange_tokens(const MoeExperts& m, const ProgramOp& op);
  void route_tokens(const MoeExperts& m, const MoeExperts& e, const ProgramOp& op);
  void expert_products(const MoeExperts& e, const ProgramOp& op);
  bool has_bias() const;
  void clamps_and_biases(std::int64_t rows, std::int64_t inner, std::int64_t width,
                         const ProgramOp& op);
  void routed(const MoeExperts& m, const ProgramOp& op);

  // training_communication.cc
  void tensor(Kind kind, double count, const Collective& c, const ProgramOp& op, Pass pass);
  void collective(const Collective& c, const ProgramOp& op, bool experts);
  double reduced_again(const ProgramOp& op, bool experts, bool own) const;
  void context();
  void exchange(Bytes kv, Bytes q, const ProgramOp& from);

  // training_adapters.cc
  void adapters();
  void magnitudes(std::int64_t in, std::int64_t out, double times, const Elementwise& scale);

  // training_head.cc
  void embedding_gradient(const ProgramOp& op);
  void head();

  const Architecture& model_;
  const TrainingJob& job_;
  const TrainingPlan& plan_;
  StageLayers range_;
  bool start_ = false, end_ = false, frozen_ = false;
  double recomputed_ = 0;  // share of the layers that run again whole
  Bytes element_;
  std::vector<TrainingOp> ops_;
};

}  // namespace orrery
