#include "orrery/accelerator/dataflow/level_reuse.h"

#include <algorithm>

namespace orrery {
namespace {

using At = MapStep::At;

bool contains(const std::vector<LayerDim>& dims, LayerDim d) {
  return std::find(dims.begin(), dims.end(), d) != dims.end();
}

// The tool leaves a factor out where nothing is fresh.
std::int64_t fresh_or_one(std::int64_t fresh) { return fresh != 0 ? fresh : 1; }

}  // namespace

std::size_t LevelReuse::map_of(LayerDim d) const {
  std::size_t i = 0;
  while (i + 1 < level_.maps.size() && level_.maps[i].dim != d) ++i;
  return i;
}

LevelReuse::Sharing LevelReuse::sharing(const std::vector<LayerDim>& tensor) const {
  Sharing s;
  for (const LayerDim d : tensor) {
    const std::size_t i = map_of(d);
    if (!level_.maps[i].spatial) continue;
    s.spatial = true;
    s.ends = s.ends || step(i).ends();
    s.tail = step(i).tail;
  }
  return s;
}

std::int64_t LevelReuse::middle_units(const Sharing& s) const {
  return std::max<std::int64_t>(level_.last_clusters - 1 - (s.tail ? 1 : 0), 0);
}

std::int64_t LevelReuse::held_in_full(const std::vector<LayerDim>& tensor, Unit unit) const {
  std::int64_t n = 1;
  for (std::size_t i = 0; i < level_.maps.size(); ++i) {
    const LayerDim d = level_.maps[i].dim;
    if (!contains(tensor, d)) continue;
    const bool ends = step(i).ends();
    if (!level_.maps[i].spatial) {
      n *= ends ? held(d).last_all : held(d).all;
    } else if (ends && level_.last_clusters == 1) {
      if (unit.first || unit.tail) n *= held(d).last_all;
    } else {
      n *= ends && unit.tail ? held(d).last_all : held(d).all;
    }
  }
  return n;
}

std::int64_t LevelReuse::fetched_by(const std::vector<LayerDim>& tensor, Unit unit) const {
  // The innermost map that goes on; maps inside of it start over.
  std::size_t moving = level_.maps.size();
  for (std::size_t i = 0; i < level_.maps.size(); ++i) {
    if (step(i).at != At::kFirst) moving = i;
  }
  if (moving == level_.maps.size()) return held_in_full(tensor, unit);
  if (!contains(tensor, level_.maps[moving].dim)) return 0;
  bool starts_over = false;
  for (std::size_t i = moving + 1; i < level_.maps.size(); ++i) {
    starts_over = starts_over || (contains(tensor, level_.maps[i].dim) && !step(i).whole);
  }
  std::int64_t n = 1;
  for (std::size_t i = 0; i < level_.maps.size(); ++i) {
    const LayerDim d = level_.maps[i].dim;
    if (!contains(tensor, d)) continue;
    const HeldIndices& h = held(d);
    const bool goes_on = i == moving && !starts_over;
    if (!level_.maps[i].spatial) {
      if (step(i).at == At::kFirst) {
        n *= step(i).ends() ? h.last_all : h.all;
      } else {
        n *= goes_on ? std::max<std::int64_t>(h.fresh, 1) : h.all;
      }
      continue;
    }
    // A neighbour's elements are shared where the map goes on or has started over.
    const bool shared = step(i).at == At::kFirst ? i > moving : goes_on;
    if (!unit.first && shared) {
      n *= unit.tail ? h.last_fresh : h.fresh;
    } else {
      n *= unit.tail ? h.last_all : h.all;
    }
  }
  return n;
}

std::int64_t LevelReuse::fetched(const std::vector<LayerDim>& tensor) const {
  const Sharing s = sharing(tensor);
  if (!s.spatial) return fetched_by(tensor, {});
  if (!s.ends) {
    return fetched_by(tensor, {}) + (level_.clusters - 1) * fetched_by(tensor, {false, false});
  }
  std::int64_t n = fetched_by(tensor, first_unit(s));
  if (level_.last_clusters > 1) {
    n += middle_units(s) * fetched_by(tensor, {false, false});
    if (s.tail) n += fetched_by(tensor, {false, true});
  }
  return n;
}

std::int64_t LevelReuse::outputs(const std::vector<LayerDim>& output, Unit unit, Tail tail) const {
  std::int64_t n = 1;
  for (const LayerDim d : output) {
    const std::size_t i = map_of(d);
    const bool slid = held(output_dim(d)).all != 0;  // X' and Y' of a convolution
    const HeldIndices& h = held(slid ? output_dim(d) : d);
    const At at = step(i).at;
    if (!level_.maps[i].spatial) {
      n *= step(i).ends() ? h.last_all : h.all;
      continue;
    }
    const bool one = level_.last_clusters == 1;
    if (at == At::kLast && one) {
      // The tool takes the inputs here.
      if (unit.first || unit.tail) n *= held(d).last_all;
    } else if (step(i).ends() && unit.tail) {
      if (one || (at == At::kFirst && tail == Tail::kAll)) {
        n *= h.last_all;
      } else {
        n *= h.last_fresh;
      }
    } else {
      n *= unit.first ? h.all : fresh_or_one(h.fresh);
    }
  }
  return n;
}

std::int64_t LevelReuse::reduced(const std::vector<LayerDim>& output, Unit unit) const {
  std::int64_t n = 1;
  for (std::size_t i = 0; i < level_.maps.size(); ++i) {
    const LayerDim d = level_.maps[i].dim;
    if (contains(output, d)) continue;
    const HeldIndices& h = held(d);
    const bool one = level_.last_clusters == 1;
    if (!level_.maps[i].spatial) {
      n *= step(i).ends() ? h.last_all : h.all;
    } else if (step(i).at == At::kLast && one) {
      if (unit.first || unit.tail) n *= h.last_all;
    } else if (step(i).ends() && unit.tail) {
      n *= step(i).at == At::kFirst || one ? h.last_all : h.last_fresh;
    } else {
      n *= unit.first ? h.all : fresh_or_one(h.fresh);
    }
  }
  return n;
}

std::int64_t LevelReuse::given(const std::vector<LayerDim>& output) const {
  const Sharing s = sharing(output);
  if (!s.spatial) return outputs(output, {}, Tail::kFresh);
  if (!s.ends) {
    return outputs(output, {}, Tail::kFresh) +
           (level_.clusters - 1) * outputs(output, {false, false}, Tail::kFresh);
  }
  std::int64_t n = outputs(output, first_unit(s), Tail::kFresh);
  if (level_.last_clusters > 1) {
    n += middle_units(s) * outputs(output, {false, false}, Tail::kFresh);
    if (s.tail) n += outputs(output, {false, true}, Tail::kFresh);
  }
  return n;
}

std::int64_t LevelReuse::most_multiply_adds(const std::vector<LayerDim>& output) const {
  const Sharing s = sharing(output);
  const Unit unit = s.spatial && s.ends ? first_unit(s) : Unit{};
  return multiply_adds(output, unit, Tail::kFresh);
}

std::int64_t LevelReuse::all_multiply_adds(const std::vector<LayerDim>& output) const {
  Sharing s;
  for (std::size_t i = 0; i < level_.maps.size(); ++i) {
    if (!level_.maps[i].spatial) continue;
    s.ends = s.ends || step(i).ends();
    s.tail = step(i).tail;
  }
  if (!s.ends) return level_.clusters * multiply_adds(output, {}, Tail::kFresh);
  std::int64_t n = multiply_adds(output, first_unit(s), Tail::kFresh);
  if (level_.last_clusters > 1) {
    n += middle_units(s) * multiply_adds(output, {}, Tail::kFresh);
    if (s.tail) n += multiply_adds(output, {false, true}, Tail::kAll);
  }
  return n;
}

DimSizes LevelReuse::tile(bool tail, bool convolution) const {
  DimSizes sizes;
  for (std::size_t i = 0; i < level_.maps.size(); ++i) {
    const LevelMap& m = level_.maps[i];
    bool smaller = step(i).ends();
    if (m.spatial) smaller = smaller && (tail || level_.last_clusters == 1);
    sizes[m.dim] = smaller ? held(m.dim).last_all : held(m.dim).all;
  }
  if (convolution) {
    for (const LayerDim d : {LayerDim::kX, LayerDim::kY}) {
      sizes[output_dim(d)] = sizes[d] - sizes[sliding_dim(d)] + 1;
    }
  }
  return sizes;
}

}  // namespace orrery
