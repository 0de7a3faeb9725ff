// Asks the library one question: how fast is a model on a GPU?
#include <cstdio>

#include "orrery/kinds/all_kinds.h"
#include "orrery/scenario/document/scenario_sweep.h"
#include "orrery/scenario/runner/runner.h"

int main() {
  const orrery::Node question = orrery::parse_yaml(R"(
model: llama-3-70b
hardware: {gpu: h100-sxm}
parallel: {tp: 8}
workload: {isl: 1024, osl: 128, batch: [1, 16]}
)",
                                                   "question");
  const orrery::Answer answer =
      orrery::Runner(orrery::Bundle()).run(orrery::read_scenario(orrery::all_kinds(), question));
  for (const orrery::Point& point : answer.points) {
    const orrery::Metric& tpot = *point.find("tpot");
    std::printf("batch %s: TPOT %.2f ms, 90 %% from %.2f to %.2f ms\n",
                point.at["batch"].dump().c_str(), tpot.value, tpot.low90, tpot.high90);
  }
}
