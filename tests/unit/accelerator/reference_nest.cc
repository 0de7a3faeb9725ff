#include "tests/unit/accelerator/reference_nest.h"

#include <algorithm>
#include <map>
#include <set>

namespace orrery {
namespace {

using Element = std::vector<std::int64_t>;

// A request for an element, which nobody has written before it is `fresh`.
struct Request {
  Element element;
  bool fresh = false;
  bool operator==(const Request&) const = default;
};

// Requests of a part of the nest to the holder outside of it.
struct Stream {
  std::vector<Request> fetched;
  std::vector<Element> written;
  bool operator==(const Stream&) const = default;
};

class Walk {
 public:
  Walk(const Einsum& einsum, const Chip& chip, const Mapping& mapping, int tensor)
      : einsum_(einsum),
        chip_(chip),
        tensor_(tensor),
        about_(einsum.tensors[static_cast<std::size_t>(tensor)]) {
    place(mapping);
    inside_.assign(nest_.size(), 1);
    std::vector<std::int64_t> extents(einsum.dims.size(), 1);
    for (std::size_t i = nest_.size(); i-- > 0;) {
      if (nest_[i].hold()) continue;
      std::int64_t& extent = extents[static_cast<std::size_t>(nest_[i].index)];
      inside_[i] = extent;
      extent *= nest_[i].size;
    }
    origin_.assign(einsum.dims.size(), 0);
  }

  void run() { body(0, {}); }
  const std::map<std::size_t, WalkedHolder>& holders() const { return holders_; }
  const std::map<std::size_t, double>& fetches() const { return fetches_; }

 private:
  bool own(const MappingNode& n) const { return n.hold() && n.index == tensor_; }

  // The nest of this tensor: loops in space rise to the last holder above their array.
  void place(const Mapping& mapping) {
    std::vector<MappingNode> rest;
    for (const MappingNode& n : mapping.nodes) {
      if (own(n) || n.time()) rest.push_back(n);
    }
    for (auto n = mapping.nodes.rbegin(); n != mapping.nodes.rend(); ++n) {
      if (!n->space()) continue;
      std::size_t at = 0;
      for (std::size_t i = 0; i < rest.size(); ++i) {
        if (own(rest[i]) && rest[i].level <= n->level) at = i + 1;
      }
      rest.insert(rest.begin() + static_cast<std::ptrdiff_t>(at), *n);
    }
    nest_ = rest;
  }

  Element here() const {
    Element e;
    for (const std::vector<IndexTerm>& rank : about_.ranks) {
      std::int64_t at = 0;
      for (const IndexTerm& t : rank) {
        at += t.coefficient * origin_[static_cast<std::size_t>(t.dim)];
      }
      e.push_back(at);
    }
    return e;
  }

  bool shares(const MappingNode& loop) const {
    const ArrayAxis& axis = chip_.levels[static_cast<std::size_t>(loop.level)].array[loop.axis];
    if (!axis.shared) return true;
    return std::any_of(axis.shared->begin(), axis.shared->end(),
                       [&](const std::string& name) { return is_about(name, about_); });
  }

  Stream body(std::size_t i, std::vector<std::int64_t> unit) {
    if (i == nest_.size()) return point();
    const MappingNode& n = nest_[i];
    if (n.hold()) return holder(i, unit);
    return n.time() ? in_time(i, unit) : in_space(i, unit);
  }

  Stream point() {
    Stream s;
    for (std::size_t d = 0; d < origin_.size(); ++d) {
      if (origin_[d] >= einsum_.sizes[d]) return s;
    }
    const Element e = here();
    s.fetched.push_back({e, about_.output && written_.count(e) == 0});
    if (about_.output) {
      s.written.push_back(e);
      written_.insert(e);
    }
    return s;
  }

  static void append(Stream& all, const Stream& more) {
    all.fetched.insert(all.fetched.end(), more.fetched.begin(), more.fetched.end());
    all.written.insert(all.written.end(), more.written.begin(), more.written.end());
  }

  Stream in_time(std::size_t i, const std::vector<std::int64_t>& unit) {
    const std::size_t d = static_cast<std::size_t>(nest_[i].index);
    Stream all;
    for (std::int64_t k = 0; k < nest_[i].size; ++k) {
      append(all, body(i + 1, unit));
      origin_[d] += inside_[i];
    }
    origin_[d] -= nest_[i].size * inside_[i];
    return all;
  }

  Stream in_space(std::size_t i, std::vector<std::int64_t> unit) {
    const std::size_t d = static_cast<std::size_t>(nest_[i].index);
    const std::set<Element> before = written_;
    std::set<Element> after = written_;
    std::vector<Stream> streams;
    unit.push_back(0);
    for (std::int64_t k = 0; k < nest_[i].size; ++k) {
      written_ = before;  // instances run at once
      unit.back() = k;
      streams.push_back(body(i + 1, unit));
      after.insert(written_.begin(), written_.end());
      origin_[d] += inside_[i];
    }
    origin_[d] -= nest_[i].size * inside_[i];
    written_ = after;
    const bool alike = std::all_of(streams.begin(), streams.end(),
                                   [&](const Stream& s) { return s == streams.front(); });
    if (alike && shares(nest_[i])) return streams.front();
    Stream all;
    for (const Stream& s : streams) append(all, s);
    return all;
  }

  Stream holder(std::size_t i, const std::vector<std::int64_t>& unit) {
    const std::set<Element> before = written_;
    const Stream child = body(i + 1, unit);
    WalkedHolder& h = holders_[i];
    h.level = nest_[i].level;
    for (const Request& r : child.fetched) h.reads += r.fresh ? 0 : 1;
    h.writes += real(child.written.size());
    if (i == first_holder()) return {};
    std::set<Element> tile;
    for (const Request& r : child.fetched) tile.insert(r.element);
    std::set<Element>& kept = kept_[{i, unit}];
    Stream up;
    for (const Element& e : tile) {
      const bool fresh = about_.output && before.count(e) == 0;
      up.fetched.push_back({e, fresh});
      h.writes += fresh ? 0 : 1;
      fetches_[i] += kept.count(e) == 0 ? 1 : 0;
      if (!about_.output) continue;
      h.reads += 1;  // written back
      up.written.push_back(e);
    }
    kept = tile;
    return up;
  }

  std::size_t first_holder() const {
    std::size_t i = 0;
    while (!nest_[i].hold()) ++i;
    return i;
  }

  const Einsum& einsum_;
  const Chip& chip_;
  int tensor_;
  const EinsumTensor& about_;
  std::vector<MappingNode> nest_;
  std::vector<std::int64_t> inside_;  // of each loop: the step of an iteration
  std::vector<std::int64_t> origin_;  // of the body, in each dimension
  std::set<Element> written_;
  std::map<std::size_t, WalkedHolder> holders_;
  std::map<std::size_t, double> fetches_;
  std::map<std::pair<std::size_t, std::vector<std::int64_t>>, std::set<Element>> kept_;
};

}  // namespace

std::vector<WalkedHolder> walk_holders(const Einsum& einsum, const Chip& chip,
                                       const Mapping& mapping, int tensor) {
  Walk walk(einsum, chip, mapping, tensor);
  walk.run();
  std::vector<WalkedHolder> all;
  for (const auto& [at, h] : walk.holders()) all.push_back(h);
  return all;
}

std::vector<double> walk_fetches(const Einsum& einsum, const Chip& chip, const Mapping& mapping,
                                 int tensor) {
  Walk walk(einsum, chip, mapping, tensor);
  walk.run();
  std::vector<double> all;
  for (const auto& [at, h] : walk.holders()) {
    const auto found = walk.fetches().find(at);
    all.push_back(found == walk.fetches().end() ? 0 : found->second);
  }
  return all;
}

double walk_steps(const Einsum& einsum, const Mapping& mapping) {
  // The points of every loop, and the time at which each point of the problem is computed.
  std::set<std::vector<std::int64_t>> times;
  const std::vector<MappingNode>& nodes = mapping.nodes;
  std::vector<std::int64_t> at(nodes.size(), 0);
  while (true) {
    std::vector<std::int64_t> origin(einsum.dims.size(), 0), time;
    std::vector<std::int64_t> extents(einsum.dims.size(), 1);
    for (std::size_t i = nodes.size(); i-- > 0;) {
      if (nodes[i].hold()) continue;
      const std::size_t d = static_cast<std::size_t>(nodes[i].index);
      origin[d] += at[i] * extents[d];
      extents[d] *= nodes[i].size;
      if (nodes[i].time()) time.push_back(at[i]);
    }
    bool inside = true;
    for (std::size_t d = 0; d < origin.size(); ++d) inside = inside && origin[d] < einsum.sizes[d];
    if (inside) times.insert(time);
    std::size_t i = 0;
    while (i < nodes.size() && (nodes[i].hold() || ++at[i] == nodes[i].size)) at[i++] = 0;
    if (i == nodes.size()) return real(times.size());
  }
}

}  // namespace orrery
