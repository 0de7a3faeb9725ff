#include "orrery/accelerator/dataflow/cluster_level.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "orrery/base/error.h"
#include "orrery/base/units.h"

namespace orrery {
namespace {

using enum LayerDim;

constexpr std::size_t kMostLevels = 4;
constexpr double kMostPoints = 9007199254740992.0;  // 2^53

LevelMap* find(std::vector<LevelMap>& maps, LayerDim dim) {
  for (LevelMap& m : maps) {
    if (m.dim == dim) return &m;
  }
  return nullptr;
}

// Maps of outputs become maps of the inputs that they need.
void turn_to_inputs(std::vector<LevelMap>& maps, const DimSizes& sizes) {
  for (const LayerDim in : {kX, kY}) {
    LevelMap* out = find(maps, output_dim(in));
    if (out == nullptr || find(maps, in) != nullptr) continue;
    const LevelMap* filter = find(maps, sliding_dim(in));
    out->dim = in;
    out->size += (filter != nullptr ? filter->size : sizes[sliding_dim(in)]) - 1;
  }
}

void inherit(const std::vector<LevelMap>& above, std::vector<LevelMap>& maps) {
  for (const LevelMap& m : above) {
    if (find(maps, m.dim) == nullptr) maps.insert(maps.begin(), {m.dim, false, m.size, m.offset});
  }
}

// The dimensions of the tensors that are read.
std::set<LayerDim> read_dims(const LayerTensors& t) {
  std::set<LayerDim> dims(t.input.begin(), t.input.end());
  dims.insert(t.filter.begin(), t.filter.end());
  return dims;
}

// A map of a strided input covers the inputs of whole outputs, without those between them.
void apply_strides(const DirectiveLayer& layer, bool top, std::vector<LevelMap>& maps) {
  if (layer.kind == LayerKind::kProduct) return;
  for (LevelMap& m : maps) {
    if (!slides(m.dim) || layer.strides[m.dim] == 1) continue;
    const std::int64_t stride = layer.strides[m.dim], filter = layer.sizes[sliding_dim(m.dim)];
    if (m.size < filter) continue;
    const std::int64_t outputs = (m.size + stride - filter) / stride;
    m.size = outputs * std::min(stride, filter) + std::max<std::int64_t>(filter - stride, 0);
    m.offset = outputs * (!top && filter < stride ? filter : stride);
  }
}

const LevelMap& spatial_map(const ClusterLevel& level, const DirectiveLayer& layer,
                            std::size_t index) {
  const LevelMap* first = nullptr;
  int count = 0;
  for (const LevelMap& m : level.maps) {
    if (!m.spatial) continue;
    if (first == nullptr) first = &m;
    ++count;
  }
  if (count == 0 || count > 2) {
    throw InputError(fmt::format("dataflow of {}: level {} has {} SpatialMaps, expected 1 or 2",
                                 layer.name, index, count));
  }
  return *first;
}

std::int64_t clusters_in_last_step(std::int64_t clusters, const LevelMap& m, std::int64_t size) {
  if (size <= m.size) return 1;
  const std::int64_t covered = m.offset * (clusters - 1) + m.size;
  if (size > covered) {
    const std::int64_t steps = ((size - m.size) / m.offset + 1) / clusters;
    const std::int64_t rest = size - steps * m.offset * clusters;
    return rest < m.size ? 1 : (rest - m.size) / m.offset + 1;
  }
  const std::int64_t whole = (size - m.size) / m.offset + 1;
  return m.offset * (whole - 1) + m.size < size ? whole + 1 : whole;
}

HeldIndices held_by(const LevelMap& m, std::int64_t size) {
  const std::int64_t steady = std::max<std::int64_t>((size - m.size) / m.offset, 0);
  const bool ends = steady * m.offset + m.size < size || m.size > size;
  HeldIndices h;
  h.all = m.size;
  h.fresh = !m.spatial && size <= m.size ? 0 : std::min(m.size, m.offset);
  std::int64_t rest = size - (steady + 1) * m.offset;
  if (rest < 0) rest = size;
  h.last_all = ends ? rest : m.size;
  h.last_fresh = std::max<std::int64_t>(m.offset - (m.size - rest), 0);
  return h;
}

void fill_held(const DirectiveLayer& layer, ClusterLevel& level) {
  const auto at = [&](LayerDim d) -> HeldIndices& {
    return level.held[static_cast<std::size_t>(d)];
  };
  for (const LevelMap& m : level.maps) at(m.dim) = held_by(m, level.sizes[m.dim]);
  if (layer.kind == LayerKind::kProduct) return;
  for (const LevelMap& m : level.maps) {
    if (!slides(m.dim)) continue;
    const HeldIndices &in = at(m.dim), &filter = at(sliding_dim(m.dim));
    HeldIndices& out = at(output_dim(m.dim));
    out.all = in.all - filter.all + 1;
    out.fresh = std::min(m.offset, m.size);
    out.last_all = in.last_all - filter.last_all + 1;
    out.last_fresh = std::min(m.offset, out.last_all);
  }
}

// A level's maps name dimensions of the layer, each once, and its counts are exact in doubles.
void check_maps(const DirectiveLayer& layer, const ClusterLevel& level, std::size_t index) {
  double points = 1;
  std::set<LayerDim> seen;
  for (const LevelMap& m : level.maps) {
    const std::string what =
        fmt::format("dataflow of {}: level {} maps {}", layer.name, index, name_of(m.dim));
    if (level.sizes[m.dim] == 0) throw InputError(what + ", which the layer does not have");
    if (!seen.insert(m.dim).second) throw InputError(what + " twice");
    points *= real(std::max(m.size + m.offset, level.sizes[m.dim]));
  }
  if (points > kMostPoints) {
    throw InputError(
        fmt::format("dataflow of {}: level {} has {:.3g} points, expected at most 2^53", layer.name,
                    index, points));
  }
}

// The layer with the inputs that its outputs need, where it gives outputs.
DirectiveLayer with_inputs(DirectiveLayer layer) {
  if (layer.kind == LayerKind::kProduct) return layer;
  for (const LayerDim in : {kX, kY}) {
    std::int64_t& size = layer.sizes[in];
    const std::int64_t filter = layer.sizes[sliding_dim(in)], out = layer.sizes[output_dim(in)];
    if (size == 0 && out > 0) size = out + filter - 1;
    if (size > 0 && size < filter) {
      throw InputError(fmt::format("layer {}: {} is {}, below the filter's {} of {}", layer.name,
                                   name_of(in), size, name_of(sliding_dim(in)), filter));
    }
  }
  return layer;
}

// A level from its own maps.
ClusterLevel complete(const DirectiveLayer& layer, std::vector<LevelMap> maps,
                      const ClusterLevel* above, std::size_t index) {
  ClusterLevel level;
  const std::set<LayerDim> dims = read_dims(tensors_of(layer));
  turn_to_inputs(maps, layer.sizes);
  if (above == nullptr) {
    level.sizes = layer.sizes;
  } else {
    inherit(above->maps, maps);
    for (const LevelMap& m : above->maps) {
      if (dims.contains(m.dim)) level.sizes[m.dim] = std::min(m.size, above->sizes[m.dim]);
    }
  }
  for (const LayerDim d : dims) {
    if (level.sizes[d] == 0) {
      throw InputError(fmt::format("layer {}: dimension {} is missing", layer.name, name_of(d)));
    }
    if (find(maps, d) == nullptr) maps.push_back({d, false, level.sizes[d], level.sizes[d]});
  }
  apply_strides(layer, above == nullptr, maps);
  level.maps = std::move(maps);
  check_maps(layer, level, index);
  return level;
}

}  // namespace

bool slides(LayerDim d) { return d == kX || d == kY; }
LayerDim sliding_dim(LayerDim d) { return d == kX ? kS : kR; }
LayerDim output_dim(LayerDim d) { return d == kX ? kOutputX : d == kY ? kOutputY : d; }

bool ClusterLevel::is_spatial(LayerDim d) const {
  return std::any_of(maps.begin(), maps.end(),
                     [d](const LevelMap& m) { return m.spatial && m.dim == d; });
}

LayerTensors tensors_of(const DirectiveLayer& layer) {
  LayerTensors t;
  switch (layer.kind) {
    case LayerKind::kProduct:
      return {{kM, kK}, {kK, kN}, {kM, kN}};
    case LayerKind::kDepthwise:
      t = {{kC, kY, kX}, {kC, kR, kS}, {kC, kY, kX}};
      break;
    case LayerKind::kGrouped:
      t = {{kG, kC, kY, kX}, {kG, kK, kC, kR, kS}, {kG, kK, kC, kY, kX}};
      break;
    case LayerKind::kConvolution:
      t = {{kC, kY, kX}, {kK, kC, kR, kS}, {kK, kY, kX}};
      break;
  }
  if (layer.sizes[kN] > 0) {
    t.input.insert(t.input.begin(), kN);
    t.output.insert(t.output.begin(), kN);
  }
  return t;
}

std::vector<ClusterLevel> cluster_levels(const DirectiveLayer& given, std::int64_t units) {
  const DirectiveLayer layer = with_inputs(given);
  std::vector<std::vector<LevelMap>> maps(1);
  std::vector<std::int64_t> groups;
  std::int64_t grouped = 1;
  for (const Directive& d : layer.dataflow) {
    if (d.kind == Directive::Kind::kCluster) {
      groups.push_back(d.size);
      grouped = std::min(grouped * d.size, units + 1);
      maps.emplace_back();
    } else {
      maps.back().push_back({d.dim, d.kind == Directive::Kind::kSpatialMap, d.size, d.offset});
    }
  }
  if (grouped > units) {
    throw InputError(
        fmt::format("dataflow of {}: its clusters need more than the {} units", layer.name, units));
  }
  if (maps.size() > kMostLevels) {
    throw InputError(fmt::format("dataflow of {}: {} levels, expected at most {}", layer.name,
                                 maps.size(), kMostLevels));
  }
  std::vector<ClusterLevel> levels;
  for (std::size_t i = 0; i < maps.size(); ++i) {
    levels.push_back(complete(layer, std::move(maps[i]), i > 0 ? &levels[i - 1] : nullptr, i));
    ClusterLevel& level = levels.back();
    level.clusters = i == 0 ? units / grouped : groups[i - 1];
    const LevelMap& m = spatial_map(level, layer, i);
    level.last_clusters = clusters_in_last_step(level.clusters, m, level.sizes[m.dim]);
    fill_held(layer, level);
  }
  return levels;
}

}  // namespace orrery
