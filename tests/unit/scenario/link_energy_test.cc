// Does a collective state the energy of its links, and what no source states of them?
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "orrery/kinds/all_kinds.h"
#include "orrery/scenario/runner/runner.h"

namespace orrery {
namespace link_energy_test {

using testing::Contains;
using testing::HasSubstr;

Point answer_of(const std::string& hardware, const std::string& collective) {
  static Runner runner{Bundle()};
  return runner
      .run(read_scenario(all_kinds(), parse_yaml("{hardware: {" + hardware + "}, collective: {" +
                                                     collective + "}}",
                                                 "links.yaml")))
      .points.front();
}

double value(const Point& p, const char* name) {
  const Metric* m = p.find(name);
  EXPECT_NE(m, nullptr) << name;
  return m == nullptr ? 0 : m->value;
}

// A ring of 8 GPUs passes 14 times the buffer over NVLink and its switch, 24.6 pJ a bit.
TEST(LinkEnergy, IsThatOfTheBitsThatARingSends) {
  const Point p =
      answer_of("gpu: h100-sxm", "kind: all-reduce, gpus: 8, bytes: 1000000, algorithm: ring");
  EXPECT_NEAR(value(p, "link_energy"), 14 * 8e6 * 24.6e-12 * 1e3, 1e-9);
  EXPECT_NEAR(value(p, "bit_energy_inside"), 24.6, 1e-9);
  EXPECT_EQ(p.find("bit_energy_between"), nullptr);
  EXPECT_TRUE(p.find("link_energy")->has_interval());
}

// The switch that reduces is passed 8 times by the buffer.
TEST(LinkEnergy, IsLessWhereTheSwitchReduces) {
  const char* const size = "kind: all-reduce, gpus: 8, bytes: 1000000000, algorithm: ";
  const double ring = value(answer_of("gpu: h100-sxm", std::string(size) + "ring"), "link_energy");
  const double nvls = value(answer_of("gpu: h100-sxm", std::string(size) + "nvls"), "link_energy");
  EXPECT_NEAR(nvls / ring, 8.0 / 14, 1e-9);
}

// Over two nodes both fabrics count, by the bits on each.
TEST(LinkEnergy, OfSeveralNodesCountsBothFabrics) {
  const Point p =
      answer_of("gpu: h100-sxm", "kind: all-reduce, gpus: 16, bytes: 1000000000, algorithm: ring");
  const double hop = 2 * 15 / 16.0 * 8e9;
  EXPECT_NEAR(value(p, "link_energy"), hop * (14 * 24.6 + 2 * 53.6) * 1e-12 * 1e3, 1e-3);
  EXPECT_NEAR(value(p, "bit_energy_between"), 53.6, 1e-9);
  EXPECT_THAT(p.notes, Contains(HasSubstr("without network cards")));
}

TEST(LinkEnergy, GrowsWithTheBytesAndIsOfAnyTime) {
  const auto joules = [](const char* bytes) {
    return value(answer_of("gpu: h100-sxm", std::string("kind: all-gather, gpus: 64, algorithm: "
                                                        "ring, bytes: ") +
                                                bytes),
                 "link_energy");
  };
  EXPECT_NEAR(joules("2000000000") / joules("1000000000"), 2, 1e-9);
}

// No default takes the place of a figure that no source states.
TEST(LinkEnergy, IsNotStatedWhereNoSourceStatesIt) {
  const Point p = answer_of("gpu: mi300x", "kind: all-reduce, gpus: 8, bytes: 1000000");
  EXPECT_EQ(p.find("link_energy"), nullptr);
  EXPECT_EQ(p.find("bit_energy_inside"), nullptr);
  EXPECT_THAT(p.notes, Contains(HasSubstr("no source states that of xgmi-mi300x")));
}

TEST(LinkEnergy, OfAnExchangeOfExpertsIsOfItsBytes) {
  const Point p = answer_of("gpu: h800-sxm", "kind: moe-dispatch, gpus: 32, tokens: 128");
  const double sent = value(p, "sent_inside") * value(p, "bit_energy_inside") +
                      value(p, "sent_between") * value(p, "bit_energy_between");
  EXPECT_NEAR(value(p, "link_energy"), 32 * 8e6 * sent * 1e-12 * 1e3, 1e-6);
}

}  // namespace link_energy_test
}  // namespace orrery
