#include "orrery/training/iteration/library_attention.h"

#include <algorithm>
#include <cmath>
#include <variant>

namespace orrery {

void attend_by(const AttentionKernels& library, const Op& op, KernelTime& t) {
  if (library.ratios.empty()) return;
  double ratio = 1;
  if (const auto* a = std::get_if<PrefillAttention>(&op)) {
    ratio = library.at(a->head_dim).forward;
  } else if (const auto* l = std::get_if<LatentAttentionCore>(&op)) {
    ratio = library.at(l->qk_nope_dim + l->qk_rope_dim).forward;
  } else if (const auto* b = std::get_if<AttentionBackward>(&op)) {
    ratio = library.at(b->forward.head_dim).backward;
  } else {
    return;
  }
  t.time = t.time.scaled(ratio);
  t.time.value = std::max({t.time.value, t.compute, t.memory});
  t.time.shared = std::hypot(t.time.shared, library.error);
}

}  // namespace orrery
