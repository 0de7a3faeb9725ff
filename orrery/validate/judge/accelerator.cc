#include "orrery/validate/judge/accelerator.h"

#include <cmath>

#include "orrery/accelerator/cost/nest_cost.h"
#include "orrery/accelerator/cost/sparse_cost.h"
#include "orrery/accelerator/count/timeloop_count.h"
#include "orrery/accelerator/count/validity.h"
#include "orrery/base/error.h"
#include "orrery/validate/chips/llmcompass.h"
#include "orrery/validate/chips/looptree.h"
#include "orrery/validate/judge/fixed_dataflows.h"
#include "orrery/validate/rows/timeloop_rows.h"

namespace orrery {
namespace {

void add_row(const std::string& table, const char* metric, const std::string& row, double measured,
             double predicted, ValidationReport& report) {
  ValidationRow r;
  r.by = {{"table", table}, {"metric", metric}};
  r.row = r.what = row;
  r.measured = measured;
  r.predicted = r.low50 = r.high50 = r.low90 = r.high90 = predicted;
  r.origin = Origin::kExact;
  report.rows.push_back(std::move(r));
}

bool same(double ours, double theirs) {
  return std::abs(ours - theirs) <= 1e-6 * std::max(1.0, std::abs(theirs));
}

void judge_case(const std::string& table, const TimeloopCase& c, ValidationReport& report) {
  NestCounts counts;
  TimeloopCounter(c.problem, c.chip).count(c.mapping, counts);
  NestCost cost;
  cost_nest(c.chip, counts, cost);
  double all = 0, equal = 0;
  for (const TimeloopCount& expected : c.counts) {
    const TensorCounts& ours = counts.levels[expected.level].tensors[expected.tensor];
    for (const bool right :
         {same(ours.tile, expected.tile), same(ours.reads, expected.reads),
          same(ours.fills, expected.fills), same(ours.updates, expected.updates)}) {
      all += 1;
      equal += right ? 1 : 0;
    }
  }
  add_row(table, "counts", c.id, all, equal, report);
  add_row(table, "cycles", c.id, c.cycles, cost.cycles, report);
  add_row(table, "energy_pj", c.id, c.energy_pj, cost.energy, report);
}

bool about(double ours, double theirs) {
  return std::abs(ours - theirs) <= std::max(1.0, 0.01 * std::abs(theirs));
}

bool about(const SparseAccesses& ours, const SparseAccesses& theirs) {
  return about(ours.random, theirs.random) && about(ours.gated, theirs.gated) &&
         about(ours.skipped, theirs.skipped);
}

void judge_sparse_case(const std::string& table, const TimeloopCase& c, ValidationReport& report) {
  NestCounts dense;
  TimeloopCounter(c.problem, c.chip).count(c.mapping, dense);
  const SparseCounts counts = sparse_counts(c.problem, c.chip, c.mapping, dense, *c.sparse);
  NestCost cost;
  cost_sparse(c.chip, *c.sparse, counts, cost);
  double all = 0, equal = 0;
  for (const TimeloopCount& expected : c.counts) {
    const SparseTensorCounts& ours = counts.levels[expected.level][expected.tensor];
    for (const bool right :
         {about(ours.tile, expected.sparse.tile), about(ours.reads, expected.sparse.reads),
          about(ours.fills, expected.sparse.fills), about(ours.updates, expected.sparse.updates)}) {
      all += 1;
      equal += right ? 1 : 0;
    }
  }
  add_row(table, "counts", c.id, all, equal, report);
  add_row(table, "cycles", c.id, c.cycles, cost.cycles, report);
  add_row(table, "energy_pj", c.id, c.energy_pj, cost.energy, report);
}

// Whether the reason that Timeloop gave is of this class.
bool same_class(const std::string& reason, const Violation& v) {
  const bool capacity = reason.find("capacity") != std::string::npos;
  return capacity == (v.kind == Violation::Kind::kCapacity);
}

void judge_refusal(const std::string& table, const TimeloopCase& c, ValidationReport& report) {
  std::vector<Violation> found = fan_out_violations(c.chip, c.mapping);
  if (found.empty()) {
    NestCounts counts;
    TimeloopCounter(c.problem, c.chip).count(c.mapping, counts);
    if (c.sparse) {
      const SparseCounts sparse = sparse_counts(c.problem, c.chip, c.mapping, counts, *c.sparse);
      counts = sparse.occupied;
      const bool metadata = !metadata_violations(c.chip, *c.sparse, sparse).empty();
      if (metadata) found.push_back({.kind = Violation::Kind::kCapacity});
    }
    const std::vector<Violation> tiles = capacity_violations(c.chip, counts);
    found.insert(found.end(), tiles.begin(), tiles.end());
  }
  add_row(table, "refused", c.id, 1, !found.empty() && same_class(c.refusal, found.front()) ? 1 : 0,
          report);
}

void judge(const std::string& table, const TimeloopCase& c, ValidationReport& report) {
  if (!c.refusal.empty()) return judge_refusal(table, c, report);
  if (c.sparse) return judge_sparse_case(table, c, report);
  judge_case(table, c, report);
}

}  // namespace

ValidationReport validate_accelerator(const std::filesystem::path& dir, const std::string& table,
                                      const Bundle& bundle) {
  ValidationReport report;
  report.area = "accelerator";
  for (const char* name : {"timeloop_cases", "timeloop_sparse_cases", "timeloop_refused"}) {
    if (!table.empty() && table != name) continue;
    const bool refused = std::string(name) == "timeloop_refused";
    const std::filesystem::path file = dir / (std::string(name) + (refused ? ".json" : ".json.gz"));
    if (!has_table(file, report)) continue;
    const auto failed = [&](const std::string& id, const std::string& why) {
      report.refused.push_back({id, why});
    };
    for (const TimeloopCase& c : read_timeloop_cases(file, failed)) {
      try {
        judge(name, c, report);
      } catch (const Infeasible& e) {
        failed(c.id, e.what());
      } catch (const InputError& e) {
        failed(c.id, e.what());
      }
    }
  }
  judge_fixed_dataflows(dir, table, report);
  if (table.empty() || table == "llmcompass_measured") {
    const std::filesystem::path file = dir / "llmcompass_measured.csv";
    if (has_table(file, report)) judge_llmcompass(file, bundle, report);
  }
  if (table.empty() || table == "optimal_mappings") {
    const std::filesystem::path file = dir / "optimal_mappings.txt";
    if (has_table(file, report)) judge_optimal_mappings(file, bundle, report);
  }
  return report;
}

}  // namespace orrery
