#include "orrery/scenario/kinds/edge/edge_points.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "orrery/base/error.h"

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

std::vector<Point> answer_burst(Facts& facts, const EdgeQuestion& q, const RunOptions& options) {
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

// A time between that of a short load and 1 / least of it: the value is their geometric mean.
void slow_time(double least, Metric& m) {
  m.value /= std::sqrt(least), m.high50 /= least, m.high90 /= least;
}

void slow_rate(double least, Metric& m) {
  m.value *= std::sqrt(least), m.low50 *= least, m.low90 *= least;
}

// The point of a load of minutes.
void throttle(const EdgeThrottling& by, Point& p) {
  for (Metric& m : p.metrics) {
    if (m.name == "latency" || m.name == "ttft" || m.name == "tpot") slow_time(by.least, m);
    if (m.subject == Subject::kRate) slow_rate(by.least, m);
    // The most that a token takes, at the same power in the longest time.
    if (m.name == "energy_per_token_limit") {
      m.value /= by.least;
      m.low50 = m.low90 = m.high50 = m.high90 = m.value;
    }
  }
  for (KernelRow& k : p.kernels) k.time.value *= 1 / std::sqrt(by.least);
  p.notes.push_back(fmt::format(
      "a load of minutes: heat leaves {:.3g} % of the speed at the least, all of it with "
      "enough cooling ({})",
      100 * by.least, by.source));
}

}  // namespace

std::vector<Point> answer_edge(Facts& facts, const EdgeQuestion& q, const RunOptions& options) {
  std::vector<Point> points = answer_burst(facts, q, options);
  if (!q.sustained) return points;
  const EdgeThrottlings& known = facts.own<EdgeTables>().throttlings();
  const auto of = [&](const Point& p) { return known.of(p.at["device"].get<std::string>()); };
  std::erase_if(points, [&](const Point& p) { return of(p) == nullptr; });
  if (points.empty())
    throw NoData(fmt::format(
        "edge.sustained: no source says what heat leaves of {}'s speed in a load of minutes",
        q.device));
  for (Point& p : points) throttle(*of(p), p);
  return points;
}

void check_edge_needs(const std::vector<Fields::Undecided>& values, bool networks, bool llms) {
  for (const Fields::Undecided& v : values) {
    if ((v.need == kNeedsNetwork && !networks) || (v.need == kNeedsLlm && !llms)) v.refuse();
  }
}

}  // namespace orrery
