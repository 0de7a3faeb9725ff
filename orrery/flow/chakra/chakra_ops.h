// Writes the nodes that a replay of Chakra traces runs (chakra_replay.h) as operations of a flow
// program.
#pragma once

#include <map>
#include <vector>

#include "orrery/flow/chakra/chakra.h"
#include "orrery/flow/chakra/chakra_types.h"
#include "orrery/flow/simulation/flow_program.h"

namespace orrery {

class ChakraOps {
 public:
  using Groups = std::vector<std::vector<int>>;

  // `replay` must outlive it.
  explicit ChakraOps(const ChakraReplay& replay) : replay_(replay), collectives_(program_) {}
  ChakraOps(const ChakraOps&) = delete;
  ChakraOps& operator=(const ChakraOps&) = delete;

  // Each appends the operations of a node and returns those at whose end the node has ended.
  // InputError: a node without a time.
  std::vector<int> compute(const ChakraNode& n, const std::vector<int>& ranks,
                           const std::vector<int>& after);
  std::vector<int> collective(const ChakraNode& n, const Groups& groups,
                              const std::vector<int>& after);
  std::vector<int> messages(const ChakraNode& n, FlowPattern pattern,
                            const std::vector<int>& after);

  FlowProgram take() { return std::move(program_); }

 private:
  Seconds duration(const ChakraNode& n) const;
  int add(FlowOp op, const std::vector<int>& after);
  int compute_for(const ChakraNode& n, Seconds time, const std::vector<int>& ranks,
                  const std::vector<int>& after);
  std::vector<int> to_or_from_first(const ChakraNode& n, const Groups& groups,
                                    const std::vector<int>& after);

  const ChakraReplay& replay_;
  FlowProgram program_;
  FlowCollectives collectives_;
  std::map<Groups, int> sets_;
};

}  // namespace orrery
