// Calibration: a few measured calls of one GPU correct the predictions that are transferred to it
// or that rest on physics alone.
//
// For each kernel class the measured calls (8 to 64) show by what factor predictions are off, and
// where. The logarithm of the factor is a Gaussian process over the place of a call: the size of
// the prediction and the family's coordinates, in units of three octaves, and the logarithms of
// what physics alone says over the prediction.
//
//   covariance(z, z') = s^2 (kConstant^2 + kSlope^2 z.z' + kWide^2 exp(-|z - z'|^2 / (2 3^2))
//                            + kLocal^2 (1 + d) exp(-d) + kPhysics^2 p.p'),  d = sqrt(3) |z - z'|
//
// Here s is the error that the prediction states. The noise of a measurement is on the diagonal.
// The terms are a constant, slopes, errors that wide neighbourhoods have in common (nine octaves),
// and errors that neighbours have in common (Matern's kernel: errors change with the kernel that a
// library chooses, and are not smooth); all of them shrink with the stated error. The last term
// takes back, or carries further, what a transferred surface adds to physics: where it is the
// surface of another kernel, the points move the prediction towards physics. A point that its
// neighbours contradict counts less. The remaining error is that of each point predicted from the
// others.
//
// Classes of a family are off alike where they run like kernels (a format in two engines, loads of
// experts): their points help, with a covariance that is multiplied by a correlation. The points
// themselves choose it (related_samples).
//
// calibration/<family>/<framework>-<gpu>.txt, below a catalog directory (--catalog DIR):
//   orrery-calibration 2
//   # recipe, for people
//   class bf16 own 0.081 shared 0.02 scale 0.28 points 32 places 4
//   0.1 -0.4 1.2 0.3            the centre of the places
//   1.2 0.1 0.3 -0.2 -0.4 -0.9 0.0431   place of a point, logs of physics, its weight
//   ...
// A calibration corrects the predictions that it was made for. After another fit of the surfaces,
// or with another version of Orrery, it must be made again.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/kernel/families/family.h"

namespace orrery {

struct CalibrationPlace {
  // log2 of the predicted time in us, then the family's coordinates.
  std::array<double, kMostAxes + 1> at{};
  // Logarithms of the family's `base`, and of the sum of compute and memory, over the prediction.
  std::array<double, 2> physics{};
};
CalibrationPlace calibration_place(Seconds predicted, const KernelPoint& point);

struct Calibration {
  struct Point {
    CalibrationPlace place{};
    double weight = 0;
  };
  std::string kernel_class;
  double own = 0, shared = 0;                  // relative errors of corrected predictions
  double scale = 0;                            // s of the covariance
  std::size_t places = 0;                      // number of coordinates of a place in use
  std::array<double, kMostAxes + 1> centre{};  // mean place of the points
  std::vector<Point> points;

  // The factor on a prediction, from e^-2 to e^2.
  double factor(const CalibrationPlace& place) const;
};

struct CalibrationSample {
  CalibrationPlace place{};
  double log_error = 0;  // log(measured / predicted)
};

// Points of another class of the family on the same GPU, and how far its errors follow those of the
// class (0 to 1). Its errors are `correlation` times the process of the class and a rest of its
// own, so that they count less than the class's points.
struct RelatedSamples {
  std::span<const CalibrationSample> samples;
  double correlation = 0;
};

// `error`: the error that predictions of the class state, one standard deviation of the logarithm.
// REQUIRES at least one sample.
inline constexpr std::size_t kMostCalibrationPoints = 64;                     // measured of a class
inline constexpr std::size_t kMostPointsOfFile = 6 * kMostCalibrationPoints;  // with related ones
Calibration fit_calibration(std::string kernel_class, std::span<const CalibrationSample> samples,
                            std::size_t places, double error,
                            std::span<const RelatedSamples> related = {});

// The other classes whose points help, with their correlations: those with which the points of the
// class, each predicted from the others, miss least. `others`: the points of each other class. At
// most four classes are related.
std::vector<RelatedSamples> related_samples(
    std::span<const CalibrationSample> samples,
    std::span<const std::span<const CalibrationSample>> others, std::size_t places, double error);

struct CalibrationFile {
  std::string comment;  // lines that begin with '#'
  std::vector<Calibration> classes;

  const Calibration* find(std::string_view kernel_class) const;
};
std::string calibration_path(std::string_view family, std::string_view framework,
                             std::string_view gpu);
// InputError with the line: the text is malformed.
CalibrationFile parse_calibration(std::string_view text, const std::string& name);
std::string to_text(const CalibrationFile& file);

}  // namespace orrery
