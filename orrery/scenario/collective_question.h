// A question about communication alone: one collective over a group of GPUs, without a model.
//
//   hardware: {node: hgx-h100}            # its usual GPU and network; or {gpu: h100-sxm}
//   collective: {kind: all-reduce, bytes: 1K-16G*4, gpus: [8, 64, 1024]}
//
// The answer has a point for each group size and message size, with the time of one call, algbw
// (bytes / time) and busbw (nccl-tests' convention), algorithm and protocol.
#pragma once

#include <string>

#include "orrery/base/bundle.h"
#include "orrery/base/fields.h"
#include "orrery/hardware/catalog.h"
#include "orrery/scenario/answer.h"
#include "orrery/scenario/flow_question.h"
#include "orrery/scenario/sweep.h"

namespace orrery {

struct CollectiveQuestion {
  std::string kind = "all-reduce";
  Sweep bytes = {64 << 20};  // nccl-tests' size (Collective::bytes of workload/op.h)
  Sweep gpus = {8};          // of the group
  int stride = 1;            // between its members; all groups of the kind run at once
  std::string stack = "nccl";
  bool gpus_given = false;  // set by read_scenario
  FlowQuestion flow;
};

// The names of kinds, in the order of Collective::Kind.
const std::vector<std::string>& collective_names();

void declare(Fields& fields, CollectiveQuestion& question);

// The points for `node` (empty: the usual one of `gpu`) with GPUs of kind `gpu` (empty: the first
// that the node is built with). InputError, Infeasible as of make_network_model.
std::vector<Point> answer_collectives(const CollectiveQuestion& question, const std::string& gpu,
                                      const std::string& node, const Bundle& bundle);

}  // namespace orrery
