// A number format without a surface uses that of another format, multiplied by a factor
// (KernelClassSource). Do the factors follow from the calls that the tables have in both formats?
// Skipped where the tables are absent.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "orrery/kernel/fit/samples.h"
#include "tests/accuracy/kernel_tables.h"

namespace orrery {
namespace substitute_accuracy_test {

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return (v[v.size() / 2] + v[(v.size() - 1) / 2]) / 2;
}

// The format of a class: "fp8_block" of "fp8_block_ep_skewed".
std::string format_of(std::string name) {
  for (const std::string end : {"_skewed", "_ep"}) {
    if (name.ends_with(end)) name.resize(name.size() - end.size());
  }
  return name;
}

using Place =
    std::tuple<std::array<double, kMostAxes>, std::uint64_t, std::array<double, kMostSeriesAxes>>;

// Time over base of every call that is long enough for its floor not to count, of the rows fitted.
std::map<Place, double> inefficiencies(const ClassSamples& samples, double least_time) {
  std::map<Place, double> out;
  for (const MeasuredPoint& p : samples.points) {
    if (p.time >= least_time && !p.left_out) out[{p.x, p.series, p.along}] = p.time / p.base;
  }
  return out;
}

struct Asked {
  const char* family;
  std::set<std::string> formats;  // those with pairs on these GPUs
  double least_time;
};

class Substitutes : public testing::TestWithParam<Asked> {};

// B200 and B300 judge transfers: they are not asked.
TEST_P(Substitutes, FactorsAreTheMedians) {
  const std::filesystem::path data = kernel_tables();
  if (!std::filesystem::exists(data))
    GTEST_SKIP() << data << " is absent: no measured rows to compare with";
  const Asked& asked = GetParam();
  const KernelFamily& family = family_called(asked.family);
  std::vector<std::string> refused;
  const FamilySamples samples = read_samples(data, tables_of(family), Catalog(), refused,
                                             {"a100-80g-sxm", "l40s", "h100-sxm", "h200-sxm"});
  struct Pair {
    double taken = 0;
    std::vector<double> found;  // by engine, GPU and class
  };
  std::map<std::string, Pair> pairs;
  for (const KernelClass& c : family.classes()) {
    const std::string& wanted = c.sources.front().name;
    for (const KernelClassSource& choice : c.sources) {
      if (choice.name == wanted) continue;
      Pair& pair = pairs[format_of(wanted) + " by " + format_of(choice.name)];
      pair.taken = choice.factor;
      for (const auto& [of, classes] : samples) {
        const auto a = classes.find(wanted), b = classes.find(choice.name);
        if (a == classes.end() || b == classes.end()) continue;
        const auto substitutes = inefficiencies(b->second, 0);
        std::vector<double> ratios;
        for (const auto& [place, value] : inefficiencies(a->second, asked.least_time)) {
          const auto same = substitutes.find(place);
          if (same != substitutes.end()) ratios.push_back(value / same->second);
        }
        if (ratios.size() >= 20) pair.found.push_back(median(ratios));
      }
    }
  }
  for (const std::string& name : asked.formats) {
    const Pair& pair = pairs[name];
    ASSERT_FALSE(pair.found.empty()) << name;
    const double found = median(pair.found);
    const auto [low, high] = std::minmax_element(pair.found.begin(), pair.found.end());
    fmt::print("{}: {}: {:.2f} ({:.2f} to {:.2f} of {}), taken {}\n", asked.family, name, found,
               *low, *high, pair.found.size(), pair.taken);
    EXPECT_NEAR(pair.taken / found, 1, 0.1) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Families, Substitutes,
                         testing::Values(Asked{"gemm",
                                               {"fp8_block by fp8", "int8 by fp8", "int8 by bf16",
                                                "int8_weight by bf16", "int4_weight by bf16"},
                                               20e-6},
                                         Asked{"moe",
                                               {"bf16 by fp8_block", "bf16 by fp8",
                                                "fp8 by fp8_block", "fp8 by bf16",
                                                "fp8_block by fp8", "fp8_block by bf16",
                                                "int4_weight by bf16", "int4_weight by fp8_block"},
                                               60e-6}),
                         [](const auto& param) { return std::string(param.param.family); });

}  // namespace substitute_accuracy_test
}  // namespace orrery
