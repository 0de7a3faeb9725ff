// Two priority queues of times (seconds): one in which every item stands at most once and can be
// moved, one to which items are only added. Equal times come out in an order that depends on the
// calls alone.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace orrery {

// Items 0 .. size-1; a binary heap that knows where each item stands.
class IndexedTimes {
 public:
  void resize(std::size_t items) { place_.assign(items, -1), time_.assign(items, 0); }

  // The earliest time; infinity when empty.
  double next() const {
    return heap_.empty() ? std::numeric_limits<double>::infinity() : time_[at(heap_[0])];
  }

  // Adds the item, or moves it to another time.
  void set(std::int32_t item, double time) {
    time_[at(item)] = time;
    if (place_[at(item)] < 0) {
      place_[at(item)] = static_cast<std::int32_t>(heap_.size());
      heap_.push_back(item);
    }
    down(up(place_[at(item)]));
  }

  // Removes and returns the item with the earliest time. REQUIRES not empty.
  std::int32_t pop() {
    const std::int32_t item = heap_[0];
    place_[at(item)] = -1;
    const std::int32_t last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) {
      heap_[0] = last;
      place_[at(last)] = 0;
      down(0);
    }
    return item;
  }

  // Adds to all times.
  void shift(double by) {
    for (std::int32_t item : heap_) time_[at(item)] += by;
  }

 private:
  static std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }
  bool before(std::int32_t a, std::int32_t b) const {
    return time_[at(a)] != time_[at(b)] ? time_[at(a)] < time_[at(b)] : a < b;
  }
  void swap(std::int32_t i, std::int32_t j) {
    std::swap(heap_[at(i)], heap_[at(j)]);
    place_[at(heap_[at(i)])] = i;
    place_[at(heap_[at(j)])] = j;
  }
  std::int32_t up(std::int32_t i) {
    while (i > 0 && before(heap_[at(i)], heap_[at((i - 1) / 2)])) {
      swap(i, (i - 1) / 2);
      i = (i - 1) / 2;
    }
    return i;
  }
  void down(std::int32_t i) {
    const auto size = static_cast<std::int32_t>(heap_.size());
    for (;;) {
      std::int32_t least = i;
      for (std::int32_t child = 2 * i + 1; child <= 2 * i + 2 && child < size; ++child) {
        if (before(heap_[at(child)], heap_[at(least)])) least = child;
      }
      if (least == i) return;
      swap(i, least);
      i = least;
    }
  }

  std::vector<std::int32_t> heap_, place_;
  std::vector<double> time_;
};

// Items may stand in it several times.
class TimedHeap {
 public:
  struct Entry {
    double time = 0;
    std::int64_t number = 0;  // of the push
    std::int32_t what = 0;
  };

  double next() const {
    return heap_.empty() ? std::numeric_limits<double>::infinity() : heap_.front().time;
  }
  void push(double time, std::int32_t what) {
    heap_.push_back({time, pushes_++, what});
    std::push_heap(heap_.begin(), heap_.end(), later);
  }
  std::int32_t pop() {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    const std::int32_t what = heap_.back().what;
    heap_.pop_back();
    return what;
  }
  void shift(double by) {
    for (Entry& e : heap_) e.time += by;
  }
  const std::vector<Entry>& all() const { return heap_; }

 private:
  static bool later(const Entry& a, const Entry& b) {
    return a.time != b.time ? a.time > b.time : a.number > b.number;
  }
  std::vector<Entry> heap_;
  std::int64_t pushes_ = 0;
};

}  // namespace orrery
