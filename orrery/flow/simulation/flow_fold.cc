#include "orrery/flow/simulation/flow_fold.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <optional>
#include <span>

#include "orrery/base/error.h"
#include "orrery/base/index.h"
#include "orrery/flow/simulation/colour_refinement.h"

namespace orrery {
namespace {

std::uint64_t mix(std::uint64_t x) {  // splitmix64's finaliser
  x += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}
std::uint64_t mix(std::uint64_t a, std::uint64_t b) { return mix(mix(a) ^ b); }
std::uint64_t bits(double x) { return std::bit_cast<std::uint64_t>(x); }

// Lists of items, one for each key, in one array.
struct Grouped {
  std::vector<std::int32_t> begin, items;
  std::span<const std::int32_t> of(std::size_t key) const {
    return {items.data() + begin[key], items.data() + begin[key + 1]};
  }
};
// `for_each(visit)` calls visit(key, item) for all items, in the same order both times.
template <class ForEach>
Grouped group(std::size_t keys, ForEach for_each) {
  Grouped g;
  g.begin.assign(keys + 1, 0);
  for_each([&](std::size_t key, std::int32_t) { ++g.begin[key + 1]; });
  for (std::size_t k = 0; k < keys; ++k) g.begin[k + 1] += g.begin[k];
  g.items.resize(static_cast<std::size_t>(g.begin[keys]));
  std::vector<std::int32_t> next(g.begin.begin(), g.begin.end() - 1);
  for_each([&](std::size_t key, std::int32_t item) {
    g.items[static_cast<std::size_t>(next[key]++)] = item;
  });
  return g;
}

// The elements of the refinement are numbered: GPUs, then the links in use, then the streams of all
// patterns.
class Folder {
 public:
  Folder(const Topology& topology, const FlowProgram& program)
      : topology_(topology), program_(program), gpus_(static_cast<std::size_t>(topology.gpus())) {}

  FoldedFlows run(bool fold) {
    check();
    collect();
    initial();
    std::vector<std::int32_t> colour(size(), 0);
    if (fold) {
      for (std::size_t e = gpus_; e < size(); ++e) colour[e] = e < gpus_ + used_.size() ? 1 : 2;
      colours_.emplace(std::move(colour), 3);
      colours_->refine(*this);
    } else {
      std::iota(colour.begin(), colour.end(), 0);
      colours_.emplace(std::move(colour), static_cast<std::int32_t>(size()));
    }
    return result();
  }

  // The structure of ColourRefinement.
  std::uint64_t signature(std::size_t e) const {
    std::uint64_t sum = 0;
    if (e < gpus_) {
      for (std::int32_t s : at_gpu_.of(e)) {
        const bool out = streams_[static_cast<std::size_t>(s)]->from == static_cast<int>(e);
        sum += mix(colour_of(stream_element(s)), out ? 3 : 4);
      }
    } else if (e < gpus_ + used_.size()) {
      for (std::int32_t s : on_link_.of(e - gpus_)) sum += colour_of(stream_element(s));
    } else {
      const std::size_t s = e - gpus_ - used_.size();
      for (std::int32_t l : route(s)) sum += colour_of(link_element(l));
      sum += mix(colour_of(static_cast<std::size_t>(streams_[s]->from)), 5);
      sum += mix(colour_of(static_cast<std::size_t>(streams_[s]->to)), 6);
      const auto waits = waits_.of(s);
      for (std::size_t i = 0; i < waits.size(); i += 2) {
        sum +=
            mix(colour_of(stream_element(waits[i])), 7 + static_cast<std::uint64_t>(waits[i + 1]));
      }
    }
    return mix(sum, own_[e]);
  }

  template <class Visit>
  void neighbours(std::size_t e, Visit visit) const {
    if (e < gpus_) {
      for (std::int32_t s : at_gpu_.of(e)) visit(stream_element(s));
    } else if (e < gpus_ + used_.size()) {
      for (std::int32_t s : on_link_.of(e - gpus_)) visit(stream_element(s));
    } else {
      const std::size_t s = e - gpus_ - used_.size();
      for (std::int32_t l : route(s)) visit(link_element(l));
      visit(static_cast<std::size_t>(streams_[s]->from));
      visit(static_cast<std::size_t>(streams_[s]->to));
      for (std::int32_t w : waiters_.of(s)) visit(stream_element(w));
    }
  }

 private:
  std::size_t size() const { return gpus_ + used_.size() + streams_.size(); }
  std::size_t link_element(std::int32_t l) const { return gpus_ + static_cast<std::size_t>(l); }
  std::size_t stream_element(std::int32_t s) const {
    return gpus_ + used_.size() + static_cast<std::size_t>(s);
  }

  void check() const {
    const int patterns = static_cast<int>(program_.patterns.size());
    const auto gpu = [&](int g) {
      if (g < 0 || g >= topology_.gpus()) {
        throw InputError(fmt::format("gpu{} is not in topology '{}', which has {} GPUs", g,
                                     topology_.name(), topology_.gpus()));
      }
    };
    for (std::size_t i = 0; i < program_.ops.size(); ++i) {
      const FlowOp& op = program_.ops[i];
      if (op.pattern < -1 || op.pattern >= patterns) {
        throw InputError(
            fmt::format("operation {} runs pattern {} of {}", i, op.pattern, patterns));
      }
      if (!op.times.empty() && op.times.size() != op.gpus.size()) {
        throw InputError(fmt::format("operation {} has {} times for {} GPUs", i, op.times.size(),
                                     op.gpus.size()));
      }
      for (int g : op.gpus) gpu(g);
    }
    for (const FlowPattern& p : program_.patterns) {
      for (int g : p.members()) gpu(g);
    }
  }

  void collect() {
    std::vector<std::int32_t> number(topology_.links().size(), -1);
    std::vector<LinkId> path;
    pattern_begin_.push_back(0);
    for (const FlowPattern& p : program_.patterns) {
      for (const FlowPattern::Stream& s : p.streams()) {
        path.clear();
        topology_.route(s.from, s.to, path);
        for (LinkId l : path) {
          auto& n = number[static_cast<std::size_t>(l)];
          if (n < 0) {
            n = static_cast<std::int32_t>(used_.size());
            used_.push_back(l);
          }
          route_.push_back(n);
        }
        route_begin_.push_back(static_cast<std::int32_t>(route_.size()));
        streams_.push_back(&s);
        if (route_.size() > kMostRouteLinks) {
          throw InputError(
              "the paths of all streams are too long for the flow level; take fewer "
              "GPUs or the analytical fidelity");
        }
      }
      pattern_begin_.push_back(static_cast<std::int32_t>(streams_.size()));
    }
    on_link_ = group(used_.size(), [&](auto visit) {
      for (std::size_t s = 0; s < streams_.size(); ++s) {
        for (std::int32_t l : route(s))
          visit(static_cast<std::size_t>(l), static_cast<std::int32_t>(s));
      }
    });
    at_gpu_ = group(gpus_, [&](auto visit) {
      for (std::size_t s = 0; s < streams_.size(); ++s) {
        visit(static_cast<std::size_t>(streams_[s]->from), static_cast<std::int32_t>(s));
        visit(static_cast<std::size_t>(streams_[s]->to), static_cast<std::int32_t>(s));
      }
    });
    const auto each_wait = [&](auto visit) {
      for (std::size_t p = 0; p < program_.patterns.size(); ++p) {
        const auto& waits = program_.patterns[p].waits();
        for (std::size_t w = 0; w < waits.size(); ++w) visit(pattern_begin_[p], waits[w]);
      }
    };
    const auto index = [](std::int32_t i) { return static_cast<std::size_t>(i); };
    // The waits of a stream, as consecutive pairs (other, lag); and the streams that wait for it.
    waits_ = group(streams_.size(), [&](auto visit) {
      each_wait([&](std::int32_t base, const FlowPattern::Wait& w) {
        visit(index(base + w.stream), base + w.other);
        visit(index(base + w.stream), w.lag);
      });
    });
    waiters_ = group(streams_.size(), [&](auto visit) {
      each_wait([&](std::int32_t base, const FlowPattern::Wait& w) {
        visit(index(base + w.other), base + w.stream);
      });
    });
  }

  std::span<const std::int32_t> route(std::size_t s) const {
    return {route_.data() + route_begin_[s], route_.data() + route_begin_[s + 1]};
  }

  // Hashes each element's own properties, without those of others.
  void initial() {
    own_.assign(size(), 0);
    for (std::size_t i = 0; i < program_.ops.size(); ++i) {
      const FlowOp& op = program_.ops[i];
      if (op.pattern >= 0) continue;
      for (std::size_t k = 0; k < op.gpus.size(); ++k) {
        const Seconds t = op.times.empty() ? op.time : op.times[k];
        own_[static_cast<std::size_t>(op.gpus[k])] += mix(mix(i + 1, 1), bits(t.value()));
      }
    }
    for (std::size_t p = 0; p < program_.patterns.size(); ++p) {
      for (int g : program_.patterns[p].members()) {
        own_[static_cast<std::size_t>(g)] += mix(p + 1, 2);
      }
    }
    for (std::size_t l = 0; l < used_.size(); ++l) {
      const Link& link = topology_.links()[static_cast<std::size_t>(used_[l])];
      own_[gpus_ + l] = mix(bits(link.bandwidth.value()), bits(link.latency.value()));
    }
    for (std::size_t p = 0, s = 0; p < program_.patterns.size(); ++p) {
      for (; s < static_cast<std::size_t>(pattern_begin_[p + 1]); ++s) {
        own_[gpus_ + used_.size() + s] = mix(mix(p + 1, bits(streams_[s]->bytes.value())),
                                             static_cast<std::uint64_t>(streams_[s]->count));
      }
    }
  }

  std::uint64_t colour_of(std::size_t element) const {
    return mix(static_cast<std::uint64_t>(colours_->colour(element)));
  }

  // Numbers the classes of one kind in the order of their first members.
  std::vector<std::int32_t> renumber(std::size_t first, std::size_t count,
                                     std::vector<std::int32_t>& samples) {
    std::vector<std::int32_t> of(count);
    for (std::size_t i = 0; i < count; ++i) {
      auto& fresh = fresh_[static_cast<std::size_t>(colours_->colour(first + i))];
      if (fresh < 0) {
        fresh = static_cast<std::int32_t>(samples.size());
        samples.push_back(static_cast<std::int32_t>(i));
      }
      of[i] = fresh;
    }
    return of;
  }

  FoldedFlows result() {
    FoldedFlows f;
    fresh_.assign(static_cast<std::size_t>(colours_->colours()), -1);
    f.unfolded_streams = static_cast<std::int64_t>(streams_.size());
    f.gpu_class = renumber(0, gpus_, f.gpu_sample);
    std::vector<std::int32_t> link_sample, stream_sample;
    link_class_ = renumber(gpus_, used_.size(), link_sample);
    stream_class_ = renumber(gpus_ + used_.size(), streams_.size(), stream_sample);
    for (std::int32_t l : link_sample) {
      const LinkId id = used_[static_cast<std::size_t>(l)];
      const Link& link = topology_.links()[static_cast<std::size_t>(id)];
      f.links.push_back({id, link.bandwidth, 0});
    }
    for (std::int32_t c : link_class_) ++f.links[static_cast<std::size_t>(c)].members;
    for (std::int32_t s : stream_sample)
      f.streams.push_back(class_of(static_cast<std::size_t>(s), f.gpu_class));
    for (std::int32_t c : stream_class_) ++f.streams[static_cast<std::size_t>(c)].members;
    count_uses(link_sample, f.streams);
    list_patterns(f);
    return f;
  }

  // The class of streams that stream `s` represents, without the counts of its members and uses.
  FoldedFlows::StreamClass class_of(std::size_t s,
                                    const std::vector<std::int32_t>& gpu_class) const {
    FoldedFlows::StreamClass out;
    out.from = gpu_class[static_cast<std::size_t>(streams_[s]->from)];
    out.to = gpu_class[static_cast<std::size_t>(streams_[s]->to)];
    out.bytes = streams_[s]->bytes;
    out.count = streams_[s]->count;
    for (std::int32_t l : route(s)) {
      const std::int32_t k = link_class_[static_cast<std::size_t>(l)];
      const LinkId id = used_[static_cast<std::size_t>(l)];
      out.latency += topology_.links()[static_cast<std::size_t>(id)].latency;
      const bool known = std::any_of(out.uses.begin(), out.uses.end(),
                                     [&](const FairShare::Use& u) { return u.link == k; });
      if (!known) out.uses.push_back({k, 0});
    }
    const auto waits = waits_.of(s);
    for (std::size_t i = 0; i < waits.size(); i += 2) {
      const FoldedFlows::Wait w{stream_class_[static_cast<std::size_t>(waits[i])], waits[i + 1]};
      const bool known = std::any_of(out.waits.begin(), out.waits.end(), [&](const auto& o) {
        return o.other == w.other && o.lag == w.lag;
      });
      if (!known) out.waits.push_back(w);
    }
    return out;
  }

  // Counts how many streams of each class cross one link of a class, on the class's sample.
  void count_uses(const std::vector<std::int32_t>& link_sample,
                  std::vector<FoldedFlows::StreamClass>& classes) const {
    std::vector<std::int32_t> times(classes.size(), 0);
    for (std::size_t k = 0; k < link_sample.size(); ++k) {
      const auto on = on_link_.of(static_cast<std::size_t>(link_sample[k]));
      for (std::int32_t s : on)
        ++times[static_cast<std::size_t>(stream_class_[static_cast<std::size_t>(s)])];
      for (std::int32_t s : on) {
        const auto c = static_cast<std::size_t>(stream_class_[static_cast<std::size_t>(s)]);
        if (times[c] == 0) continue;
        for (FairShare::Use& u : classes[c].uses) {
          if (u.link == static_cast<std::int32_t>(k)) u.times = times[c];
        }
        times[c] = 0;
      }
    }
  }

  // Lists the classes of streams and of GPUs of each pattern.
  void list_patterns(FoldedFlows& f) const {
    f.first_stream.push_back(0);
    for (std::size_t p = 0; p < program_.patterns.size(); ++p) {
      auto end = f.first_stream.back();
      std::vector<std::int32_t> members;
      for (int g : program_.patterns[p].members()) {
        members.push_back(f.gpu_class[static_cast<std::size_t>(g)]);
      }
      for (auto s = pattern_begin_[p]; s < pattern_begin_[p + 1]; ++s) {
        end = std::max(end, stream_class_[static_cast<std::size_t>(s)] + 1);
      }
      for (auto c = f.first_stream.back(); c < end; ++c) {
        members.push_back(f.streams[static_cast<std::size_t>(c)].from);
        members.push_back(f.streams[static_cast<std::size_t>(c)].to);
      }
      std::sort(members.begin(), members.end());
      members.erase(std::unique(members.begin(), members.end()), members.end());
      f.members.push_back(std::move(members));
      f.first_stream.push_back(end);
    }
  }

  static constexpr std::size_t kMostRouteLinks = 400'000'000;

  const Topology& topology_;
  const FlowProgram& program_;
  std::size_t gpus_;
  std::vector<LinkId> used_;  // links that streams cross
  std::vector<const FlowPattern::Stream*> streams_;
  std::vector<std::int32_t> pattern_begin_, route_begin_{0}, route_;
  Grouped on_link_, at_gpu_, waits_, waiters_;
  std::vector<std::uint64_t> own_;
  std::optional<ColourRefinement> colours_;
  std::vector<std::int32_t>
      fresh_;  // number of each colour among the classes of its kind; -1: none yet
  std::vector<std::int32_t> link_class_, stream_class_;  // of each link in use, of each stream
};

}  // namespace

FoldedFlows fold_flows(const Topology& topology, const FlowProgram& program, bool fold) {
  return Folder(topology, program).run(fold);
}

}  // namespace orrery
