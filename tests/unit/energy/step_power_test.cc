// Is the power of steps what their work says, and never above the board's limit?
#include "orrery/energy/power/step_power.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "orrery/base/error.h"
#include "orrery/energy/power/held_parts.h"

namespace orrery {
namespace step_power_test {

StepPowerConstants constants() {
  StepPowerConstants c;
  c.kernels = 0.1, c.compute = 1, c.memory = 0.4, c.links = 0.2;
  c.compute_exponent = 0.5, c.memory_exponent = 1;
  c.boards = {{"mine", {0.1, 1}}, {"other", {0.4, 4}}};
  c.engines = {{"vllm", 1}, {"slow", 0.25}};
  c.error = 0.1, c.board_error = 0.3, c.engine_error = 0.4;
  return c;
}

Gpu board_of(const std::string& id) {
  Gpu gpu;
  gpu.id = id;
  gpu.power = Watts(1000);
  return gpu;
}

// A second in which kernels run for half of the time.
StepWork half_busy() {
  return {seconds(1), seconds(0.5), seconds(0.1), seconds(0.04), seconds(0.25)};
}

TEST(StepPower, AddsWhatUnitsDrawToTheAwakeBoard) {
  const Estimate<Watts> power = step_power(constants(), board_of("mine"), "vllm", half_busy());
  // 0.1 + 0.9 * (0.1 * 0.5 + 1 * sqrt(0.04) + 0.4 * 0.25 + 0.2 * 0.1) = 0.433 of 1000 W, far from
  // the limit.
  EXPECT_NEAR(power.value.value(), 433, 0.1);
  EXPECT_EQ(power.origin, Origin::kFitted);
  EXPECT_EQ(power.shared, 0);
  EXPECT_EQ(power.own, 0.1);
}

TEST(StepPower, IsTheAwakeBoardsWithoutWork) {
  const StepWork idle{seconds(1), {}, {}, {}, {}};
  EXPECT_NEAR(step_power(constants(), board_of("mine"), "vllm", idle).value.value(), 100, 0.1);
}

TEST(StepPower, EndsAtTheLimit) {
  const StepWork full{seconds(1), seconds(1), seconds(0), seconds(1), seconds(1)};
  const double share = share_of_limit(constants(), {0.1, 1}, 1, full);
  EXPECT_LT(share, 1);
  EXPECT_GT(share, 0.99);
  // A board whose demand is exactly the limit stays below it by the softness times log 2.
  const StepWork at_limit{seconds(1), seconds(0), seconds(0), seconds(1), seconds(0)};
  EXPECT_NEAR(share_of_limit(constants(), {0.1, 1}, 1, at_limit), 1 - kSoftness * std::log(2.0),
              1e-12);
}

TEST(StepPower, EnergyFollowsTheTimeInPart) {
  // In the 0.433 of half_busy() the part 0.9 * 1 * sqrt(0.04) falls as the root of a longer time,
  // and 0.9 * 0.4 * 0.25 as its inverse: the slope is 1 - (0.5 * 0.18 + 0.09) / 0.433.
  EXPECT_NEAR(energy_follows_time(constants(), board_of("mine"), "vllm", half_busy()), 0.584,
              0.005);
  // A board at its limit draws the limit in a longer time, too.
  const StepWork full{seconds(1), seconds(1), seconds(0), seconds(1), seconds(1)};
  EXPECT_GT(energy_follows_time(constants(), board_of("mine"), "vllm", full), 0.99);
}

TEST(StepPower, IsWiderForUnknownBoardsAndEngines) {
  const StepPowerConstants c = constants();
  const Estimate<Watts> power = step_power(c, board_of("new"), "new", half_busy());
  EXPECT_EQ(power.origin, Origin::kTransferred);
  EXPECT_NEAR(power.shared, 0.5, 1e-12);  // of 0.3 and 0.4
  // Geometric means of the boards and engines: awake 0.2, gain 2, of the engine 0.5.
  EXPECT_NEAR(c.board("new").awake, 0.2, 1e-12);
  EXPECT_NEAR(c.board("new").gain, 2, 1e-12);
  EXPECT_NEAR(c.engine("new"), 0.5, 1e-12);
}

TEST(StepPower, NeedsTheLimitOfTheBoard) {
  Gpu gpu = board_of("mine");
  gpu.power.reset();
  EXPECT_THROW(step_power(constants(), gpu, "vllm", half_busy()), NoData);
}

TEST(StepWork, AddsUpAndStretches) {
  StepWork two = half_busy();
  two += half_busy();
  EXPECT_EQ(two.time, half_busy().scaled(2).time);
  EXPECT_EQ(two.memory, half_busy().scaled(2).memory);
  // Half of the added second is kernels: they grow from 0.5 s by the factor 1 + 0.5.
  const StepWork longer = half_busy().stretched(seconds(2), 0.5);
  EXPECT_EQ(longer.time, seconds(2));
  EXPECT_NEAR(longer.kernels.value(), 0.75, 1e-12);
  EXPECT_EQ(longer.compute, half_busy().compute);
  EXPECT_NEAR(half_busy().stretched(seconds(0.5), 0.5).kernels.value(), 0.25, 1e-12);
}

TEST(StepPowerText, IsReadBack) {
  const StepPowerConstants c = constants();
  const std::filesystem::path dir = std::filesystem::path(testing::TempDir()) / "step_power";
  std::filesystem::create_directories(dir / "power");
  std::ofstream(dir / "power" / "steps.yaml") << step_power_text(c, "a test");
  const StepPowerConstants back = read_step_power(Bundle(dir));
  EXPECT_EQ(back.compute, c.compute);
  EXPECT_EQ(back.boards.at("other").gain, 4);
  EXPECT_EQ(back.engines.at("slow"), 0.25);
  EXPECT_EQ(back.engine_error, 0.4);
}

// Far from the limit each part is the law's own term: 0.9 * 0.1 * 0.5 = 0.045 of kernels, 0.9 *
// sqrt(0.04) = 0.18, 0.9 * 0.4 * 0.25 = 0.09 and 0.9 * 0.2 * 0.1 = 0.018.
TEST(StepPower, PartsAreTheTermsOfTheLaw) {
  const StepPowerConstants c = constants();
  const PowerParts parts = power_parts(c, c.board("mine"), c.engine("vllm"), half_busy());
  EXPECT_NEAR(parts.awake, 0.1, 1e-3);
  EXPECT_NEAR(parts.kernels, 0.045, 1e-3);
  EXPECT_NEAR(parts.compute, 0.18, 1e-3);
  EXPECT_NEAR(parts.memory, 0.09, 1e-3);
  EXPECT_NEAR(parts.links, 0.018, 1e-3);
}

// At the limit the parts share what the board draws beyond `awake` as they would without it.
TEST(StepPower, PartsAreHeldDownAlikeAtTheLimit) {
  const StepPowerConstants c = constants();
  const StepWork full{seconds(1), seconds(1), seconds(0.5), seconds(1), seconds(1)};
  const PowerParts parts = power_parts(c, c.board("mine"), c.engine("vllm"), full);
  EXPECT_NEAR(parts.sum(), share_of_limit(c, c.board("mine"), 1, full), 1e-12);
  EXPECT_NEAR(parts.awake, 0.1, 1e-9);
  EXPECT_NEAR(parts.compute / parts.memory, 1 / 0.4, 1e-9);
  EXPECT_NEAR(parts.kernels / parts.links, 1, 1e-9);
}

// At half of the power the awake board draws what it did, and the others share the rest: 0.5 - 0.2
// of the 0.8 that they drew.
TEST(HeldParts, KeepTheAwakeBoard) {
  const PowerParts held = held_parts({0.2, 0.4, 0.2, 0.16, 0.04}, 0.5);
  EXPECT_EQ(held.awake, 0.2);
  EXPECT_NEAR(held.kernels, 0.15, 1e-12);
  EXPECT_NEAR(held.links, 0.015, 1e-12);
  EXPECT_NEAR(held.sum(), 0.5, 1e-12);
  EXPECT_EQ(held_parts({0.2, 0, 0, 0, 0}, 0.15).awake, 0.15);
}

}  // namespace step_power_test
}  // namespace orrery
