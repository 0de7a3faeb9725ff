#include "orrery/flow/simulation/colour_refinement.h"

#include <algorithm>
#include <numeric>

namespace orrery {
namespace {

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

}  // namespace

ColourRefinement::ColourRefinement(std::vector<std::int32_t> colour, std::int32_t colours)
    : colour_(std::move(colour)),
      colours_(colours),
      members_(at(colours), 0),
      class_signature_(at(colours), 0),
      dirty_(colour_.size()),
      marked_(colour_.size(), 1) {
  for (std::int32_t c : colour_) ++members_[at(c)];
  std::iota(dirty_.begin(), dirty_.end(), 0);
}

void ColourRefinement::split() {
  rounds_.assign(at(colours_), {});
  for (std::size_t i = 0; i < dirty_.size(); ++i) {
    const std::size_t element = at(dirty_[i]);
    marked_[element] = 0;
    Round& r = rounds_[at(colour_[element])];
    if (r.elements++ == 0) r.first = signatures_[i];
    r.uniform &= signatures_[i] == r.first;
  }
  sort_candidates();
  changed_.clear();
  for (std::size_t begin = 0; begin < candidates_.size();) {
    std::size_t end = begin;
    while (end < candidates_.size() && candidates_[end].colour == candidates_[begin].colour) ++end;
    split_class(begin, end);
    begin = end;
  }
}

// Lists the dirty elements by class and signature. A class that stays whole need not be sorted.
void ColourRefinement::sort_candidates() {
  candidates_.clear();
  for (std::size_t i = 0; i < dirty_.size(); ++i) {
    const std::int32_t c = colour_[at(dirty_[i])];
    const Round& r = rounds_[at(c)];
    const bool all = r.elements == members_[at(c)];
    if (r.uniform && all) class_signature_[at(c)] = r.first;
    if (r.uniform && r.first == class_signature_[at(c)]) continue;
    candidates_.push_back({c, signatures_[i], dirty_[i]});
  }
  std::sort(candidates_.begin(), candidates_.end(), [](const Signed& a, const Signed& b) {
    if (a.colour != b.colour) return a.colour < b.colour;
    return a.signature != b.signature ? a.signature < b.signature : a.element < b.element;
  });
}

void ColourRefinement::split_class(std::size_t begin, std::size_t end) {
  const std::int32_t c = candidates_[begin].colour;
  const auto end_of_part = [&](std::size_t a) {
    std::size_t b = a;
    while (b < end && candidates_[b].signature == candidates_[a].signature) ++b;
    return b;
  };
  // The undisturbed elements keep the colour, or else the largest part.
  std::uint64_t keeps = class_signature_[at(c)];
  if (static_cast<std::int32_t>(end - begin) == members_[at(c)]) {
    std::size_t largest = 0;
    for (std::size_t a = begin; a < end;) {
      const std::size_t b = end_of_part(a);
      if (b - a > largest) largest = b - a, keeps = candidates_[a].signature;
      a = b;
    }
    class_signature_[at(c)] = keeps;
  }
  for (std::size_t a = begin; a < end;) {
    const std::size_t b = end_of_part(a);
    if (candidates_[a].signature != keeps) {
      const std::int32_t fresh = colours_++;
      const auto size = static_cast<std::int32_t>(b - a);
      members_.push_back(size);
      members_[at(c)] -= size;
      class_signature_.push_back(candidates_[a].signature);
      for (std::size_t k = a; k < b; ++k) {
        colour_[at(candidates_[k].element)] = fresh;
        changed_.push_back(candidates_[k].element);
      }
    }
    a = b;
  }
}

}  // namespace orrery
