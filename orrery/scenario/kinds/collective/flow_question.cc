#include "orrery/scenario/kinds/collective/flow_question.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "orrery/workload/ops/collective_algorithm.h"

namespace orrery {

bool FlowQuestion::asked() const {
  return fidelity == "flow" || !topology.empty() || !fail.empty() || !degrade.empty() ||
         !flow_algorithm.empty() || !chakra.empty() || as != "orrery";
}

void declare(Fields& f, FlowQuestion& q) {
  f.add("fidelity", q.fidelity,
        "analytical, or flow: transfers share the links of a topology; auto: flow where one of the "
        "keys below is given")
      .one_of({"auto", "analytical", "flow"});
  f.add("topology", q.topology,
        "file of a topology: Orrery's format (docs/network-flow.md) or ASTRA-sim's")
      .verbatim();
  f.add("fail", q.fail, "links that have failed: gpu3-rail3.leaf0, a->b for one direction")
      .unit("links")
      .repeats();
  f.add("degrade", q.degrade, "links with less bandwidth: LINK=FACTOR").unit("links").repeats();
  f.add("flow_algorithm", q.flow_algorithm,
        fmt::format("at flow level: {}; empty: the fastest",
                    fmt::join(collective_algorithm_names(AlgorithmModel::kFlow), ", ")))
      .needs("fidelity flow, or a topology", [&q] { return q.fidelity != "analytical"; });
  f.add("efficiency", q.efficiency, "at flow level: share of the line rate that is reached")
      .range(0.01, 1)
      .needs("fidelity flow, or a topology", [&q] { return q.asked(); });
  f.add("overhead", q.overhead, "at flow level: software latency of every message")
      .range(0, 1)
      .needs("fidelity flow, or a topology", [&q] { return q.asked(); });
  f.add("chakra", q.chakra, "replay the Chakra traces PREFIX.0.et, PREFIX.1.et, ...").verbatim();
  f.add("chakra_groups", q.chakra_groups, "file of the traces' communicator groups (JSON)")
      .verbatim()
      .needs("chakra", [&q] { return !q.chakra.empty(); });
  f.add("as", q.as, "also give the answer of another simulator's model: astra-sim")
      .one_of({"orrery", "astra-sim"});
}

}  // namespace orrery
