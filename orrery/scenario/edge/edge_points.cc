#include "orrery/scenario/edge/edge_points.h"

namespace orrery {

std::vector<Point> answer_edge(Facts& facts, const EdgeQuestion& q, const RunOptions& options) {
  EdgeTables& tables = facts.own<EdgeTables>();
  if (tables.is_llm(q.network)) return answer_edge_llm(facts, tables, q, options.breakdown);
  return answer_edge_network(tables, q, options.breakdown);
}

void check_edge_needs(const std::vector<Fields::Undecided>& values, bool networks, bool llms) {
  for (const Fields::Undecided& v : values) {
    if ((v.need == kNeedsNetwork && !networks) || (v.need == kNeedsLlm && !llms)) v.refuse();
  }
}

}  // namespace orrery
