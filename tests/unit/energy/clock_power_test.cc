// Does a board under a limit keep the clock, the time and the power that its law says, and nothing
// else where the limit does not bind?
#include "orrery/energy/power/clock_power.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "orrery/base/error.h"
#include "orrery/kernel/tiers/clocked_kernels.h"

namespace orrery {
namespace clock_power_test {

using testing::HasSubstr;
using testing::ThrowsMessage;

// Arithmetic alone: the demand is 0.2 awake and 0.8 * C / t.
StepPowerConstants constants() {
  StepPowerConstants c;
  c.compute = 1, c.compute_exponent = 1, c.memory_exponent = 1;
  c.boards = {{"mine", {0.2, 1}}};
  c.engines = {{"vllm", 1}};
  c.regulated = 1;
  return c;
}

Gpu board() {
  Gpu gpu;
  gpu.id = "mine";
  gpu.power = Watts(1000);
  gpu.boost_clock = Hertz(2e9);
  gpu.least_power_limit = Watts(250);
  return gpu;
}

// Computes at half of the peak rate for a second, without traffic.
StepWork computing() { return {seconds(1), seconds(1), {}, seconds(0.5), {}}; }

TEST(ClockPower, FallsAsTheClockAndTheSquareOfTheVoltage) {
  EXPECT_DOUBLE_EQ(clock_power(1), 1);
  EXPECT_NEAR(clock_power(0.85), 0.85 * 0.9 * 0.9, 1e-12);  // half-way from the knee to the top
  EXPECT_NEAR(clock_power(0.5), 0.5 * 0.64, 1e-12);         // below the knee V is 0.8
}

TEST(ClockPower, AKernelOfArithmeticTakesAsLongAsItsClocks) {
  EXPECT_DOUBLE_EQ(clock_factor(seconds(1), seconds(0), seconds(2), 1.5), 1.5);
  EXPECT_DOUBLE_EQ(clock_factor(seconds(0), seconds(1), seconds(1), 1.5), 1);
  EXPECT_DOUBLE_EQ(clock_factor({}, {}, {}, 1.5), 1);
  // Half of the bandwidth is unused: 0.35 * 0.5 of the time are latencies in clocks.
  EXPECT_NEAR(clock_factor(seconds(0), seconds(1), seconds(2), 2), std::cbrt(1 + 0.175 * 7), 1e-12);
  // Both units full: half of the time at first, but never less than the arithmetic.
  EXPECT_DOUBLE_EQ(clock_factor(seconds(1), seconds(1), seconds(1), 3), 3);
}

TEST(ClockPower, ALimitThatTheWorkDoesNotReachChangesNothing) {
  const BoardClock c = step_clock(constants(), board(), "vllm", {Watts(700), {}}, computing());
  EXPECT_EQ(c.slowdown, 1);
  EXPECT_EQ(c.power, 1);
  EXPECT_EQ(c.error, 0);
}

TEST(ClockPower, UnderALimitClockTimeAndPowerAreOneSolution) {
  // The law says 0.2 + 0.4 = 0.6 of 1000 W, with operations at the least voltage. At boost they
  // demand 0.4 / 0.64 = 0.625, which the limit of 1000 W allows, so that boost is the reference. At
  // the clock f the work takes 1 / f, and the power is 0.6 * (0.2 + 0.625 f V(f)^2) / 0.825. 400 W
  // ask for f V(f)^2 = 0.56, where f is in the linear part of the voltage: f = 0.7751.
  const BoardClock c = step_clock(constants(), board(), "vllm", {Watts(400), {}}, computing());
  const double f = c.clock;
  const double voltage = 0.8 + 0.2 * (f - 0.7) / 0.3;
  EXPECT_NEAR(f * voltage * voltage, 0.56, 2e-3);
  EXPECT_NEAR(f, 0.7751, 2e-3);
  EXPECT_NEAR(c.power, 400.0 / 600, 1e-3);
  EXPECT_NEAR(slowed(computing(), c.slowdown).time.value(), 1 / f, 2e-3);
}

// The rate of operations is known, and each costs V^2: the clock does not count beside it. Kernels
// that only occupy their units switch them with every clock.
TEST(ClockPower, TheClockCountsOnceInArithmetic) {
  EXPECT_NEAR(demand_at({.unclocked = 0.1, .clocked = 0.2, .arithmetic = 0}, 0.5),
              0.1 + 0.2 * 0.5 * 0.64, 1e-12);
  EXPECT_NEAR(demand_at({.unclocked = 0.1, .clocked = 0, .arithmetic = 0.2}, 0.5), 0.3, 1e-12);
  EXPECT_NEAR(demand_at({.unclocked = 0.1, .clocked = 0, .arithmetic = 0.2}, 1), 0.1 + 0.2 / 0.64,
              1e-12);
}

// A board that is full of arithmetic is held below its boost clock by its own limit, as an H100 is
// (1,377 of 1,980 MHz in products of 8,192), and a clock above that changes nothing.
TEST(ClockPower, FullArithmeticIsHeldDownByTheDataSheetsLimit) {
  const StepWork full{seconds(1), seconds(1), {}, seconds(0.95), {}};
  const auto at = [&](double hertz) {
    return step_clock(constants(), board(), "vllm", {{}, Hertz(hertz)}, full);
  };
  // 0.2 + 0.76 (V(f) / 0.8)^2 = 1: V = 0.8208, f = 0.7312.
  EXPECT_NEAR(at(2e9).clock, 0.7312, 1e-3);
  EXPECT_EQ(at(1.5e9).slowdown, 1);
  EXPECT_GT(at(1.4e9).slowdown, 1);
}

TEST(ClockPower, ALockedClockAtOrAboveTheReferenceChangesNothing) {
  const auto at = [](double hertz) {
    return step_clock(constants(), board(), "vllm", {{}, Hertz(hertz)}, computing());
  };
  EXPECT_EQ(at(2e9).slowdown, 1);
  const BoardClock half = at(1e9);
  EXPECT_NEAR(half.clock, 0.5, 1e-9);
  EXPECT_NEAR(half.slowdown, 2, 5e-3);
  // Half of the operations a second, each at 0.64 of the energy: 0.2 + 0.625 * 0.5 * 0.64 of the
  // former 0.825.
  EXPECT_NEAR(half.power, 0.4 / 0.825, 2e-3);
}

TEST(ClockPower, RefusesWhatTheBoardDoesNotAccept) {
  const auto check = [](PowerKnobs knobs) {
    return [knobs] { check_knobs(board(), Watts(200), knobs); };
  };
  EXPECT_NO_THROW(check({Watts(250), Hertz(2e9)})());
  EXPECT_THAT(check({Watts(1001), {}}), ThrowsMessage<InputError>(HasSubstr("at most 1000 W")));
  EXPECT_THAT(check({Watts(249), {}}), ThrowsMessage<InputError>(HasSubstr("from 250 W")));
  EXPECT_THAT(check({{}, Hertz(2.1e9)}),
              ThrowsMessage<InputError>(HasSubstr("between 300 and 2000 MHz")));
  Gpu unknown = board();
  unknown.least_power_limit.reset();
  EXPECT_THAT([&] { check_knobs(unknown, Watts(200), {Watts(200), {}}); },
              ThrowsMessage<InputError>(HasSubstr("above the 200 W that it draws awake")));
  unknown.power.reset();
  EXPECT_THROW(check_knobs(unknown, Watts(200), {Watts(200), {}}), NoData);
}

TEST(ClockPower, ALimitBelowTheLowestClocksPowerIsInfeasible) {
  StepPowerConstants c = constants();
  c.links = 1;  // collectives do not depend on the clock
  const StepWork sending{seconds(1), {}, seconds(0.9), {}, {}};
  EXPECT_THROW(step_clock(c, board(), "vllm", {Watts(500), {}}, sending), Infeasible);
}

TEST(ClockPower, StepsOfSeveralKindsKeepTheirEnergy) {
  // One kind keeps its clock, the other takes twice as long with half of the power: its energy is
  // the same, and the mean power is two thirds.
  const ClockedSteps kept{computing(), seconds(1)}, other{computing(), seconds(2), 0.5};
  const ClockedSteps kinds[] = {kept, other};
  EXPECT_NEAR(power_left(constants(), board(), "vllm", kinds), 2.0 / 3, 1e-12);
  const ClockedSteps same[] = {kept, kept};
  EXPECT_EQ(power_left(constants(), board(), "vllm", same), 1);
}

}  // namespace clock_power_test
}  // namespace orrery
