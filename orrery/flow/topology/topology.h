// A network as a graph: GPUs, switches and directed links, with the path that a message takes.
//
//   Topology t =
//       dimensions_topology({{Wiring::kRing, 16, BytesPerSecond(100e9), microseconds(1)}});
//   std::vector<LinkId> path;
//   t.route(0, 5, path);                  // the links in the order of travel
//   t.degrade("gpu3-gpu4", 0.5);          // both directions at half speed; 0: failed
//
// Vertices 0 .. gpus()-1 are the GPUs in the order of ranks; switches follow. A link has one
// direction; a cable is two links. The builders (topology_build.h, topology_file.h) provide a
// router that computes the usual path from the structure (up and down a tree, dimension by
// dimension in a torus) in time proportional to its length. If a link of that path has failed, and
// in graphs without structure, the path is a shortest one by number of links over the remaining
// links. The receiver's number chooses among equal ones, as in destination-based routing. GPUs
// forward messages if the path leads through them (xGMI and NVLink meshes, tori, and NCCL's PXN
// between rails).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/units.h"

namespace orrery {

using LinkId = std::int32_t;
using VertexId = std::int32_t;

struct Link {
  VertexId from = 0, to = 0;
  BytesPerSecond bandwidth;  // 0: failed
  Seconds latency;           // from the last byte sent to the last byte received
};

class Topology {
 public:
  // Appends the links of the path from one GPU to another. REQUIRES a pure function of its
  // arguments.
  using Router = std::function<void(int from, int to, std::vector<LinkId>& path)>;

  // `names`: of the vertices after the GPUs, each once. Without a router, paths are searched.
  // InputError: gpus < 1, a bandwidth or latency that is negative or not finite, a bandwidth of
  // zero (links fail by degrade), more than kMostLinks links.
  Topology(std::string name, int gpus, std::vector<std::string> names, std::vector<Link> links,
           Router router = {});

  static constexpr std::size_t kMostLinks = 4'000'000;

  const std::string& name() const { return name_; }
  int gpus() const { return gpus_; }
  const std::vector<Link>& links() const { return links_; }
  std::size_t vertices() const { return static_cast<std::size_t>(gpus_) + names_.size(); }

  // Names for messages: "gpu5", "leaf2"; "gpu5->leaf2".
  std::string vertex_name(VertexId v) const;
  std::string link_name(LinkId link) const;

  // The links that `text` names: "a->b" the links from a to b, "a-b" both directions, "a" all links
  // from or to a. InputError, with the nearest name, if there is none.
  std::vector<LinkId> find(std::string_view text) const;

  // Multiplies the bandwidth of the links that `text` names; a factor of 0 fails them. InputError:
  // as find, or a factor outside [0, 1].
  void degrade(std::string_view text, double factor);

  // Multiplies the bandwidth of all links. REQUIRES factor > 0.
  void scale(double factor);

  // Appends the path from one GPU to another; nothing if they are the same. InputError: no such
  // GPU, or no path is left.
  void route(int from, int to, std::vector<LinkId>& path) const;

 private:
  VertexId vertex(std::string_view name) const;
  bool intact(const std::vector<LinkId>& path, std::size_t first) const;
  bool search(int from, int to, std::vector<LinkId>& path) const;
  // Lists the links of every vertex, for searches.
  void sort_links();

  std::string name_;
  int gpus_;
  std::vector<std::string> names_;
  std::vector<Link> links_;
  Router router_;
  bool damaged_ = false;
  std::vector<std::int32_t> in_begin_, out_begin_;  // first of each vertex in in_links_, out_links_
  std::vector<LinkId> in_links_, out_links_;
};

}  // namespace orrery
