#include "orrery/serving/steps/speculation.h"

#include <algorithm>
#include <cmath>

#include "orrery/base/index.h"

namespace orrery {

double acceptance_at(const Speculation& s, std::int32_t i) {
  const auto last = static_cast<std::int32_t>(s.acceptance.size()) - 1;
  if (i <= last) return s.acceptance[index(i)];
  return s.acceptance.back() * std::pow(s.decay, i - last);
}

double tokens_per_verification(const Speculation& s) {
  double tokens = 1, reached = 1;
  for (std::int32_t i = 0; i < s.drafts; ++i) tokens += reached *= acceptance_at(s, i);
  return tokens;
}

Acceptance::Acceptance(const Speculation& s)
    : spread_(s.spread),
      tree_tokens_(s.tree_tokens),
      draws_(s.seed, "accepted drafts"),
      factors_(s.seed, "acceptance of requests") {
  for (std::int32_t i = 0; i < s.drafts; ++i) by_position_.push_back(acceptance_at(s, i));
}

std::int32_t Acceptance::accepted(std::uint32_t request, std::int32_t made, std::int32_t verified) {
  // A tree that was cut by the token budget keeps its upper levels, in proportion.
  auto depth = static_cast<std::int32_t>(by_position_.size());
  if (tree_tokens_ > 0) {
    depth = static_cast<std::int32_t>(std::int64_t{depth} * verified / tree_tokens_);
  } else {
    depth = std::min(depth, verified);
  }
  double factor = 1;
  if (spread_ > 0) {
    factors_.seek(request);
    factor = 1 + spread_ * (2 * factors_.uniform() - 1);
  }
  // One uniform number decides: n drafts are accepted if it lies below the product of the first n.
  draws_.seek((std::uint64_t{request} << 32) | static_cast<std::uint32_t>(made));
  const double u = draws_.uniform();
  double reached = 1;
  std::int32_t n = 0;
  while (n < depth) {
    reached *= std::min(1.0, factor * by_position_[index(n)]);
    if (u >= reached) break;
    ++n;
  }
  return n;
}

}  // namespace orrery
