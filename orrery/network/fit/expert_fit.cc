#include "orrery/network/fit/expert_fit.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "orrery/base/csv.h"
#include "orrery/base/estimate.h"
#include "orrery/network/fit/measured_place.h"

namespace orrery {
namespace {

constexpr int kTableRanks = 8;

struct Row {
  double bytes, seconds;
};

// T = start + bytes / rate of the least squares of T / measured - 1, with start >= 0.
struct Line {
  double start = 0, rate = 0, sigma = 0;
};

Line fit_line(const std::vector<Row>& rows) {
  double aa = 0, ab = 0, bb = 0, a = 0, b = 0;
  for (const Row& r : rows) {
    const double u = 1 / r.seconds, v = r.bytes / r.seconds;
    aa += u * u, ab += u * v, bb += v * v, a += u, b += v;
  }
  const double determinant = aa * bb - ab * ab;
  Line line;
  line.start = (a * bb - b * ab) / determinant;
  line.rate = determinant / (aa * b - ab * a);
  if (!(line.start > 0) || !(line.rate > 0)) line.start = 0, line.rate = bb / b;
  std::vector<double> errors;
  for (const Row& r : rows)
    errors.push_back(std::abs(std::log((line.start + r.bytes / line.rate) / r.seconds)));
  const auto at = errors.begin() + static_cast<std::ptrdiff_t>(errors.size() * 9 / 10);
  std::nth_element(errors.begin(), at, errors.end());
  line.sigma = *at / normal_quantile(0.95);
  return line;
}

using Tables = std::map<std::string, std::map<int, std::vector<Row>>>;  // by fabric, then SMs

// Rows of one kind of exchange within a node.
Tables read_inside(const std::filesystem::path& file, ExpertExchange kind, NodeOf& node_of,
                   const ExpertGroup& without, std::set<ExpertGroup>& groups) {
  CsvReader csv(file);
  const int system = csv.column("system"), table = csv.column("table"), op = csv.column("op"),
            hidden = csv.column("hidden"), top_k = csv.column("topk"),
            tokens = csv.column("tokens"), sms = csv.column("sms"),
            latency = csv.column("latency_us");
  const std::string_view wanted = kind.low_latency ? "deepep_ll" : "deepep_normal";
  const std::string_view op_wanted = kind.combine ? "combine" : "dispatch";
  Tables tables;
  while (csv.next()) {
    if (csv.text(table) != wanted || csv.text(op) != op_wanted) continue;
    const Cluster& node = node_of(std::string(csv.text(system)));
    const GroupLink link = node.link(kTableRanks);
    const ExpertGroup group{link.fabric->id, node.gpu().id};
    groups.insert(group);
    if (group == without) continue;
    kind.hidden = static_cast<int>(csv.integer(hidden));
    kind.top_k = static_cast<int>(csv.integer(top_k));
    kind.tokens = csv.integer(tokens);
    const int with = static_cast<int>(csv.optional_number(sms).value_or(0));
    tables[link.fabric->id][with].push_back(
        {expert_bytes(kind, link).inside.value(), csv.number(latency) * 1e-6});
  }
  return tables;
}

void fit_inside(const std::filesystem::path& data, NodeOf& node_of, const ExpertGroup& without,
                std::set<ExpertGroup>& groups,
                std::map<std::string, std::vector<ExpertCurve>>& out) {
  for (const bool low_latency : {true, false}) {
    for (const bool combine : {false, true}) {
      ExpertExchange kind;
      kind.combine = combine, kind.low_latency = low_latency;
      for (const auto& [fabric, by_sms] :
           read_inside(data / "kernels/collective_ep.csv.gz", kind, node_of, without, groups)) {
        const double nominal = node_of.catalog().fabric(fabric).bandwidth().value();
        const Line fewest = fit_line(by_sms.begin()->second);
        const Line most = fit_line(by_sms.rbegin()->second);
        ExpertCurve c;
        c.combine = combine, c.low_latency = low_latency;
        c.start = Seconds(most.start);
        c.share = most.rate / nominal;
        if (!low_latency) c.each_sm = BytesPerSecond(fewest.rate / by_sms.begin()->first);
        for (const auto& [sms, rows] : by_sms) c.rows += static_cast<std::int64_t>(rows.size());
        c.left_out_error = most.sigma;
        out[fabric].push_back(c);
      }
    }
  }
}

// "tokens=128;hidden=7168;topk=8;bf16"
std::int64_t value_of(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  std::int64_t v = 1;
  if (at != text.npos) std::from_chars(text.data() + at + key.size(), text.data() + text.size(), v);
  return v;
}

void fit_between(const std::filesystem::path& data, NodeOf& node_of, const ExpertGroup& without,
                 std::set<ExpertGroup>& groups,
                 std::map<std::string, std::vector<ExpertCurve>>& out) {
  CsvReader csv(data / "network/measured.csv");
  const int collective = csv.column("collective"), version = csv.column("version"),
            gpu = csv.column("gpu"), ranks = csv.column("n_gpus"), nodes = csv.column("nodes"),
            fabric = csv.column("fabric"), tuning = csv.column("tuning"),
            time = csv.column("time_us");
  std::map<std::string, std::vector<Row>> tables;
  while (csv.next()) {
    if (!csv.text(collective).starts_with("moe_") || csv.integer(nodes) == 1 ||
        csv.text(version).find("low-latency") == std::string_view::npos || csv.empty(time))
      continue;
    const auto place =
        measured_place(node_of.catalog(), csv.text(gpu), static_cast<int>(csv.integer(ranks)),
                       static_cast<int>(csv.integer(nodes)), csv.text(fabric));
    const GroupLink link = place->link(static_cast<int>(csv.integer(ranks)));
    const ExpertGroup group{link.fabric->id, place->gpu().id};
    groups.insert(group);
    if (group == without) continue;
    ExpertExchange x;
    x.low_latency = true, x.combine = csv.text(collective) == "moe_combine";
    x.tokens = value_of(csv.text(tuning), "tokens=");
    x.hidden = static_cast<int>(value_of(csv.text(tuning), "hidden="));
    x.top_k = static_cast<int>(value_of(csv.text(tuning), "topk="));
    tables[link.fabric->id].push_back(
        {expert_bytes(x, link).between.value(), csv.number(time) * 1e-6});
  }
  for (const auto& [id, rows] : tables) {
    if (rows.size() < 3) continue;
    const Line line = fit_line(rows);
    // The start within the node is subtracted. The rows are of H800, whose NVSwitch has the fitted
    // start.
    const auto board = out.find("nvlink4-nvswitch");
    const Seconds apart = board == out.end() ? Seconds(0) : board->second.front().start;
    const double nominal = node_of.catalog().fabric(id).bandwidth().value();
    for (const bool low_latency : {true, false}) {
      for (const bool combine : {false, true}) {
        ExpertCurve c;
        c.combine = combine, c.low_latency = low_latency;
        c.start = std::max(Seconds(line.start) - apart, microseconds(1));
        c.share = std::min(line.rate / nominal, 0.97);
        c.rows = static_cast<std::int64_t>(rows.size());
        c.left_out_error = std::max(line.sigma, 0.05);
        out[id].push_back(c);
      }
    }
  }
}

}  // namespace

std::map<std::string, std::vector<ExpertCurve>> fit_experts(const std::filesystem::path& data,
                                                            NodeOf& node_of,
                                                            const ExpertGroup& without,
                                                            std::set<ExpertGroup>& groups) {
  std::map<std::string, std::vector<ExpertCurve>> out;
  fit_inside(data, node_of, without, groups, out);
  fit_between(data, node_of, without, groups, out);
  return out;
}

}  // namespace orrery
