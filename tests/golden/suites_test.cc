// The bundled suites: every question is answered, and no check fails that is not known to.
#include <gtest/gtest.h>

#include <set>

#include "orrery/base/error.h"
#include "orrery/validate/suite.h"
#include "orrery/validate/suite_coverage.h"

namespace orrery {
namespace {

// Questions with a check that fails, with the reason in docs/suites.md. One that passes again is
// taken out.
const std::set<std::string> kKnownFailures = {"T1.2"};

class Suites : public testing::TestWithParam<std::pair<const char*, std::size_t>> {};

TEST_P(Suites, AreAnsweredAndHold) {
  const Bundle bundle;
  const Suite suite = read_suite(GetParam().first, bundle);
  Runner runner(bundle);
  SuiteOptions options;
  options.intervals = false;
  double ticks = 0;
  const auto outcomes = run_suite(suite, runner, options, [&ticks] { return ++ticks; });
  EXPECT_EQ(outcomes.size(), GetParam().second);
  for (const SuiteOutcome& o : outcomes) {
    EXPECT_FALSE(o.metrics.empty()) << o.id;
    EXPECT_FALSE(o.checks.empty() && o.id != "T1.1") << o.id;
    for (const auto& m : o.metrics) EXPECT_TRUE(m.figure) << o.id << " " << m.name << ": " << m.why;
    for (const auto& c : o.checks) {
      const bool known = kKnownFailures.contains(o.id) && c.status == SuiteOutcome::Status::kFail;
      EXPECT_TRUE(known || c.status == SuiteOutcome::Status::kPass)
          << o.id << ": " << c.claim << "\n  " << c.expression << "\n  " << c.seen;
    }
  }
  const ToolCoverage own = own_coverage(suite, outcomes);
  EXPECT_EQ(own.full.size(), GetParam().second);
}

INSTANTIATE_TEST_SUITE_P(Bundled, Suites,
                         testing::Values(std::pair{"suite45", std::size_t{45}},
                                         std::pair{"suite28", std::size_t{28}}),
                         [](const auto& p) { return std::string(p.param.first); });

// The files say which questions; the counts are published.
TEST(SuiteCoverage, CountsAreThePublishedOnes) {
  const Bundle bundle;
  const Suite suite = read_suite("suite45", bundle);
  const auto tools = bundled_coverage(suite, bundle);
  ASSERT_EQ(tools.size(), 5u);
  for (const ToolCoverage& t : tools) {
    ASSERT_TRUE(t.published) << t.tool;
    EXPECT_EQ(t.full.size(), static_cast<std::size_t>(t.published->full)) << t.tool;
    EXPECT_EQ(t.partial.size(), static_cast<std::size_t>(t.published->partial)) << t.tool;
  }
}

}  // namespace
}  // namespace orrery
