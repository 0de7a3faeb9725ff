// How often twice the work takes less time: of the measured calls, and of the predictions for the
// same calls. Kernels are not monotone (other tiles, other kernels, split keys, a timer's 2 us);
// predictions may fall where they do, not more often. Skipped where the tables are absent.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <string>
#include <tuple>

#include "orrery/base/bundle.h"
#include "orrery/kernel/fit/samples.h"
#include "orrery/kernel/surface/surface.h"
#include "tests/accuracy/kernel_tables.h"

namespace orrery {
namespace monotone_accuracy_test {

struct Falls {
  std::size_t pairs = 0, measured = 0, predicted = 0;
  double worst = 1;  // of the predictions
};

constexpr double kFall = 0.98;

struct Axis {
  const char* name;
  std::size_t index;
};
struct Asked {
  const char* family;
  std::vector<Axis> axes;
};

using Place = std::tuple<std::array<double, kMostAxes>, std::uint64_t>;

class Monotone : public testing::TestWithParam<Asked> {};

TEST_P(Monotone, PredictionsFallNoMoreOftenThanKernelsDo) {
  const std::filesystem::path data = kernel_tables();
  if (!std::filesystem::exists(data))
    GTEST_SKIP() << data << " is absent: no measured rows to compare with";
  const Asked& asked = GetParam();
  const KernelFamily& family = family_called(asked.family);
  const Bundle bundle;
  std::vector<std::string> refused;
  std::map<std::string, Falls> falls;  // by axis
  for (const auto& [of, classes] : read_samples(data, tables_of(family), Catalog(), refused)) {
    const auto& [framework, gpu] = of;
    const auto text = bundle.find(surface_path(asked.family, framework, gpu));
    if (!text) continue;
    const SurfaceFile file =
        parse_surfaces(inflated_surfaces(text->content, text->name), text->name);
    for (const auto& [name, samples] : classes) {
      const Surface* surface = file.find(name);
      if (!surface) continue;
      struct Times {
        double measured = 0, predicted = 0;
      };
      std::map<Place, Times> at;
      for (const MeasuredPoint& p : samples.points) {
        const double predicted = surface->floor.value() + p.base * std::exp(file.at(*surface, p));
        at[{p.x, p.series}] = {p.time, std::max(predicted, p.least)};
      }
      for (const Axis& axis : asked.axes) {
        Falls& f = falls[axis.name];
        for (const auto& [place, one] : at) {
          Place twice = place;
          std::get<0>(twice)[axis.index] += 1;
          const auto found = at.find(twice);
          if (found == at.end()) continue;
          ++f.pairs;
          f.measured += found->second.measured < kFall * one.measured;
          f.predicted += found->second.predicted < kFall * one.predicted;
          f.worst = std::min(f.worst, found->second.predicted / one.predicted);
        }
      }
    }
  }
  for (const auto& [axis, f] : falls) {
    ASSERT_GT(f.pairs, 1000u) << axis;
    const auto share = [&](std::size_t n) {
      return 100 * static_cast<double>(n) / static_cast<double>(f.pairs);
    };
    fmt::print(
        "{}, {} doubled ({} pairs): falls by more than 2 %: {:.1f} % measured, {:.1f} % predicted, "
        "the worst to {:.2f}\n",
        asked.family, axis, f.pairs, share(f.measured), share(f.predicted), f.worst);
    EXPECT_LE(f.predicted, f.measured) << axis;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Families, Monotone,
    testing::Values(Asked{"gemm", {{"m", 0}, {"n", 1}, {"k", 2}}},
                    Asked{"attention_prefill", {{"sequences", 2}, {"new tokens", 3}}},
                    Asked{"attention_decode", {{"sequences", 1}, {"keys", 0}}}),
    [](const auto& param) { return std::string(param.param.family); });

}  // namespace monotone_accuracy_test
}  // namespace orrery
