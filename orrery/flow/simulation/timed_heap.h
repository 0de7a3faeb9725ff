// Two priority queues of times (seconds): one in which an item occurs at most once and can be
// moved, one for events a fixed delay after now. The order of equal times depends on the calls
// alone.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "orrery/base/index.h"

namespace orrery {

// A queue of the items 0 .. size-1, each at most once; any item's time can change. Of equal times
// the smaller item comes first. It is a heap with four children a node that knows the place of each
// item.
class IndexedTimes {
 public:
  void resize(std::size_t items) { place_.assign(items, -1), heap_.clear(); }

  // The earliest time; infinity when empty.
  double next() const {
    return heap_.empty() ? std::numeric_limits<double>::infinity() : heap_.front().time;
  }

  // Adds the item, or moves it to another time.
  void set(std::int32_t item, double time) {
    std::size_t at = heap_.size();
    if (place_[index(item)] < 0) {
      heap_.push_back({time, item});
    } else {
      at = index(place_[index(item)]);
    }
    down(up(at, {time, item}), {time, item});
  }

  // Removes and returns the item with the earliest time. REQUIRES not empty.
  std::int32_t pop() {
    const std::int32_t item = heap_.front().item;
    place_[index(item)] = -1;
    const Entry last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) down(0, last);
    return item;
  }

  // Adds `by` to all times.
  void shift(double by) {
    for (Entry& e : heap_) e.time += by;
  }

 private:
  struct Entry {
    double time = 0;
    std::int32_t item = 0;
    // Without branches, which the processor could not predict.
    bool operator<(const Entry& o) const {
      return static_cast<bool>(static_cast<int>(time < o.time) | (static_cast<int>(time == o.time) &
                                                                  static_cast<int>(item < o.item)));
    }
  };
  void put(std::size_t at, const Entry& e) {
    heap_[at] = e;
    place_[index(e.item)] = static_cast<std::int32_t>(at);
  }
  // Moves the hole at `at` towards the root (up) or the leaves (down) to the place of e.
  std::size_t up(std::size_t at, const Entry& e) {
    for (; at > 0 && e < heap_[(at - 1) / 4]; at = (at - 1) / 4) put(at, heap_[(at - 1) / 4]);
    put(at, e);
    return at;
  }
  void down(std::size_t at, const Entry& e) {
    const std::size_t size = heap_.size();
    for (std::size_t child = 4 * at + 1; child < size; child = 4 * at + 1) {
      std::size_t least = child;
      const std::size_t end = std::min(child + 4, size);
      for (++child; child < end; ++child) least = heap_[child] < heap_[least] ? child : least;
      if (!(heap_[least] < e)) break;
      put(at, heap_[least]);
      at = least;
    }
    put(at, e);
  }

  std::vector<Entry> heap_;
  std::vector<std::int32_t> place_;
};

// A queue of events that happen a fixed delay after they are pushed, for a few different delays.
// Each delay has a lane, in which the events are in order. Of equal times the first pushed comes
// first.
class DelayLanes {
 public:
  // The lane of a delay.
  std::int32_t lane(double delay) {
    const auto [at, fresh] = lane_of_.try_emplace(delay, static_cast<std::int32_t>(lanes_.size()));
    if (fresh) lanes_.emplace_back();
    return at->second;
  }

  double next() const {
    return heads_.empty() ? std::numeric_limits<double>::infinity() : heads_.front().time;
  }
  // Adds the event `what` at `time`: the lane's delay after now. Now never goes back.
  void push(std::int32_t lane, double time, std::int32_t what) {
    Lane& l = lanes_[index(lane)];
    l.entries.push_back({time, pushes_++, what});
    ++size_;
    std::size_t at = l.entries.size() - 1;
    // Rounding after a shift can put the event before the last ones.
    for (; at > l.first && l.entries[at - 1].time > time; --at)
      std::swap(l.entries[at], l.entries[at - 1]);
    if (at > l.first) return;
    if (l.entries.size() - l.first == 1) {
      heads_.push_back({});
      raise(heads_.size() - 1, {time, l.entries[at].number, lane});
    } else {
      renew_heads();
    }
  }
  std::int32_t pop() {
    Lane& l = lanes_[index(heads_.front().lane)];
    const std::int32_t what = l.entries[l.first++].what;
    --size_;
    if (l.first < l.entries.size()) {
      const Entry& next = l.entries[l.first];
      lower({next.time, next.number, heads_.front().lane});
      // The room at the front is reclaimed when it is most of the lane.
      if (l.first >= 64 && 2 * l.first >= l.entries.size()) l.drop_first();
    } else {
      l.drop_first();
      const Head last = heads_.back();
      heads_.pop_back();
      if (!heads_.empty()) lower(last);
    }
    return what;
  }
  void shift(double by) {
    for (Lane& l : lanes_) {
      for (std::size_t i = l.first; i < l.entries.size(); ++i) l.entries[i].time += by;
    }
    renew_heads();
  }
  std::size_t size() const { return size_; }
  // Calls visit(what, time) for each event, in no particular order.
  template <class Visit>
  void each(Visit visit) const {
    for (const Lane& l : lanes_) {
      for (std::size_t i = l.first; i < l.entries.size(); ++i)
        visit(l.entries[i].what, l.entries[i].time);
    }
  }

 private:
  struct Entry {
    double time = 0;
    std::int64_t number = 0;  // of the push
    std::int32_t what = 0;
  };
  struct Lane {
    std::vector<Entry> entries;
    std::size_t first = 0;
    void drop_first() {
      entries.erase(entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(first));
      first = 0;
    }
  };
  struct Head {
    double time = 0;
    std::int64_t number = 0;
    std::int32_t lane = 0;
    bool operator<(const Head& o) const {
      return time != o.time ? time < o.time : number < o.number;
    }
  };
  // The heads form a binary heap of the lanes that are not empty. h takes the place of a leaf
  // (raise) or of the root (lower).
  void raise(std::size_t at, const Head& h) {
    for (; at > 0 && h < heads_[(at - 1) / 2]; at = (at - 1) / 2) heads_[at] = heads_[(at - 1) / 2];
    heads_[at] = h;
  }
  void lower(const Head& h) {
    std::size_t at = 0;
    for (std::size_t child = 1; child < heads_.size(); child = 2 * at + 1) {
      if (child + 1 < heads_.size() && heads_[child + 1] < heads_[child]) ++child;
      if (!(heads_[child] < h)) break;
      heads_[at] = heads_[child];
      at = child;
    }
    heads_[at] = h;
  }
  void renew_heads() {
    heads_.clear();
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      const Lane& l = lanes_[i];
      if (l.first == l.entries.size()) continue;
      heads_.push_back({});
      raise(heads_.size() - 1,
            {l.entries[l.first].time, l.entries[l.first].number, static_cast<std::int32_t>(i)});
    }
  }

  std::vector<Lane> lanes_;
  std::vector<Head> heads_;
  std::unordered_map<double, std::int32_t> lane_of_;
  std::int64_t pushes_ = 0;
  std::size_t size_ = 0;
};

}  // namespace orrery
