// The decision rule among candidates whose figures are predictions with a stated error: the highest
// expected score.
//
// A candidate that misses a limit when it runs is worth nothing, however good its other figures
// are. Its worth before it runs is therefore the expectation of what it will bring,
//
//   P(all limits hold) x score
//
// The score at the median prediction alone is no such expectation: of many candidates it favours
// those that lie just below a limit, of which about half miss it, and among those the ones whose
// error happens to flatter them. The expectation gives room below a limit what the room is worth,
// and no more: a chance of 90 % and a score of 10 are as good as a chance of 100 % and a score of
// 9.
//
// Some settings of a candidate can still be changed when it runs: the rate, or the number of users,
// that is let in. Such a candidate brings the score of its best setting that keeps the limits then.
// Faster steps than predicted bring nothing more than its best setting, because nothing more is
// planned for.
//
// A setting whose median prediction misses a limit does not stand for choice: nobody is to be told
// to deploy what will probably fail.
//
// The planner ranks plans by this rule (planner/verify/race.h), and `orrery validate planner`
// judges it on measured layouts (validate/choices/regret.h).
#pragma once

#include <span>

namespace orrery {

// The levels of an error at which candidates are judged: its quantiles of 5, 15, ... 95 %. A chance
// is the share of the levels at which the limits hold.
inline constexpr int kLevels = 10;
// The standard deviations of a level, 0 to kLevels - 1.
double deviations_at(int level);

// A setting of a candidate.
struct Prospect {
  double score = 0;  // where all limits hold; more is better
  int levels = 0;    // at which all limits hold, the fastest ones first

  double chance() const { return static_cast<double>(levels) / kLevels; }
  // Whether the limits hold at the median.
  bool stands() const { return 2 * levels >= kLevels; }
};

// The expected score of a candidate with these settings, of which one that stands can be taken when
// it runs: the mean over the levels of the highest score of a setting that keeps the limits there.
// At the levels below the median it is the highest of all. 0: none stands.
double expected_score(std::span<const Prospect> settings);

// A quantity of which less is better, such as USD an hour, over the chance that the limits hold:
// what an hour within the limits takes. It is the reciprocal of the expected score of 1/quantity,
// so that the candidate with the least has the highest expected score. 0 chance: no end.
double per_chance(double quantity, double chance);

// The levels at which a figure is at most `limit` if its logarithm is normal around that of
// `median`; kLevels / 2 or more just where the median is.
int levels_within(double median, double deviation, double limit);

}  // namespace orrery
