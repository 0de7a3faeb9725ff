// A histogram of times, for quantiles of very many of them. Buckets are 1/256 of an octave wide, so
// that a quantile is within 0.14 % of the exact one.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "orrery/serving/engine/replica.h"

namespace orrery {

class GapHistogram {
 public:
  void add(SimTime gap, std::int64_t times = 1) {
    const std::size_t i = bucket(gap.ps);
    if (i >= counts_.size()) counts_.resize(i + 1);
    counts_[i] += times;
    count_ += times;
    sum_ += static_cast<Sum>(gap.ps) * times;
    if (gap > largest_) largest_ = gap;
  }

  // `each` times each of `gaps`.
  void add(const TokenGaps& gaps, std::int64_t each) {
    if (gaps.each.empty()) return;
    sum_ += static_cast<Sum>(gaps.sum.ps) * each;
    const auto steps = static_cast<std::int64_t>(gaps.each.size());
    count_ += steps * each;
    if (gaps.most > largest_) largest_ = gaps.most;
    // Gaps that follow each other mostly fall into one bucket.
    std::size_t i = bucket(gaps.most.ps);
    if (i >= counts_.size()) counts_.resize(i + 1);
    if (bucket(gaps.least.ps) == i) {
      counts_[i] += steps * each;
      return;
    }
    std::int64_t least = 0, beyond = 0, in_bucket = 0;
    for (const SimTime gap : gaps.each) {
      if (gap.ps < least || gap.ps >= beyond) {
        if (in_bucket > 0) counts_[i] += std::exchange(in_bucket, 0) * each;
        i = bucket(gap.ps);
        const auto scale = static_cast<int>(i >> kBits);
        least = static_cast<std::int64_t>((i & kMantissa) + kMantissa + 1) << scale;
        beyond = least + (std::int64_t{1} << scale);
      }
      ++in_bucket;
    }
    if (in_bucket > 0) counts_[i] += in_bucket * each;
  }

  // `times` gaps, the first of which is `gap` and each next one `growth` longer. REQUIRES growth at
  // least 0.
  void add_rising(SimTime gap, SimTime growth, std::int64_t times) {
    if (growth == SimTime{}) return add(gap, times);
    if (times == 0) return;
    const SimTime last = gap + growth * (times - 1);
    count_ += times;
    sum_ += (static_cast<Sum>(gap.ps) + last.ps) * times / 2;
    if (last > largest_) largest_ = last;
    if (bucket(last.ps) >= counts_.size()) counts_.resize(bucket(last.ps) + 1);
    for (std::int64_t ps = gap.ps, left = times; left > 0;) {
      const std::size_t i = bucket(ps);
      const std::int64_t in_bucket = std::min(left, (limit(i) - ps - 1) / growth.ps + 1);
      counts_[i] += in_bucket;
      left -= in_bucket;
      ps += in_bucket * growth.ps;
    }
  }

  void add(const TokensInTurn& all) {
    add_rising(all.gap, all.growth, static_cast<std::int64_t>(all.of.size()));
  }

  bool operator==(const GapHistogram&) const = default;

  void add(const GapHistogram& other) {
    if (other.counts_.size() > counts_.size()) counts_.resize(other.counts_.size());
    for (std::size_t i = 0; i < other.counts_.size(); ++i) counts_[i] += other.counts_[i];
    count_ += other.count_;
    sum_ += other.sum_;
    if (other.largest_ > largest_) largest_ = other.largest_;
  }

  std::int64_t count() const { return count_; }
  Seconds mean() const {
    return Seconds(count_ > 0 ? static_cast<double>(sum_) / static_cast<double>(count_) * 1e-12
                              : 0);
  }
  Seconds largest() const { return largest_.time(); }

  // The quantile at probability p, 0 to 1. 0 if there are no times.
  Seconds quantile(double p) const {
    const double rank = p * static_cast<double>(count_ - 1);
    double before = 0;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      before += static_cast<double>(counts_[i]);
      if (before > rank) return std::min(Seconds(middle(i)), largest());
    }
    return largest();
  }

 private:
  static constexpr int kBits = 8;  // bits of the mantissa that choose a bucket
  static constexpr std::size_t kMantissa = (std::size_t{1} << kBits) - 1;
  static std::size_t bucket(std::int64_t ps) {
    const auto x = static_cast<std::uint64_t>(ps < (1 << kBits) ? (1 << kBits) : ps);
    const int octave = 63 - __builtin_clzll(x);
    return (static_cast<std::size_t>(octave - kBits) << kBits) |
           static_cast<std::size_t>((x >> (octave - kBits)) & ((1u << kBits) - 1));
  }
  // The least time above those of the bucket, in ps.
  static std::int64_t limit(std::size_t i) {
    return static_cast<std::int64_t>((i & kMantissa) + kMantissa + 2) << (i >> kBits);
  }
  static double middle(std::size_t i) {
    const int octave = static_cast<int>(i >> kBits);
    const double mantissa = static_cast<double>((i & ((1u << kBits) - 1)) + (1u << kBits)) + 0.5;
    return std::ldexp(mantissa, octave) * 1e-12;
  }

  std::vector<std::int64_t> counts_;
  std::int64_t count_ = 0;
  using Sum = __int128;  // exact
  Sum sum_ = 0;          // ps
  SimTime largest_;
};

}  // namespace orrery
