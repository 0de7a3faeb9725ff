// The products of a rank with the weights that a layer declares.
#pragma once

#include "orrery/workload/inference/rank_step.h"

namespace orrery {

// Outputs and inputs of one product on a rank.
struct RankProduct {
  std::int64_t outputs = 0, inputs = 0;
};

// Collects the matrices of these roles, which have the same inputs, as one product.
template <WeightRole... kRoles>
class RoleCollector {
 public:
  explicit constexpr RoleCollector(const RankShare& share) : share_(share) {}

  constexpr void matrix(const LayerMatrix& m) {
    if (!((m.role == kRoles) || ...)) return;
    const int ranks = share_.ranks_of(m.part);
    const bool cut = share_.cuts_groups;
    product_.outputs += static_cast<std::int64_t>(m.outputs.on_rank(ranks, cut));
    product_.inputs = static_cast<std::int64_t>(m.inputs.on_rank(ranks, cut));
  }
  constexpr void vector(const LayerVector&) {}
  constexpr const RankProduct& product() const { return product_; }

 private:
  RankShare share_;
  RankProduct product_;
};

// The product with the matrices of these roles of a mixer or MLP, those that it has. REQUIRES that
// they have the same inputs. The declaration is compiled into it, so that only the sizes of these
// matrices are left to compute.
template <WeightRole... kRoles, class Layer>
[[gnu::flatten]] constexpr RankProduct product_of(const RankStep& step, const Layer& layer) {
  RoleCollector<kRoles...> collector(step.plan.rank_share());
  layer.declare(collector, step.hidden());
  return collector.product();
}

}  // namespace orrery
