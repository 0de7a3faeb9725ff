#include "orrery/serving/requests/lengths.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include "orrery/base/error.h"
#include "orrery/base/estimate.h"
#include "orrery/base/node_builder.h"

namespace orrery {
namespace {

constexpr double kLongest = 1 << 24;
constexpr double kMostRanks = 1 << 20;  // most values of a zipf distribution

std::string_view trimmed(std::string_view s) {
  const auto first = s.find_first_not_of(' ');
  if (first == s.npos) return {};
  return s.substr(first, s.find_last_not_of(' ') - first + 1);
}

[[noreturn]] void fail(std::string_view text) {
  throw InputError(fmt::format(
      "expected lengths such as 1024, '128 | 512', uniform(128, 512), lognormal(1155, 1.1) or "
      "zipf(128, 4096, 0.6), got '{}'",
      shortened(text)));
}

std::vector<double> numbers(std::string_view list, char separator, std::string_view whole) {
  std::vector<double> out;
  while (true) {
    const auto end = list.find(separator);
    const std::string_view one = trimmed(list.substr(0, end));
    double v = 0;
    const auto [at, error] = std::from_chars(one.data(), one.data() + one.size(), v);
    if (error != std::errc() || at != one.data() + one.size() || !std::isfinite(v)) fail(whole);
    out.push_back(v);
    if (end == list.npos) return out;
    list.remove_prefix(end + 1);
  }
}

void check_length(double v, std::string_view text) {
  if (!(v >= 1 && v <= kLongest && v == std::floor(v))) {
    throw InputError(fmt::format("'{}': lengths are whole numbers of tokens from 1 to {}",
                                 shortened(text), kLongest));
  }
}

}  // namespace

Lengths Lengths::parse(std::string_view text) {
  Lengths l;
  const std::string_view t = trimmed(text);
  const auto open = t.find('(');
  if (open == t.npos) {
    l.values_ = numbers(t, '|', text);
    for (double v : l.values_) check_length(v, text);
    return l;
  }
  if (t.back() != ')') fail(text);
  const std::string_view name = trimmed(t.substr(0, open));
  l.values_ = numbers(t.substr(open + 1, t.size() - open - 2), ',', text);
  const auto& v = l.values_;
  if (name == "uniform" && v.size() == 2) {
    l.kind_ = Kind::kUniform;
    check_length(v[0], text);
    check_length(v[1], text);
    if (v[0] > v[1]) fail(text);
  } else if (name == "lognormal" && v.size() == 2) {
    l.kind_ = Kind::kLognormal;
    if (!(v[0] >= 1 && v[0] <= kLongest && v[1] >= 0 && v[1] <= 5)) {
      throw InputError(
          fmt::format("'{}': expected a mean from 1 to {} tokens and a deviation from 0 to 5",
                      shortened(text), kLongest));
    }
  } else if (name == "zipf" && v.size() == 3) {
    l.kind_ = Kind::kZipf;
    check_length(v[0], text);
    check_length(v[1], text);
    if (v[0] > v[1] || v[1] - v[0] > kMostRanks || std::abs(v[2]) > 10) fail(text);
    double sum = 0;
    const auto ranks = static_cast<int>(v[1] - v[0]) + 1;
    for (int n = 1; n <= ranks; ++n) l.cumulative_.push_back(sum += std::pow(n, -v[2]));
  } else {
    fail(text);
  }
  return l;
}

std::int32_t Lengths::at(double u) const {
  const auto& v = values_;
  double x = 0;
  switch (kind_) {
    case Kind::kOneOf:
      x = v[static_cast<std::size_t>(u * static_cast<double>(v.size()))];
      break;
    case Kind::kUniform:
      x = v[0] + std::floor(u * (v[1] - v[0] + 1));
      break;
    case Kind::kLognormal: {
      // The quantile of exactly 0 is not finite.
      const double z = normal_quantile(std::max(u, 0x1p-54));
      x = v[0] * std::exp(v[1] * z - v[1] * v[1] / 2);
      break;
    }
    case Kind::kZipf: {
      const auto at =
          std::upper_bound(cumulative_.begin(), cumulative_.end(), u * cumulative_.back());
      x = v[0] + static_cast<double>(at - cumulative_.begin());
      break;
    }
  }
  return static_cast<std::int32_t>(std::lround(std::clamp(x, 1.0, kLongest)));
}

double Lengths::mean() const {
  const auto& v = values_;
  switch (kind_) {
    case Kind::kOneOf:
      return std::accumulate(v.begin(), v.end(), 0.0) / static_cast<double>(v.size());
    case Kind::kUniform:
      return (v[0] + v[1]) / 2;
    case Kind::kLognormal:
      return v[0];
    case Kind::kZipf:
      break;
  }
  double sum = 0, before = 0;
  for (std::size_t i = 0; i < cumulative_.size(); ++i) {
    sum += (v[0] + static_cast<double>(i)) * (cumulative_[i] - before);
    before = cumulative_[i];
  }
  return sum / cumulative_.back();
}

}  // namespace orrery
