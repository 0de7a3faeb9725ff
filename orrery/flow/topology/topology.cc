#include "orrery/flow/topology/topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "orrery/base/error.h"
#include "orrery/base/index.h"

namespace orrery {
namespace {

// Sorts the links by one end (counting sort).
void group_links(const std::vector<Link>& links, VertexId Link::* end, std::size_t vertices,
                 std::vector<std::int32_t>& begin, std::vector<LinkId>& sorted) {
  begin.assign(vertices + 1, 0);
  for (const Link& l : links) ++begin[index(l.*end) + 1];
  for (std::size_t v = 0; v < vertices; ++v) begin[v + 1] += begin[v];
  sorted.resize(links.size());
  std::vector<std::int32_t> next(begin.begin(), begin.end() - 1);
  for (std::size_t i = 0; i < links.size(); ++i) {
    const auto v = static_cast<std::size_t>(links[i].*end);
    sorted[index(next[v]++)] = static_cast<LinkId>(i);
  }
}

}  // namespace

Topology::Topology(std::string name, int gpus, std::vector<std::string> names,
                   std::vector<Link> links, Router router)
    : name_(std::move(name)),
      gpus_(gpus),
      names_(std::move(names)),
      links_(std::move(links)),
      router_(std::move(router)) {
  if (gpus_ < 1) throw InputError(fmt::format("a topology needs at least one GPU, got {}", gpus_));
  if (links_.size() > kMostLinks) {
    throw InputError(
        fmt::format("topology '{}' has {} links, more than {}", name_, links_.size(), kMostLinks));
  }
  const auto count = static_cast<VertexId>(vertices());
  for (std::size_t i = 0; i < links_.size(); ++i) {
    const Link& l = links_[i];
    if (l.from < 0 || l.from >= count || l.to < 0 || l.to >= count || l.from == l.to) {
      throw InputError(fmt::format("topology '{}': link {} does not join two vertices", name_, i));
    }
    if (!(l.bandwidth > BytesPerSecond(0)) || !std::isfinite(l.bandwidth.value())) {
      throw InputError(
          fmt::format("topology '{}': link {} has a bandwidth of {} B/s; it must be "
                      "above zero",
                      name_, link_name(static_cast<LinkId>(i)), l.bandwidth.value()));
    }
    if (!(l.latency >= Seconds(0)) || !std::isfinite(l.latency.value())) {
      throw InputError(fmt::format("topology '{}': link {} has a latency of {} s", name_,
                                   link_name(static_cast<LinkId>(i)), l.latency.value()));
    }
  }
  sort_links();
}

void Topology::sort_links() {
  group_links(links_, &Link::to, vertices(), in_begin_, in_links_);
  group_links(links_, &Link::from, vertices(), out_begin_, out_links_);
}

std::string Topology::vertex_name(VertexId v) const {
  return v < gpus_ ? fmt::format("gpu{}", v) : names_[index(v - gpus_)];
}

std::string Topology::link_name(LinkId link) const {
  const Link& l = links_[index(link)];
  return fmt::format("{}->{}", vertex_name(l.from), vertex_name(l.to));
}

VertexId Topology::vertex(std::string_view name) const {
  if (name.starts_with("gpu")) {
    int number = -1;
    const char* end = name.data() + name.size();
    const auto [stop, error] = std::from_chars(name.data() + 3, end, number);
    if (error == std::errc() && stop == end && number >= 0 && number < gpus_) return number;
  }
  const auto it = std::find(names_.begin(), names_.end(), name);
  if (it != names_.end()) return gpus_ + static_cast<VertexId>(it - names_.begin());
  throw InputError(fmt::format("topology '{}' has no '{}'{}; its GPUs are gpu0 to gpu{}", name_,
                               name, did_you_mean(name, names_), gpus_ - 1));
}

std::vector<LinkId> Topology::find(std::string_view text) const {
  std::string_view first = text, second;
  bool one_way = false;
  // A name may contain '-', so an arrow is searched first, then the '-' between two names.
  if (const auto arrow = text.find("->"); arrow != text.npos) {
    first = text.substr(0, arrow), second = text.substr(arrow + 2);
    one_way = true;
  } else if (std::find(names_.begin(), names_.end(), text) == names_.end()) {
    if (const auto dash = text.find('-'); dash != text.npos) {
      first = text.substr(0, dash), second = text.substr(dash + 1);
    }
  }
  const VertexId a = vertex(first);
  const VertexId b = second.empty() ? -1 : vertex(second);
  std::vector<LinkId> found;
  for (std::size_t i = 0; i < links_.size(); ++i) {
    const Link& l = links_[i];
    const bool forth = l.from == a && (b < 0 || l.to == b);
    const bool back = !one_way && l.to == a && (b < 0 || l.from == b);
    if (forth || back) found.push_back(static_cast<LinkId>(i));
  }
  if (found.empty()) {
    throw InputError(fmt::format("topology '{}' has no link '{}'", name_, text));
  }
  return found;
}

void Topology::degrade(std::string_view text, double factor) {
  if (!(factor >= 0) || !(factor <= 1)) {
    throw InputError(
        fmt::format("link '{}': the factor must be between 0 and 1, got {}", text, factor));
  }
  for (LinkId id : find(text)) links_[index(id)].bandwidth *= factor;
  damaged_ = damaged_ || factor == 0;
}

void Topology::scale(double factor) {
  for (Link& l : links_) l.bandwidth *= factor;
}

bool Topology::intact(const std::vector<LinkId>& path, std::size_t first) const {
  return std::all_of(path.begin() + static_cast<std::ptrdiff_t>(first), path.end(),
                     [&](LinkId l) { return links_[index(l)].bandwidth > BytesPerSecond(0); });
}

void Topology::route(int from, int to, std::vector<LinkId>& path) const {
  if (from < 0 || from >= gpus_ || to < 0 || to >= gpus_) {
    throw InputError(fmt::format("topology '{}' has GPUs 0 to {}, not {}", name_, gpus_ - 1,
                                 from < 0 || from >= gpus_ ? from : to));
  }
  if (from == to) return;
  const std::size_t first = path.size();
  if (router_) {
    router_(from, to, path);
    if (!damaged_ || intact(path, first)) return;
    path.resize(first);
  }
  if (!search(from, to, path)) {
    throw InputError(fmt::format("topology '{}': no path from gpu{} to gpu{}", name_, from, to));
  }
}

bool Topology::search(int from, int to, std::vector<LinkId>& path) const {
  // Breadth first from the receiver, along the links backwards, for the distances; then along
  // falling distances from the sender.
  std::vector<std::int32_t> distance(vertices(), -1);
  std::vector<VertexId> queue{to};
  distance[index(to)] = 0;
  const auto works = [&](LinkId l) { return links_[index(l)].bandwidth > BytesPerSecond(0); };
  for (std::size_t head = 0; head < queue.size(); ++head) {
    const auto v = static_cast<std::size_t>(queue[head]);
    if (queue[head] == from) break;
    for (auto i = in_begin_[v]; i < in_begin_[v + 1]; ++i) {
      const LinkId id = in_links_[index(i)];
      const auto u = static_cast<std::size_t>(links_[index(id)].from);
      if (!works(id) || distance[u] >= 0) continue;
      distance[u] = distance[v] + 1;
      queue.push_back(static_cast<VertexId>(u));
    }
  }
  auto v = static_cast<std::size_t>(from);
  if (distance[v] < 0) return false;
  std::vector<LinkId> candidates;
  while (distance[v] > 0) {
    candidates.clear();
    for (auto i = out_begin_[v]; i < out_begin_[v + 1]; ++i) {
      const LinkId id = out_links_[index(i)];
      const auto u = static_cast<std::size_t>(links_[index(id)].to);
      if (works(id) && distance[u] == distance[v] - 1) candidates.push_back(id);
    }
    const LinkId id = candidates[index(to) % candidates.size()];
    path.push_back(id);
    v = static_cast<std::size_t>(links_[index(id)].to);
  }
  return true;
}

}  // namespace orrery
