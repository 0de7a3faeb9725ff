#include "orrery/validate/fit/service_constants.h"

#include <gtest/gtest.h>

#include <vector>

namespace orrery {
namespace service_constants_test {

// Two classes of GPUs share the costs on the host and nothing else.
TEST(ServiceConstants, ClassesShareTheHost) {
  const std::size_t n = kServiceConstants.size();
  std::vector<double> x = service_start(2);
  ASSERT_EQ(x.size(), 2 * n);
  for (std::size_t i = 0; i < n; ++i)
    EXPECT_EQ(place(1, i), i + (kServiceConstants[i].host ? 0 : n)) << kServiceConstants[i].key;
  EXPECT_EQ(of_class(x, 0), of_class(x, 1));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i);
  const std::vector<double> second = of_class(x, 1);
  std::size_t shared = 0;
  for (std::size_t i = 0; i < n; ++i) {
    shared += kServiceConstants[i].host ? 1 : 0;
    EXPECT_EQ(second[i], static_cast<double>(kServiceConstants[i].host ? i : i + n));
  }
  EXPECT_EQ(shared, 3u);  // launches, the layers of experts, kernels of new shapes
}

TEST(ServiceConstants, StartWithinTheirRange) {
  for (const ServiceConstant& c : kServiceConstants) {
    EXPECT_LE(c.least, c.start) << c.key;
    EXPECT_LE(c.start, c.most) << c.key;
  }
}

TEST(ServiceConstants, AreWrittenWithTheirUnit) {
  EXPECT_EQ(service_text_of({"a", "us", 1, 1, 1}, 34.4), "34.4 us");
  EXPECT_EQ(service_text_of({"a", "", 1, 1, 1}, 1.3), "1.3");
}

}  // namespace service_constants_test
}  // namespace orrery
