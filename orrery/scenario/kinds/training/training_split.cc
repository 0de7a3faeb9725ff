#include "orrery/scenario/kinds/training/training_split.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace orrery {
namespace {

// The numbers that a split of this form follows from.
struct SplitForm {
  std::int64_t first = 0, last = 0;
  std::int64_t block = 0;  // place of the virtual stages with one layer more, among those between
  bool operator<(const SplitForm& o) const {
    return std::tie(first, last, block) < std::tie(o.first, o.last, o.block);
  }
};

class SplitSearch {
 public:
  SplitSearch(std::int64_t layers, std::int64_t pp, std::int64_t vp,
              const std::function<Seconds(const LayersOfStages&)>& time)
      : layers_(layers), between_(pp * vp - 2), pp_(pp), time_(time) {}

  LayersOfStages best() {
    const std::int64_t each = layers_ / (between_ + 2);
    SplitForm at{each, each, 0};
    if (between_ == 0) at.last = layers_ - at.first;
    at.block = (between_ - left_over(at)) / 2;
    // The iteration takes what its slowest stage does, so that one change alone may leave its time
    // as it was: steps of two layers see beyond that.
    for (bool better = true; better;) {
      better = false;
      for (std::int64_t d_first = -2; d_first <= 2; ++d_first)
        for (std::int64_t d_last = -2; d_last <= 2; ++d_last)
          better |=
              take({at.first + d_first,
                    between_ == 0 ? layers_ - at.first - d_first : at.last + d_last, at.block},
                   at);
      // Blocks that begin at the same stage give every stage as many layers.
      for (std::int64_t block = 0; block < std::min(pp_, between_ - left_over(at) + 1); ++block)
        better |= take({at.first, at.last, block}, at);
    }
    return split(at);
  }

 private:
  std::int64_t middle(const SplitForm& f) const { return layers_ - f.first - f.last; }
  std::int64_t left_over(const SplitForm& f) const {
    return between_ > 0 ? middle(f) % between_ : 0;
  }

  LayersOfStages split(const SplitForm& f) const {
    LayersOfStages out = {f.first};
    const std::int64_t left = left_over(f);
    for (std::int64_t i = 0; i < between_; ++i)
      out.push_back(middle(f) / between_ + (i >= f.block && i < f.block + left ? 1 : 0));
    out.push_back(f.last);
    return out;
  }

  // Replaces `best` by `f` if that is a split and shorter.
  bool take(SplitForm f, SplitForm& best) {
    if (f.first < 0 || f.last < 0 || middle(f) < 0 || (between_ == 0 && middle(f) > 0))
      return false;
    f.block = std::clamp<std::int64_t>(f.block, 0, between_ - left_over(f));
    constexpr double kShorter = 1 - 1e-9;  // not by rounding alone
    if (!(time_of(f) < kShorter * time_of(best))) return false;
    best = f;
    return true;
  }

  Seconds time_of(const SplitForm& f) {
    const auto known = times_.find(f);
    return known != times_.end() ? known->second : times_[f] = time_(split(f));
  }

  std::int64_t layers_, between_, pp_;
  const std::function<Seconds(const LayersOfStages&)>& time_;
  std::map<SplitForm, Seconds> times_;
};

}  // namespace

LayersOfStages best_split(int layers, int pp, int vp,
                          const std::function<Seconds(const LayersOfStages&)>& time) {
  if (pp * vp == 1) return {layers};
  return SplitSearch(layers, pp, vp, time).best();
}

std::string balanced_split_note(const std::string& stack, const Architecture& model,
                                const TrainingPlan& plan) {
  std::vector<int> layers;
  for (int s = 0; s < plan.pp; ++s) layers.push_back(chunk_layers(model, plan, s).size());
  return fmt::format("{} divides layers by parameters: {} (split gives others)", stack,
                     fmt::join(layers, ","));
}

}  // namespace orrery
