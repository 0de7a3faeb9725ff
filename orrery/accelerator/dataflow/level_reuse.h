// A step of a level: the elements that sub-clusters need and do not hold yet, the outputs that they
// give, and the multiply-adds.
//
// A tensor moves as a whole: when the innermost map that goes on in a step is of one of its
// dimensions, its fresh elements are fetched, and when an inner map starts over, all of its
// elements. A tensor without that dimension stays. In space the first sub-cluster fetches all
// elements and the others what the one before does not fetch (multicast).
#pragma once

#include <cstdint>
#include <vector>

#include "orrery/accelerator/dataflow/cluster_level.h"
#include "orrery/accelerator/dataflow/step_cases.h"

namespace orrery {

class LevelReuse {
 public:
  LevelReuse(const ClusterLevel& level, const StepCase& steps) : level_(level), steps_(steps) {}

  // Elements of an input that all sub-clusters fetch, each once.
  std::int64_t fetched(const std::vector<LayerDim>& tensor) const;
  // Outputs that all sub-clusters give.
  std::int64_t given(const std::vector<LayerDim>& output) const;
  // Multiply-adds of all sub-clusters, and of the busiest.
  std::int64_t all_multiply_adds(const std::vector<LayerDim>& output) const;
  std::int64_t most_multiply_adds(const std::vector<LayerDim>& output) const;
  // The tile of a sub-cluster; of the last one in use where that holds less.
  DimSizes tile(bool tail, bool convolution) const;

 private:
  // A sub-cluster: whether it is the first, and whether it is the last one in use, where that holds
  // less than the others.
  struct Unit {
    bool first = true, tail = false;
  };
  // How tensor elements are shared over the sub-clusters.
  struct Sharing {
    bool spatial = false, ends = false, tail = false;
  };
  enum class Tail { kFresh, kAll };  // outputs of the last sub-cluster that count

  const HeldIndices& held(LayerDim d) const { return level_.of(d); }
  const MapStep& step(std::size_t map) const { return steps_[map]; }
  std::size_t map_of(LayerDim d) const;
  Sharing sharing(const std::vector<LayerDim>& tensor) const;
  // Units in the last step besides the first one and the tail.
  std::int64_t middle_units(const Sharing& s) const;
  Unit first_unit(const Sharing& s) const { return {true, level_.last_clusters == 1 && s.tail}; }

  std::int64_t held_in_full(const std::vector<LayerDim>& tensor, Unit unit) const;
  std::int64_t fetched_by(const std::vector<LayerDim>& tensor, Unit unit) const;
  std::int64_t outputs(const std::vector<LayerDim>& output, Unit unit, Tail tail) const;
  std::int64_t reduced(const std::vector<LayerDim>& output, Unit unit) const;
  std::int64_t multiply_adds(const std::vector<LayerDim>& output, Unit unit, Tail tail) const {
    return outputs(output, unit, tail) * reduced(output, unit);
  }

  const ClusterLevel& level_;
  const StepCase& steps_;
};

}  // namespace orrery
