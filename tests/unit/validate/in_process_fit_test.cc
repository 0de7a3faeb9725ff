// Does the fit of front ends in their engine's process find the waits that made its rows?
#include "orrery/validate/energy/in_process_fit.h"

#include <gtest/gtest.h>

namespace orrery {
namespace in_process_fit_test {

// Services of one to eight ranks and 16 to 512 sequences, 100 steps each, that wait 5 ms a rank and
// 0.2 ms a sequence, and one row of an engine whose front end has a process of its own.
std::vector<LlmPowerRow> made_rows() {
  std::vector<LlmPowerRow> rows;
  for (const double ranks : {1, 2, 4, 8}) {
    for (const double sequences : {16, 64, 512}) {
      LlmPowerRow r;
      r.engine = "one", r.group = ranks == 8 ? "large" : "small";
      r.rank_steps = 100 * ranks, r.sequence_steps = 100 * sequences;
      r.work.time = seconds(100 * (0.01 + 0.00002 * sequences));
      r.time = r.work.time + seconds(0.005 * r.rank_steps + 0.0002 * r.sequence_steps);
      rows.push_back(r);
    }
  }
  LlmPowerRow other;
  other.engine = "two", other.group = "small", other.work.time = other.time = seconds(1);
  rows.push_back(other);
  return rows;
}

TEST(InProcessFit, FindsTheWaitsOfAStep) {
  const InProcessFit fit = fit_in_process(made_rows(), "");
  ASSERT_EQ(fit.size(), 1U);
  EXPECT_NEAR(fit.at("one").per_rank.value(), 0.005, 5e-6);
  EXPECT_NEAR(fit.at("one").per_sequence.value(), 0.0002, 5e-7);
}

TEST(InProcessFit, AddsTheWaitsToTheTimeAlone) {
  const std::vector<LlmPowerRow> rows = made_rows();
  const InProcessFit fit = fit_in_process(rows, "");
  EXPECT_NEAR(with_waits(rows[4], fit).time / rows[4].time, 1, 1e-3);
  EXPECT_EQ(with_waits(rows[4], fit).kernels, rows[4].work.kernels);
  EXPECT_EQ(with_waits(rows.back(), fit).time, rows.back().work.time);
}

TEST(InProcessFit, IsNotMovedByAGroupThatItLeavesOut) {
  std::vector<LlmPowerRow> rows = made_rows();
  const Seconds before = fit_in_process(rows, "large").at("one").per_rank;
  for (LlmPowerRow& r : rows) {
    if (r.group == "large") r.time = r.time * 3.0;
  }
  EXPECT_EQ(fit_in_process(rows, "large").at("one").per_rank, before);
}

}  // namespace in_process_fit_test
}  // namespace orrery
