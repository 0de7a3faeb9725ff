#include "orrery/scenario/edge/edge_points.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

namespace orrery {
namespace {

// Says why the file of a network is answered as an LLM, and how its graph is asked for.
std::string note_of_file(EdgeTables& tables, const EdgeQuestion& q) {
  return fmt::format(
      "{} has the matrices of {}: these are llama.cpp's rates with {}; --runtime onnxruntime asks "
      "for one pass over the graph",
      std::filesystem::path(q.network).filename().string(),
      fmt::join(tables.language_models_of(q.network, tables.network(q.network, q.batch)), ", "),
      q.format);
}

}  // namespace

std::vector<Point> answer_edge(Facts& facts, const EdgeQuestion& q, const RunOptions& options) {
  EdgeTables& tables = facts.own<EdgeTables>();
  const std::string llm = tables.llm_of(q);
  if (llm.empty()) return answer_edge_network(tables, q, options.breakdown);
  if (llm == q.network) return answer_edge_llm(facts, tables, q, options.breakdown);
  EdgeQuestion asked = q;
  asked.network = llm;
  std::vector<Point> points = answer_edge_llm(facts, tables, asked, options.breakdown);
  const std::string note = note_of_file(tables, q);
  for (Point& p : points) p.notes.insert(p.notes.begin(), note);
  return points;
}

void check_edge_needs(const std::vector<Fields::Undecided>& values, bool networks, bool llms) {
  for (const Fields::Undecided& v : values) {
    if ((v.need == kNeedsNetwork && !networks) || (v.need == kNeedsLlm && !llms)) v.refuse();
  }
}

}  // namespace orrery
