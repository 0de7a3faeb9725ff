#include "orrery/scenario/kinds/steady/step_trace.h"

#include <algorithm>
#include <cmath>

#include "orrery/flow/chakra/chakra.h"

namespace orrery {

std::string chakra_step(const StepTime& step, const ParallelPlan& plan,
                        const EngineProfile& engine) {
  Program program;
  program.layers = step.layers;
  for (const StepTerm& t : step.terms) program.ops.push_back(t.op);
  double owed = 0;  // microseconds that rounding has left out so far
  const auto call = [&](const Op& op) {
    const auto at = std::find_if(program.ops.begin(), program.ops.end(),
                                 [&](const ProgramOp& p) { return &p.op == &op; });
    const StepTerm& term = step.terms[static_cast<std::size_t>(at - program.ops.begin())];
    owed += term.time.value / term.op.count / microseconds(1);
    const double whole = std::max(1.0, std::round(owed));
    owed -= whole;
    return microseconds(whole);
  };
  ChakraTrace trace = chakra_of(program, call, plan.tp);
  trace.library = engine.kernels.collectives;
  trace.collective_latency = engine.execution.collective_latency;
  return write_chakra(trace);
}

}  // namespace orrery
