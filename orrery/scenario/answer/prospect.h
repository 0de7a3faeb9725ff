// The decision rule among candidates whose figures are predictions with a stated error: the highest
// expected score, P(all limits hold) x score.
//
// A candidate that misses a limit when it runs is worth nothing, however good its other figures
// are. Its worth before it runs is therefore its score times the chance that its limits hold, which
// is the expectation of what it brings. The score at the median prediction alone is no such
// expectation: of many candidates it favours those that lie just below a limit, of which about half
// miss it, and among those the ones whose error happens to flatter them. The expectation gives a
// candidate with room below its limits what the room is worth, and no more: a chance of 90 % and a
// score of 10 are as good as a chance of 100 % and a score of 9.
//
// A candidate whose median prediction misses a limit does not stand for choice, whatever its
// expected score is: nobody is to be told to deploy what will probably fail.
//
// The planner ranks plans by this rule (planner/verify/race.h), and `orrery validate planner`
// judges it on measured layouts (validate/choices/regret.h).
#pragma once

namespace orrery {

struct Prospect {
  double score = 0;    // where all limits hold; more is better
  double chance = 1;   // that all limits hold, 0 to 1
  bool stands = true;  // the median prediction keeps all limits

  double expected() const { return chance * score; }
};

// Whether `a` is to be chosen before `b`.
inline bool preferred(const Prospect& a, const Prospect& b) {
  if (a.stands != b.stands) return a.stands;
  return a.expected() > b.expected();
}

// A quantity of which less is better, such as USD an hour, over the chance that the limits hold:
// what one hour within the limits takes. It is the reciprocal of the expected score of 1/quantity,
// so that the candidate with the least is the one that preferred() prefers. 0 chance: no end.
double per_chance(double quantity, double chance);

// The chance that a figure is at most `limit` if its logarithm is normal around that of `median`. 0
// `deviation`: 0 or 1. No limit is infinity.
double chance_within(double median, double deviation, double limit);

}  // namespace orrery
