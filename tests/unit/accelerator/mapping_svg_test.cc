// Mappings drawn as SVG.
#include "orrery/accelerator/cost/mapping_svg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "orrery/accelerator/cost/evaluate.h"

namespace orrery {
namespace mapping_svg_test {

using testing::HasSubstr;

std::string drawing() {
  Chip c;
  c.name = "a<b";
  c.levels.resize(2);
  c.levels[0].name = "DRAM", c.levels[1].name = "Buffer";
  c.levels[1].array = {{"X", 4, {}}};
  c.compute.name = "MAC";
  const Einsum e{"product",
                 {"M", "N", "K"},
                 {4, 6, 8},
                 {{"A", {{{0}}, {{2}}}}, {"B", {{{2}}, {{1}}}}, {"Z", {{{0}}, {{1}}}, true}}};
  const Mapping m{{hold(0, 0), hold(0, 1), hold(0, 2), time_loop(0, 1, 6), hold(1, 0), hold(1, 2),
                   time_loop(1, 2, 8), space_loop(1, 0, 0, 4)},
                  {}};
  return draw_mapping_svg(c, e, m, evaluate(c, e, m).counts);
}

TEST(MappingSvg, NamesLevelsLoopsAndTilesWithTheirReads) {
  const std::string svg = drawing();
  EXPECT_THAT(svg, HasSubstr(">product on a&lt;b<"));
  EXPECT_THAT(svg, HasSubstr(">DRAM, 1 instance in use<"));
  EXPECT_THAT(svg, HasSubstr(">A: tile 32, reads 32<"));             // stays in the buffer
  EXPECT_THAT(svg, HasSubstr(">A: tile 32, reads 192, fills 32<"));  // each word for each n
  EXPECT_THAT(svg, HasSubstr(">for N in 6<"));
  EXPECT_THAT(svg, HasSubstr(">parallel M in 4 along X<"));
  EXPECT_THAT(svg, HasSubstr(">MAC, 4 instances in use<"));
  EXPECT_EQ(svg, drawing());
}

TEST(MappingSvg, EveryBoxStandsInsideTheOneBefore) {
  const std::string svg = drawing();
  const std::regex box("<rect x='(\\d+)' y='(\\d+)' width='(\\d+)' height='(\\d+)' rx");
  int x = -1, y = -1, right = 1 << 20, bottom = 1 << 20, boxes = 0;
  for (std::sregex_iterator i(svg.begin(), svg.end(), box), end; i != end; ++i, ++boxes) {
    const int x0 = std::stoi((*i)[1]), y0 = std::stoi((*i)[2]);
    EXPECT_GT(x0, x);
    EXPECT_GT(y0, y);
    EXPECT_LT(x0 + std::stoi((*i)[3]), right);
    EXPECT_LT(y0 + std::stoi((*i)[4]), bottom);
    x = x0, y = y0;
    right = x0 + std::stoi((*i)[3]), bottom = y0 + std::stoi((*i)[4]);
    EXPECT_GT(bottom, y);
  }
  EXPECT_EQ(boxes, 6);  // two levels, three loops, the units
}

}  // namespace mapping_svg_test
}  // namespace orrery
