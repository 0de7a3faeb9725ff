// The ops of the passes of a micro-batch on one virtual stage, as they are written down one after
// the other, with the rules by which recomputation repeats forward ops.
//
// training_program.cc goes over the forward Program. Each kind of op has a header of its own, whose
// functions write the passes of one op.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "orrery/workload/training/training_program.h"

namespace orrery {

class PassWriter {
 public:
  // Borrows both. REQUIRES that check_job accepts, 0 <= chunk < pp*vp.
  PassWriter(const Architecture& model, const TrainingJob& job, int chunk);

  const Architecture& model() const { return model_; }
  const TrainingJob& job() const { return job_; }
  const TrainingPlan& plan() const { return job_.plan; }
  const StageLayers& range() const { return range_; }  // layers of the virtual stage
  bool first() const { return first_; }                // the virtual stage has the embedding
  bool last() const { return last_; }                  // the virtual stage has the LM head
  // The weights of the model are not trained: adapters are.
  bool frozen() const { return job_.tuning != Tuning::kFull; }
  Bytes element() const { return element_; }  // of the activations

  // Appends an op that is derived from `from`, which gives it its name.
  void put(Op op, double count, const ProgramOp& from, TrainingPass pass, TrainingCost cost);
  // Appends a forward op, and the same for recomputation as often as again() says.
  void forward_and_again(const Op& op, double count, const ProgramOp& from, TrainingCost cost);

  // Whether the op belongs to a layer, which full recomputation runs again.
  bool in_layer(const ProgramOp& op) const;
  // The share of the layers that run again whole, 0 to 1.
  double layers_again() const { return layers_again_; }
  // The share of an op's calls that recomputation runs again; `derived` comes from `from`.
  double again(const ProgramOp& from, const Op& derived) const;
  double again(const ProgramOp& op) const { return again(op, op.op); }

  // The number of ops so far, and those since the number was `before`.
  std::size_t size() const { return ops_.size(); }
  std::span<TrainingOp> since(std::size_t before) { return std::span(ops_).subspan(before); }
  // The last op. REQUIRES size() > 0.
  TrainingOp& back() { return ops_.back(); }

  std::vector<TrainingOp> take() { return std::move(ops_); }

 private:
  const Architecture& model_;
  const TrainingJob& job_;
  const StageLayers range_;
  const bool first_, last_;
  const Bytes element_;
  double layers_again_ = 0;
  std::vector<TrainingOp> ops_;
};

}  // namespace orrery
