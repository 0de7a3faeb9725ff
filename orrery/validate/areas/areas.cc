#include "orrery/validate/areas/areas.h"

#include <fmt/format.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <array>
#include <atomic>
#include <exception>

#include "orrery/base/error.h"
#include "orrery/validate/choices/planner_choices.h"
#include "orrery/validate/edge/judge_edge.h"
#include "orrery/validate/energy/judge_energy.h"
#include "orrery/validate/judge/accelerator.h"
#include "orrery/validate/judge/inference.h"
#include "orrery/validate/judge/layers.h"
#include "orrery/validate/judge/network.h"
#include "orrery/validate/judge/neusight.h"
#include "orrery/validate/judge/peers.h"
#include "orrery/validate/judge/serving.h"
#include "orrery/validate/judge/steps.h"
#include "orrery/validate/judge/training.h"
#include "orrery/validate/judge/training_memory.h"

namespace orrery {
namespace {

constexpr std::array<ValidationArea, 13> kAreas = {{
    {"kernels", "kernels", "kernels", true,
     "Single calls of kernels, of the shapes (15 %) that the fits of catalog/kernels leave out; "
     "their "
     "neighbours on the grids of the sweeps are fitted. The roofline is max(flops / peak, bytes / "
     "bandwidth)."},
    {"layers", "layers", "layers", false,
     "Layers as they run inside an engine, predicted from kernels. fitted: yes for the small "
     "layers "
     "that are fitted on these rows."},
    {"steps", "inference/request_level", "inference/request_level", false,
     "Decode steps of running services, over one second each. Nothing is fitted on these rows."},
    {"inference", "inference", "inference/single_request.csv", true,
     "Single requests, static batches and closed loops by the closed forms. fitted: yes where the "
     "row's group (model, format, system, framework) may have fitted its engine's constants; no "
     "where it never did. seen: no where the authors never looked at a row of the group "
     "(catalog/validation/seen-groups.txt)."},
    {"serving", "inference", "inference/serving_steady.csv", true,
     "Services under load by simulation, request by request; \"(transferred)\" as if no layer had "
     "been measured on that GPU. fitted: left out where the constants were fitted without the "
     "row's "
     "model and system; yes and no as above. seen: as above."},
    {"network", "", "network/measured.csv", true,
     "Collectives, by size. The constants are fitted on rows of these tables: errors of the fit, "
     "not of new networks (groups left out: docs/network.md). Other predictors are a ring by the "
     "data sheet (alpha-beta) and ASTRA-sim."},
    {"training", "training", "training/iteration.csv", true,
     "Training iterations. left-out source: predicted by constants fitted without the row's "
     "source; "
     "covered: another source has that GPU and number format. three own rows: the same, calibrated "
     "by three rows of the source, drawn ten times. mlperf: left out as one source."},
    {"training-memory", "training", "training/iteration.csv", true,
     "Memory of a training rank, predicted by constants fitted without the row's source. "
     "Undescribed "
     "rows do not state what was measured or how; they are reported, but are no part of the "
     "result."},
    {"neusight", "training", "training/neusight_labels.csv", false,
     "Whole models in fp32 eager PyTorch, compared with NeuSight and the tools that it compares "
     "with. Kernels are fitted on sweeps of single kernels; only the width of the intervals is "
     "fitted on these rows."},
    {"energy", "energy", "energy/kernel_power.csv.gz", false,
     "Power of boards while a kernel is repeated, of the shapes (15 %) that the fit leaves out, in "
     "the time that was measured. GPU left out: all calls of a GPU, by constants that were fitted "
     "on the other GPUs. llm_energy: services, each model of a GPU by constants that its rows did "
     "not fit. mlperf: servers at the wall, by node figures that are not of the judged server."},
    {"edge", "edge", "edge/cnn_edge.csv", false,
     "Latencies of CNNs with ncnn on phones, boards and computers, each device by a law that was "
     "fitted on the others: by its facts alone, and with 5 and 10 other networks measured on it."},
    {"planner", "", "planner", true,
     "Choices among measured layouts by prediction. A row is a question; measured is the best "
     "score "
     "(output tokens/s per GPU within a limit of TPOT, iterations/s), predicted the measured score "
     "of what was chosen, so that the error is the regret. Constants are fitted without the model "
     "on "
     "that system, or without the source. shared: the points that AIConfigurator predicts."},
    {"accelerator", "accelerator", "accelerator", false,
     "Models of custom chips against recorded results of Timeloop. Nothing is fitted. counts: how "
     "many access counts of a case are there, and how many are equal here."},
}};

// The areas in the order of falling time, so that the longest start first.
constexpr std::array<std::string_view, 13> kByTime = {
    "kernels", "planner", "serving", "training", "inference", "layers",     "training-memory",
    "network", "edge",    "energy",  "neusight", "steps",     "accelerator"};

ValidationReport training_rows(const std::filesystem::path& dir, const std::string& table,
                               const Bundle& bundle, ConstantsChoice constants,
                               std::vector<std::string>& remarks_out) {
  TrainingValidation v = validate_training(dir, table, bundle, constants);
  for (const PeerIteration& p : v.peers) {
    ValidationRow r;
    r.by = {{"table", "peer_calculon"}};
    r.row = r.what = p.name;
    r.measured = p.published.value();
    r.predicted = r.low50 = r.high50 = r.low90 = r.high90 = p.orrery.value();
    r.origin = Origin::kFitted;
    r.peers["Calculon"] = p.peer.value();
    v.report.rows.push_back(std::move(r));
  }
  if (v.all_pairs.pairs > 0)
    remarks_out.push_back(fmt::format(
        "Two measured layouts of one job: the faster one is predicted to be the faster in {:.1f} % "
        "of {} pairs, in {:.1f} % of the {} whose times differ beyond the noise.",
        v.all_pairs.percent(), v.all_pairs.pairs, v.distinct_pairs.percent(),
        v.distinct_pairs.pairs));
  return std::move(v.report);
}

// Groups rows of collectives by system, the second word of a row's name: "measured.csv:2 B200_SXM
// x16 1024 B".
void add_systems(std::vector<ValidationRow>& rows) {
  for (ValidationRow& r : rows) {
    const std::size_t begin = r.row.find(' ') + 1;
    r.by["system"] = r.row.substr(begin, r.row.find(' ', begin) - begin);
  }
}

// The rows of an area as its report has them: with the predictions of other tools.
ValidationReport rows_of(const ValidationArea& of, const std::filesystem::path& dir,
                         const std::string& table, const Bundle& bundle, ConstantsChoice constants,
                         std::vector<std::string>& remarks_out) {
  const std::string_view area = of.name;
  if (area == "training") return training_rows(dir, table, bundle, constants, remarks_out);
  if (area == "planner") {
    PlannerValidation v = validate_planner(dir, table, bundle, constants);
    remarks_out = std::move(v.remarks);
    return std::move(v.report);
  }
  ValidationReport r = judged_rows(of, dir, table, bundle, constants);
  if (area == "network") add_systems(r.rows);
  if (area == "inference" || area == "serving") add_inference_peers(dir, r.rows);
  if (area == "neusight") add_neusight_peers(dir, r.rows);
  return r;
}

}  // namespace

std::span<const ValidationArea> validation_areas() { return kAreas; }

const ValidationArea& validation_area(const std::string& name) {
  std::vector<std::string> names = {"all"};
  for (const ValidationArea& area : kAreas) {
    if (name == area.name) return area;
    names.emplace_back(area.name);
  }
  throw InputError(fmt::format("validate: expected {}, got '{}'{}", fmt::join(names, ", "), name,
                               did_you_mean(name, names)));
}

ValidationReport judged_rows(const ValidationArea& of, const std::filesystem::path& dir,
                             const std::string& table, const Bundle& bundle,
                             ConstantsChoice constants) {
  const std::string_view area = of.name;
  if (area == "layers") return validate_layers(dir, table, bundle);
  if (area == "steps") return validate_steps(dir, table, bundle);
  if (area == "inference") return validate_inference(dir, table, bundle, constants);
  if (area == "serving") return validate_serving(dir, table, bundle, constants);
  if (area == "network") return validate_network(dir, table, bundle, constants);
  if (area == "neusight") return validate_neusight(dir, table, bundle);
  if (area == "accelerator") return validate_accelerator(dir, table, bundle);
  if (area == "energy") return validate_energy(dir, table, bundle);
  if (area == "edge") return validate_edge(dir, table, bundle);
  return validate_training_memory(dir, table, bundle, constants);
}

AreaNotes validate_area(const ValidationArea& area, const std::filesystem::path& dir,
                        const KernelValidation& kernels, const Bundle& bundle,
                        ConstantsChoice constants, const EachRow& each) {
  AreaNotes notes;
  if (std::string_view(area.name) == "kernels") {
    ErrorReport report = validate_kernels(dir, kernels, bundle, each);
    notes.refused = std::move(report.refused);
    if (!report.note.empty()) notes.remarks.push_back(report.note);
    return notes;
  }
  ValidationReport report = rows_of(area, dir, kernels.table, bundle, constants, notes.remarks);
  if (!report.note.empty()) notes.remarks.insert(notes.remarks.begin(), report.note);
  for (const ValidationRow& row : report.rows) each(row);
  notes.refused = std::move(report.refused);
  notes.remarks.insert(notes.remarks.end(), report.skipped.begin(), report.skipped.end());
  return notes;
}

AccuracyArea accuracy_of(const ValidationArea& area, const std::filesystem::path& dir,
                         const KernelValidation& kernels, const Bundle& bundle,
                         ConstantsChoice constants) {
  AccuracyTally tally(area.name);
  AreaNotes notes = validate_area(area, dir, kernels, bundle, constants,
                                  [&](const ValidationRow& row) { tally.add(row); });
  AccuracyArea out = tally.area(notes.refused);
  out.about = area.about;
  out.remarks = std::move(notes.remarks);
  return out;
}

void for_each_area(const std::filesystem::path& data,
                   const std::function<void(const ValidationArea&, const std::filesystem::path& dir,
                                            std::size_t index)>& run,
                   PartMeter* meter) {
  std::vector<std::size_t> wanted;
  for (const std::string_view name : kByTime) {
    const ValidationArea& area = validation_area(std::string(name));
    if (std::filesystem::exists(data / area.needs))
      wanted.push_back(static_cast<std::size_t>(&area - kAreas.data()));
  }
  if (wanted.empty())
    throw InputError(
        fmt::format("{}: no tables of any area (such as {})", data.string(), kAreas.front().needs));
  expect_parts(meter, wanted.size());
  std::array<std::exception_ptr, kAreas.size()> failures;
  std::atomic<std::size_t> begun = 0;
  const auto next = [&](const auto&) {
    // A free thread takes the longest remaining area.
    const std::size_t index = wanted[begun++];
    try {
      run(kAreas[index], data / kAreas[index].folder, index);
    } catch (...) {
      failures[index] = std::current_exception();
    }
    finish_parts(meter);
  };
  // Each area is a task of its own, so that no area waits behind another one in its thread.
  tbb::parallel_for(tbb::blocked_range<std::size_t>(0, wanted.size(), 1), next,
                    tbb::simple_partitioner());
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

std::vector<AccuracyArea> validate_all(const std::filesystem::path& data, const Bundle& bundle,
                                       ConstantsChoice constants, PartMeter* meter) {
  std::vector<AccuracyArea> out(kAreas.size());
  for (std::size_t i = 0; i < kAreas.size(); ++i) {
    out[i].name = kAreas[i].name, out[i].about = kAreas[i].about;
    out[i].remarks = {fmt::format("No data: the folder has no `{}`.", kAreas[i].needs)};
  }
  KernelValidation kernels;
  kernels.committed = constants == ConstantsChoice::kCommitted;
  for_each_area(
      data,
      [&](const ValidationArea& area, const std::filesystem::path& dir, std::size_t index) {
        out[index] = accuracy_of(area, dir, kernels, bundle, constants);
      },
      meter);
  return out;
}

}  // namespace orrery
