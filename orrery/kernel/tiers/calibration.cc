#include "orrery/kernel/tiers/calibration.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <sstream>

#include "orrery/base/error.h"
#include "orrery/base/estimate.h"
#include "orrery/base/index.h"
#include "orrery/base/quantile.h"

namespace orrery {
namespace {

// From a search with 32 points a class on products of RTX PRO 6000, L40S, H100, H200 and B200, each
// predicted by surfaces of the others (`validate kernels --left-out-gpu`); checked on attention and
// experts. Factors of 1.5 change the errors by less than half a point.
constexpr double kConstant = 0.4, kSlope = 0.25, kWide = 0.85, kLocal = 0.75;
constexpr double kPhysics = 0.8;
constexpr double kWidth = 3;                       // of kWide, in units of distance
constexpr Seconds kLeastWork = microseconds(0.5);  // keeps the logarithm of tiny calls finite
constexpr double kOctaves = 3;                     // one unit of distance
constexpr double kNoise = 0.28;       // of a measurement and of neighbours, in units of the error
constexpr double kLeastNoise = 0.03;  // repeatability of measurements
constexpr double kOutlier = 2;  // deviations from its neighbours above which a point counts less
constexpr int kRounds = 3;      // of that
constexpr double kPriorPoints = 1;  // what the stated error counts for in the error left
constexpr double kSharedPart = 0.3, kOwnPart = 0.95;  // of the error left
constexpr double kMostLog = 2;
// Correlations that are tried for another class, the share by which its points must lower what is
// missed, and how many classes may be related.
constexpr std::array kCorrelations = {0.5, 0.8, 0.95};
constexpr double kLeastGain = 0.05;
constexpr std::size_t kMostRelated = 4;
constexpr double kMostNumber = 1e6;  // in a file: sums stay finite

double covariance(const Calibration& c, const CalibrationPlace& a, const CalibrationPlace& b) {
  double product = 0, square = 0, physics = 0;
  for (std::size_t i = 0; i < c.places; ++i) {
    const double x = (a.at[i] - c.centre[i]) / kOctaves, y = (b.at[i] - c.centre[i]) / kOctaves;
    product += x * y;
    square += (x - y) * (x - y);
  }
  for (std::size_t i = 0; i < a.physics.size(); ++i) physics += a.physics[i] * b.physics[i];
  const double d = std::sqrt(3 * square);
  return c.scale * c.scale *
         (kConstant * kConstant + kSlope * kSlope * product +
          kWide * kWide * std::exp(-square / (2 * kWidth * kWidth)) +
          kLocal * kLocal * (1 + d) * std::exp(-d) + kPhysics * kPhysics * physics);
}

double as_written(double v) { return std::stod(fmt::format("{:.6g}", v)); }

// The covariances of a class's points, followed by those of related classes.
struct Process {
  Eigen::MatrixXd covariance;
  Eigen::VectorXd errors;
  std::vector<double> correlation;  // of each point's class with the process of the class
};

// Adds the points to `c`, whose places, centre and scale are set.
Process process_of(Calibration& c, std::span<const CalibrationSample> samples,
                   std::span<const RelatedSamples> related) {
  Process p;
  std::vector<std::size_t> group;
  std::vector<double> errors;
  const auto add = [&](std::span<const CalibrationSample> points, std::size_t its,
                       double correlation) {
    for (const CalibrationSample& s : points) {
      Calibration::Point& point = c.points.emplace_back();
      for (std::size_t i = 0; i < c.places; ++i) point.place.at[i] = as_written(s.place.at[i]);
      for (std::size_t i = 0; i < s.place.physics.size(); ++i)
        point.place.physics[i] = as_written(s.place.physics[i]);
      errors.push_back(s.log_error);
      group.push_back(its);
      p.correlation.push_back(correlation);
    }
  };
  add(samples, 0, 1);
  for (std::size_t r = 0; r < related.size(); ++r)
    add(related[r].samples, r + 1, related[r].correlation);
  const auto n = static_cast<Eigen::Index>(c.points.size());
  p.errors = Eigen::Map<const Eigen::VectorXd>(errors.data(), n);
  p.covariance.resize(n, n);
  for (std::size_t i = 0; i < group.size(); ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      const double alike = group[i] == group[j] ? 1 : p.correlation[i] * p.correlation[j];
      const double value = alike * covariance(c, c.points[i].place, c.points[j].place);
      p.covariance(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) = value;
      p.covariance(static_cast<Eigen::Index>(j), static_cast<Eigen::Index>(i)) = value;
    }
  }
  return p;
}

// The weights of the points. `missed`: by how much each of the first `own` points is missed,
// predicted from all others.
Eigen::VectorXd weights_of(const Process& p, double error, std::size_t own,
                           std::vector<double>& missed) {
  const Eigen::Index n = p.errors.size();
  const double least_noise = std::max(kLeastNoise, kNoise * error);
  Eigen::VectorXd noise = Eigen::VectorXd::Constant(n, least_noise * least_noise);
  Eigen::VectorXd weights;
  missed.resize(own);
  for (int round = 0; round <= kRounds; ++round) {
    const Eigen::MatrixXd inverse = (p.covariance + Eigen::MatrixXd(noise.asDiagonal())).inverse();
    weights = inverse * p.errors;
    for (Eigen::Index i = 0; i < n; ++i) {
      const double miss = weights[i] / inverse(i, i);
      const double expected = 1 / std::sqrt(inverse(i, i));
      if (static_cast<std::size_t>(i) < own) missed[index(i)] = std::abs(miss);
      noise[i] *= std::pow(std::max(1.0, std::abs(miss) / (kOutlier * expected)), 2);
    }
  }
  return weights;
}

}  // namespace

CalibrationPlace calibration_place(Seconds predicted, const KernelPoint& point) {
  CalibrationPlace place{};
  place.at[0] = std::log2(predicted.value() * 1e6);
  std::copy(point.x.begin(), point.x.end(), place.at.begin() + 1);
  place.physics = {std::log(point.base / predicted),
                   std::log((point.compute + point.memory + kLeastWork) / predicted)};
  return place;
}

double Calibration::factor(const CalibrationPlace& place) const {
  double log = 0;
  for (const Point& p : points) log += p.weight * covariance(*this, place, p.place);
  return std::exp(std::clamp(log, -kMostLog, kMostLog));
}

Calibration fit_calibration(std::string kernel_class, std::span<const CalibrationSample> samples,
                            std::size_t places, double error,
                            std::span<const RelatedSamples> related) {
  Calibration c;
  c.kernel_class = std::move(kernel_class);
  c.places = places;
  c.scale = as_written(error);
  for (std::size_t i = 0; i < places; ++i) {
    for (const CalibrationSample& s : samples)
      c.centre[i] += s.place.at[i] / static_cast<double>(samples.size());
    c.centre[i] = as_written(c.centre[i]);
  }
  // The error left is that of the class's points alone: related classes were chosen by what is
  // missed with them, which is less than what other calls will miss.
  std::vector<double> missed;
  Calibration alone = c;
  weights_of(process_of(alone, samples, {}), error, samples.size(), missed);
  const Process process = process_of(c, samples, related);
  std::vector<double> missed_together;
  const Eigen::VectorXd weights = weights_of(process, error, samples.size(), missed_together);
  for (std::size_t i = 0; i < c.points.size(); ++i)
    c.points[i].weight = as_written(weights[static_cast<Eigen::Index>(i)] * process.correlation[i]);
  const double count = static_cast<double>(samples.size());
  const double spread =
      quantile(missed, 0.5) / normal_quantile(0.75) * quantile(missed, 0.9) / normal_quantile(0.95);
  const double left =
      std::sqrt((kPriorPoints * error * error + count * spread) / (count + kPriorPoints));
  c.shared = as_written(left * kSharedPart);
  c.own = as_written(std::max(kLeastNoise, left * kOwnPart));
  return c;
}

std::vector<RelatedSamples> related_samples(
    std::span<const CalibrationSample> samples,
    std::span<const std::span<const CalibrationSample>> others, std::size_t places, double error) {
  const auto missed_with = [&](std::span<const RelatedSamples> related) {
    Calibration c;
    c.places = places;
    c.scale = error;
    for (std::size_t i = 0; i < places; ++i) {
      for (const CalibrationSample& s : samples)
        c.centre[i] += s.place.at[i] / static_cast<double>(samples.size());
    }
    std::vector<double> missed;
    weights_of(process_of(c, samples, related), error, samples.size(), missed);
    return std::accumulate(missed.begin(), missed.end(), 0.0);
  };
  const double alone = missed_with({});
  std::vector<std::pair<double, RelatedSamples>> helpful;  // by what is missed with it
  for (const auto& other : others) {
    std::pair<double, RelatedSamples> best = {alone * (1 - kLeastGain), {}};
    for (const double correlation : kCorrelations) {
      const RelatedSamples one{other, correlation};
      const double missed = missed_with({&one, 1});
      if (missed < best.first) best = {missed, one};
    }
    if (best.second.correlation > 0) helpful.push_back(best);
  }
  std::stable_sort(helpful.begin(), helpful.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  // One after the other, as long as each helps.
  std::vector<RelatedSamples> chosen;
  double least = alone;
  for (const auto& [missed, one] : helpful) {
    if (chosen.size() == kMostRelated) break;
    chosen.push_back(one);
    const double with_it = missed_with(chosen);
    if (with_it < least * (1 - kLeastGain / 4)) {
      least = with_it;
    } else {
      chosen.pop_back();
    }
  }
  return chosen;
}

const Calibration* CalibrationFile::find(std::string_view kernel_class) const {
  for (const Calibration& c : classes) {
    if (c.kernel_class == kernel_class) return &c;
  }
  return nullptr;
}

std::string calibration_path(std::string_view family, std::string_view framework,
                             std::string_view gpu) {
  return fmt::format("calibration/{}/{}-{}.txt", family, framework, gpu);
}

std::string to_text(const CalibrationFile& file) {
  std::string out = "orrery-calibration 2\n" + file.comment;
  for (const Calibration& c : file.classes) {
    out += fmt::format("class {} own {:.6g} shared {:.6g} scale {:.6g} points {} places {}\n",
                       c.kernel_class, c.own, c.shared, c.scale, c.points.size(), c.places);
    const auto numbers = [&](std::span<const double> values) {
      return fmt::format("{:.6g}", fmt::join(values.first(c.places), " "));
    };
    out += numbers(c.centre) + "\n";
    for (const Calibration::Point& p : c.points)
      out += fmt::format("{} {:.6g} {:.6g}\n", numbers(p.place.at), fmt::join(p.place.physics, " "),
                         p.weight);
  }
  return out;
}

CalibrationFile parse_calibration(std::string_view text, const std::string& name) {
  CalibrationFile file;
  std::istringstream in{std::string(text)};
  std::string line;
  int number = 0;
  const auto fail = [&](std::string_view what) {
    throw InputError(fmt::format("{}:{}: {}", name, number, what));
  };
  const auto next = [&] {
    ++number;
    return static_cast<bool>(std::getline(in, line));
  };
  const auto numbers = [&](double* to, std::size_t n) {
    std::istringstream words(line);
    for (std::size_t i = 0; i < n; ++i) {
      if (!(words >> to[i]) || !(std::abs(to[i]) <= kMostNumber))
        fail(fmt::format("expected {} numbers", n));
    }
    if (std::string rest; words >> rest) fail(fmt::format("expected {} numbers", n));
  };
  if (!next() || line != "orrery-calibration 2") fail("expected 'orrery-calibration 2'");
  while (next()) {
    if (line.empty()) continue;
    if (line.front() == '#') {
      file.comment += line + "\n";
      continue;
    }
    std::istringstream words(line);
    std::string keys[6];
    Calibration c;
    std::size_t points = 0;
    if (!(words >> keys[0] >> c.kernel_class >> keys[1] >> c.own >> keys[2] >> c.shared >>
          keys[3] >> c.scale >> keys[4] >> points >> keys[5] >> c.places) ||
        keys[0] != "class" || keys[1] != "own" || keys[2] != "shared" || keys[3] != "scale" ||
        keys[4] != "points" || keys[5] != "places")
      fail("expected 'class NAME own X shared X scale X points N places N'");
    if (!(c.own >= 0 && c.shared >= 0 && c.scale >= 0 && c.own < 10 && c.shared < 10 &&
          c.scale < 10))
      fail("errors must be 0 to 10");
    if (points < 1 || points > kMostPointsOfFile || c.places < 1 || c.places > c.centre.size())
      fail(fmt::format("expected 1 to {} points in 1 to {} places", kMostPointsOfFile,
                       c.centre.size()));
    const auto row = [&](double* to, std::size_t n) {
      if (!next()) fail("the file ends too early");
      numbers(to, n);
    };
    row(c.centre.data(), c.places);
    for (std::size_t i = 0; i < points; ++i) {
      Calibration::Point& p = c.points.emplace_back();
      constexpr std::size_t kPhysicsNumbers = std::tuple_size_v<decltype(p.place.physics)>;
      std::array<double, kMostAxes + 1 + kPhysicsNumbers + 1> values;
      row(values.data(), c.places + kPhysicsNumbers + 1);
      std::copy_n(values.begin(), c.places, p.place.at.begin());
      std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(c.places), kPhysicsNumbers,
                  p.place.physics.begin());
      p.weight = values[c.places + kPhysicsNumbers];
    }
    file.classes.push_back(std::move(c));
  }
  return file;
}

}  // namespace orrery
