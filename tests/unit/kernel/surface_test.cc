#include "orrery/kernel/surface/surface.h"

#include <gtest/gtest.h>

#include <array>
#include <random>

#include "orrery/base/error.h"
#include "tests/refusal.h"

namespace orrery {
namespace surface_test {

SurfaceFile sample() {
  SurfaceFile f;
  f.comment = "# made by hand\n# twice\n";
  f.axes.nodes = {{0, 2}, {1, 2, 4}};
  f.surfaces.push_back(
      {"bf16", microseconds(2.5), 0.06, 0.02, {0.1f, 0.2f, 0.3f, -0.1f, 0.f, 1.f}, {}});
  f.surfaces.push_back({"fp8", microseconds(4), 0.1, 0.05, {1, 1, 1, 1, 1, 1}, {}});
  return f;
}

std::string message_of(const std::string& text) {
  return refusal_of([&] { parse_surfaces(text, "x.txt"); });
}

TEST(SurfaceText, RoundTrip) {
  const std::string text = to_text(sample());
  const SurfaceFile read = parse_surfaces(text, "x.txt");
  EXPECT_EQ(read.comment, sample().comment);
  EXPECT_EQ(read.axes.nodes, sample().axes.nodes);
  ASSERT_EQ(read.surfaces.size(), 2u);
  EXPECT_EQ(read.surfaces[0].kernel_class, "bf16");
  EXPECT_DOUBLE_EQ(read.surfaces[0].floor.value(), 2.5e-6);
  EXPECT_DOUBLE_EQ(read.surfaces[0].own, 0.06);
  EXPECT_EQ(read.surfaces[0].values, sample().surfaces[0].values);
  EXPECT_EQ(to_text(read), text);
}

TEST(SurfaceText, FindsByName) {
  const SurfaceFile f = sample();
  EXPECT_EQ(f.find("fp8"), &f.surfaces[1]);
  EXPECT_EQ(f.find("fp"), nullptr);
}

TEST(SurfaceText, ErrorsNameTheLine) {
  EXPECT_NE(message_of("orrery-kernels 3\n").find("x.txt:1: expected '2', got '3'"),
            std::string::npos);
  EXPECT_NE(
      message_of("orrery-kernels 2\naxes 1 2\n3 2\n").find("x.txt:3: axis nodes must increase"),
      std::string::npos);
  EXPECT_NE(message_of("orrery-kernels 2\n# c\naxes 5\n")
                .find("x.txt:3: expected a whole number of 1 to 4"),
            std::string::npos);
  const std::string head = "orrery-kernels 2\naxes 1 2\n0 1\n";
  EXPECT_NE(message_of(head + "class a floor -1 own 0 shared 0 regimes 1 1 1 1\n0 0\n")
                .find("must not be negative"),
            std::string::npos);
  EXPECT_NE(message_of(head + "class a floor 1 own 0 shared 0 regimes 1 1 1 1\n! }\n")
                .find("x.txt:5: expected a digit"),
            std::string::npos);
  EXPECT_NE(message_of(head + "class a floor 1 own 0 shared 0 regimes 1 1 1 1\n!")
                .find("x.txt:5: the file ends too early"),
            std::string::npos);
  EXPECT_NE(message_of(head + "klass a").find("x.txt:4: expected 'class', got 'klass'"),
            std::string::npos);
}

TEST(SurfaceText, RefusesAHugeGridUnread) {
  // 64^4 points of one class would be 67 MB.
  std::string text = "orrery-kernels 2\naxes 4 64 64 64 64\n";
  for (int a = 0; a < 4; ++a) {
    for (int i = 0; i < 64; ++i) text += std::to_string(i) + " ";
    text += "\n";
  }
  EXPECT_NE(message_of(text + "class a floor 1 own 0 shared 0 regimes 1 1 1 1\n").find("x.txt:"),
            std::string::npos);
}

TEST(SurfaceText, RefusesValuesBeyondPhysicsAndRunsBeyondTheGrid) {
  const std::string head =
      "orrery-kernels 2\naxes 1 1\n0\nclass a floor 1 own 0 shared 0 regimes 1 1 1 1\n";
  EXPECT_NE(message_of(head + "zzzzzz!\n").find("x.txt:5: a value beyond"), std::string::npos);
  EXPECT_NE(message_of(head + "{%\n").find("x.txt:5: more values"), std::string::npos);
}

// By hand: steps of 0.01. First row 2, -1: differences 2 ('%' = 4) and -3 ('&' = 5); second row 2,
// 24: 2 - 0 - 0 - 2 = 0 ('!'), 24 - 2 + 2 - (-1 ...): left + above - above left = 2 - 1 - 2 = -1,
// so 25 = number 50 = 1 * 45 + 5 ('O' and '&').
TEST(SurfaceText, PackedValuesByHand) {
  const SurfaceFile f = parse_surfaces(
      "orrery-kernels 2\naxes 2 2 2\n0 1\n0 1\n"
      "class a floor 1 own 0 shared 0 regimes 1 1 1 1\n%&!O&\n",
      "x.txt");
  ASSERT_EQ(f.surfaces.size(), 1u);
  const std::vector<float>& v = f.surfaces[0].values;
  ASSERT_EQ(v.size(), 4u);
  EXPECT_NEAR(v[0], 0.02, 1e-6);
  EXPECT_NEAR(v[1], -0.01, 1e-6);
  EXPECT_NEAR(v[2], 0.02, 1e-6);
  EXPECT_NEAR(v[3], 0.24, 1e-6);
}

TEST(SurfaceText, SeriesAddToTheirShapes) {
  SurfaceFile f = sample();
  f.series_axes.nodes = {{0, 1}};
  f.surfaces[0].series = {{7, {0.5f, 0.1f}}};
  const SurfaceFile read = parse_surfaces(to_text(f), "x.txt");
  SurfacePlace place;
  place.x = {0, 1};
  place.along = {0.5};
  EXPECT_NEAR(read.at(read.surfaces[0], place), 0.1, 1e-6);
  place.series = 8;  // a shape without one
  EXPECT_NEAR(read.at(read.surfaces[0], place), 0.1, 1e-6);
  place.series = 7;
  EXPECT_NEAR(read.at(read.surfaces[0], place), 0.1 + 0.3, 1e-6);
}

// Bilinear by hand: nodes {0, 2} x {1, 2, 4}, values 0.1 0.2 0.3 / -0.1 0 1.
TEST(SurfaceCell, InterpolatesBetweenNodes) {
  const SurfaceFile f = sample();
  const Surface& s = f.surfaces[0];
  auto at = [&](double x, double y) { return s.at(cell_at(f.axes, std::array{x, y, 0.0, 0.0})); };
  EXPECT_NEAR(at(0, 1), 0.1, 1e-7);
  EXPECT_NEAR(at(2, 4), 1.0, 1e-7);
  EXPECT_NEAR(at(0, 2), 0.2, 1e-7);
  EXPECT_NEAR(at(1, 1), 0.0, 1e-7);
  EXPECT_NEAR(at(0, 3), 0.25, 1e-7);
  // A quarter up the first axis, half between 2 and 4: 0.75 * 0.25 + 0.25 * 0.5.
  EXPECT_NEAR(at(0.5, 3), 0.3125, 1e-7);
}

TEST(SurfaceCell, IsConstantBeyondTheGrid) {
  const SurfaceFile f = sample();
  const Surface& s = f.surfaces[0];
  auto at = [&](double x, double y) { return s.at(cell_at(f.axes, std::array{x, y, 0.0, 0.0})); };
  EXPECT_NEAR(at(-100, -5), 0.1, 1e-7);
  EXPECT_NEAR(at(100, 100), 1.0, 1e-7);
  EXPECT_NEAR(at(1, 100), 0.65, 1e-7);
}

TEST(SurfaceCell, WeightsSumToOne) {
  SurfaceAxes axes{{{0, 1, 5}, {0}, {-2, 2}, {1, 2, 3}}};
  const SurfaceCell cell = cell_at(axes, std::array{0.3, 9.0, 1.0, 2.2});
  EXPECT_EQ(cell.count, 8u);  // an axis of one node adds no corner
  double sum = 0;
  for (std::size_t i = 0; i < cell.count; ++i) {
    EXPECT_LT(cell.index[i], axes.size());
    sum += cell.weight[i];
  }
  EXPECT_NEAR(sum, 1, 1e-12);
}

// Two roads to one value: the weights of a cell, which the fit needs, and the quick look-up.
void expect_what_the_cell_gives(const std::vector<double>& first_axis) {
  SurfaceFile f;
  f.axes.nodes = {first_axis, {-2, 2}, {0, 1, 1.5, 7}, {1, 2, 3}};
  f.series_axes.nodes = {{0, 1}, {0, 3, 9}};
  std::mt19937 random{7};
  const auto values = [&](std::size_t n) {
    std::vector<float> v(n);
    for (float& x : v) x = static_cast<float>(random()) / 4e9F;
    return v;
  };
  const Surface s{.kernel_class = "x",
                  .floor = Seconds(1e-6),
                  .values = values(f.axes.size()),
                  .series = {{5, values(f.series_axes.size())}}};
  const SurfaceLookup lookup(f.axes.nodes, f.series_axes.nodes);
  const auto coordinate = [&] { return static_cast<double>(random()) / 2e8 - 3; };  // -3 to 18
  for (int i = 0; i < 2000; ++i) {
    SurfacePlace place;
    for (double& x : place.x) x = coordinate();
    for (double& x : place.along) x = coordinate();
    if (i % 7 == 0) place.x[0] = 11 + 0.0001 * (i % 9);
    if (i % 35 == 0) place.x[0] = 15;
    if (i % 5 == 0) place.x[2] = 1.5;  // on a node
    place.series = static_cast<std::uint64_t>(i % 3 * 5);
    EXPECT_NEAR(lookup.at(s, place), f.at(s, place), 1e-12);
  }
}

TEST(SurfaceLookup, GivesWhatTheCellGives) { expect_what_the_cell_gives({0, 11, 11.0007, 15}); }

TEST(SurfaceLookup, FindsItsNodeWhereTheyCrowd) {
  expect_what_the_cell_gives({0, 11, 11.0001, 11.0002, 11.0004, 11.0005, 15});
}

}  // namespace surface_test
}  // namespace orrery
