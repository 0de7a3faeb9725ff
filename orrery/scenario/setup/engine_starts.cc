#include "orrery/scenario/setup/engine_starts.h"

#include <algorithm>

#include "orrery/base/error.h"

namespace orrery {
namespace {

// Widens the intervals of `p` by those of the same point of an engine that is started otherwise.
void widen_by(const Point& other, Point& p) {
  for (Metric& m : p.metrics) {
    const Metric* o = other.find(m.name);
    if (o == nullptr || !(m.has_interval() || o->has_interval())) continue;
    m.low90 = std::min(m.low90, o->low90), m.high90 = std::max(m.high90, o->high90);
    m.low50 = std::min(m.low50, o->low50), m.high50 = std::max(m.high50, o->high50);
  }
}

}  // namespace

void answer_both_starts(Facts& facts, const Scenario& s, const RunOptions& options,
                        const AnswerServing& answer, Point& p) {
  answer(s, options, p);
  if (!s.engine.setup.empty() || options.memory_only || !options.intervals) return;
  if (!facts.engine(s.engine.profile, facts.gpu(s.hardware.gpu)).setups.differ) return;
  Scenario tuned = s;
  tuned.engine.setup = engine_setup_names().back();
  RunOptions plain = options;
  plain.breakdown = plain.bounds = plain.steps = plain.requests = plain.chakra = false;
  Point other;
  try {
    answer(tuned, plain, other);
  } catch (const Infeasible&) {
    return;  // it does not fit when it is tuned
  }
  widen_by(other, p);
}

}  // namespace orrery
