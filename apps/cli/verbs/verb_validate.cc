// orrery validate: predictions against measured tables.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "apps/cli/facts/measured_tables.h"
#include "apps/cli/output/output.h"
#include "apps/cli/output/output_accuracy.h"
#include "apps/cli/verbs/verbs.h"
#include "orrery/base/error.h"
#include "orrery/validate/areas/areas.h"
#include "orrery/validate/choices/planner_choices.h"
#include "orrery/validate/judge/training.h"
#include "orrery/validate/report/baseline.h"

namespace orrery::cli {
namespace {

constexpr int kChangedCode = 5;  // exit code: answered, but a prediction changed

struct ValidateOptions {
  std::string area, data, table, baseline, html, output = "table";
  std::string tier = "best", rows, left_out_gpu;
  std::vector<std::string> fit_on;
  std::size_t points = 0;
  bool committed = false;
  Progress* progress = nullptr;

  ConstantsChoice constants() const {
    return committed ? ConstantsChoice::kCommitted : ConstantsChoice::kLeftOut;
  }
  bool all() const { return area == "all"; }
};

std::string group_name(const std::map<std::string, std::string>& by) {
  std::string name;
  for (const auto& [key, value] : by) name += (name.empty() ? "" : " ") + value;
  return name;
}

void print_table(const ErrorReport& report) {
  // A long name has a line of its own, so that none is wider than 80 columns.
  constexpr std::size_t kNameWidth = 22;
  const bool roofline = report.pooled.roofline.has_value();
  fmt::print("{}: errors in percent of the measured value\n", report.area);
  if (!report.note.empty()) fmt::print("{}\n", report.note);
  fmt::print("{:<22} {:>8} {:>6} {:>6} {:>6} {:>6} {:>4} {:>4} {:>8}\n", "group", "n", "mape",
             "median", "p90", "bias", "in50", "in90", roofline ? "roofline" : "");
  auto line = [](std::string name, const ErrorGroup& g) {
    if (name.size() > kNameWidth) {
      fmt::print("{}\n", name);
      name.clear();
    }
    const ErrorSummary& s = g.errors;
    fmt::print("{:<22} {:>8} {:>6.1f} {:>6.1f} {:>6.1f} {:>+6.1f} {:>4.0f} {:>4.0f} {:>8}\n", name,
               s.n, s.mape, s.median, s.p90, s.bias, s.coverage50, s.coverage90,
               g.roofline ? fmt::format("{:.1f}", *g.roofline) : "");
  };
  for (const ErrorGroup& g : report.groups) {
    if (!g.detail) line(group_name(g.by), g);
  }
  line("all", report.pooled);
  for (const ErrorGroup& g : report.others) line("all, " + group_name(g.by), g);
  for (const std::string& table : report.skipped) fmt::print("{}\n", table);
  std::size_t refused = 0;
  for (const RefusedRow& r : report.refused) refused += r.rows;
  if (refused > 0) fmt::print("{} rows refused (-o json says why)\n", refused);
}

void print(const ErrorReport& report, const std::string& output) {
  if (output == "json") return fmt::print("{}\n", to_json(report).dump(1));
  print_table(report);
}

KernelValidation kernel_options(const ValidateOptions& o) {
  KernelValidation v;
  v.table = o.table;
  const auto tier = parse_judged_tier(o.tier);
  if (!tier) {
    const std::vector<std::string> tiers = {"best", "measured", "transferred", "analytical"};
    throw InputError(
        fmt::format("validate: --tier: expected best, measured, transferred or analytical, got "
                    "'{}'{}",
                    o.tier, did_you_mean(o.tier, tiers)));
  }
  v.tier = *tier;
  v.fit_on = o.fit_on;
  v.left_out_gpu = o.left_out_gpu;
  v.points = o.points;
  v.committed = o.committed;
  if (!o.rows.empty()) v.all_rows = o.rows == "all";
  return v;
}

// One area as a table for people or as json.
void print_area(const ValidateOptions& o, const Bundle& bundle) {
  const bool json = o.output == "json";
  if (o.area == "kernels")
    return print(validate_kernels(o.data, kernel_options(o), bundle), o.output);
  if (o.area == "training") {
    const TrainingValidation v = validate_training(o.data, o.table, bundle, o.constants());
    if (json) return fmt::print("{}\n", to_json(v).dump(1));
    print_table(v.errors);
    return fmt::print("{}", remarks(v));
  }
  if (o.area == "planner") {
    const PlannerValidation v = validate_planner(o.data, o.table, bundle, o.constants());
    print(grouped(v.report), o.output);
    if (!json)
      for (const std::string& remark : v.remarks) fmt::print("{}\n", remark);
    return;
  }
  const ValidationReport report =
      judged_rows(validation_area(o.area), o.data, o.table, bundle, o.constants());
  if (json && o.area == "accelerator") {
    // Its cases are judged one by one, to the last digit.
    return fmt::print("{}\n", to_json_with_rows(report).dump(1));
  }
  print(grouped(report), o.output);
}

// Calls `run(area, folder, index)` for the area that was asked, or for all of them.
template <class Run>
void for_areas(const ValidateOptions& o, const Run& run) {
  if (o.all()) {
    return for_each_area(o.data, run, &o.progress->parts());
  }
  run(validation_area(o.area), std::filesystem::path(o.data), std::size_t{0});
}

std::size_t area_count(const ValidateOptions& o) { return o.all() ? validation_areas().size() : 1; }

void print_report(const ValidateOptions& o, const Bundle& bundle) {
  const std::vector<AccuracyArea> areas =
      o.all() ? validate_all(o.data, bundle, o.constants(), &o.progress->parts())
              : std::vector{accuracy_of(validation_area(o.area), o.data, kernel_options(o), bundle,
                                        o.constants())};
  const Document d = accuracy_document(areas, fmt::format("orrery validate {}", o.area));
  if (!o.html.empty()) write_file(o.html, d.html(), "--html");
  if (o.output == "json") {
    fmt::print("{}\n", nlohmann::ordered_json{{"areas", to_json(areas)}}.dump(1));
  } else {
    fmt::print("{}", o.output == "md" ? d.markdown() : o.output == "html" ? d.html() : d.plain());
  }
}

// Names that the rows of any area are grouped by.
const std::set<std::string> kRowColumns = {
    "table",  "metric", "predictor", "system",  "gpu",    "device",     "fabric",  "framework",
    "engine", "stack",  "dtype",     "family",  "kind",   "collective", "mode",    "subset",
    "layout", "limit",  "source",    "covered", "fitted", "seen",       "trusted", "vendor"};

void print_csv(const ValidateOptions& o, const Bundle& bundle) {
  // Rows of kernels are not kept in memory for a report of this area, because there are millions.
  if (!o.all()) fmt::print("{}", CsvRows::header(kRowColumns));
  std::vector<std::string> text(area_count(o));
  for_areas(o, [&](const ValidationArea& area, const std::filesystem::path& dir, std::size_t i) {
    CsvRows csv(area.name, kRowColumns);
    validate_area(area, dir, kernel_options(o), bundle, o.constants(),
                  [&](const ValidationRow& row) {
                    if (o.all()) {
                      text[i] += csv.line(row);
                    } else {
                      fmt::print("{}", csv.line(row));
                    }
                  });
  });
  if (!o.all()) return;
  fmt::print("{}", CsvRows::header(kRowColumns));
  for (const std::string& lines : text) fmt::print("{}", lines);
}

// Whether nothing changed.
bool compare(const ValidateOptions& o, const Bundle& bundle) {
  if (o.output == "csv") throw InputError("validate --baseline: -o table, md or json");
  Baseline before = read_baseline(o.baseline);
  if (!o.all() && before[validation_area(o.area).name].empty())
    throw InputError(fmt::format("{}: no rows of the area {}", o.baseline, o.area));
  // An area without data has lost all its rows.
  std::vector<BaselineComparison> comparisons;
  for (const ValidationArea& area : validation_areas()) {
    if (o.all() || o.area == area.name)
      comparisons.emplace_back(area.name, std::move(before[area.name]));
  }
  for_areas(o, [&](const ValidationArea& area, const std::filesystem::path& dir, std::size_t i) {
    BaselineComparison& comparison = comparisons[i];
    validate_area(area, dir, kernel_options(o), bundle, o.constants(),
                  [&](const ValidationRow& row) { comparison.add(row); });
  });
  std::vector<TableChange> changes;
  for (const BaselineComparison& c : comparisons) {
    for (TableChange& table : c.changes(o.table)) changes.push_back(std::move(table));
  }
  const Document d = changes_document(changes, o.baseline);
  if (o.output == "json") {
    fmt::print("{}\n", to_json(changes).dump(1));
  } else {
    fmt::print("{}", o.output == "md" ? d.markdown() : d.plain());
  }
  return std::all_of(changes.begin(), changes.end(), [](const TableChange& c) { return c.same(); });
}

void validate(ValidateOptions o, Context& context) {
  const std::string folder = o.all() ? "" : validation_area(o.area).folder;
  if (o.all() && !o.table.empty()) throw InputError("validate all: --table needs a single area");
  if (o.committed && !o.all() && !validation_area(o.area).left_out)
    throw InputError(fmt::format(
        "validate {}: --committed has no effect: its rows are predicted by the catalog", o.area));
  const bool page = !o.html.empty() || o.output == "html";
  if (page && !o.baseline.empty())
    throw InputError("validate --baseline: expected -o table, md or json; a page is not available");
  if (!o.html.empty() && o.output == "csv")
    throw InputError("validate -o csv: --html needs another format (-o table, md or json)");
  if (o.data.empty()) o.data = measured_tables(folder);
  o.progress = &context.progress;
  const Bundle bundle = context.bundle();
  if (!o.baseline.empty()) {
    if (!compare(o, bundle)) context.exit_code = kChangedCode;
  } else if (o.output == "csv") {
    print_csv(o, bundle);
  } else if (o.area == "training" && o.output == "md" && !page) {
    // The form of docs/lab/2026-11-training-accuracy.md.
    fmt::print("{}", to_markdown(validate_training(o.data, o.table, bundle, o.constants())));
  } else if (o.all() || o.output == "md" || page) {
    print_report(o, bundle);
  } else {
    print_area(o, bundle);
  }
}

}  // namespace

void add_validate(CLI::App& program, Context& context) {
  CLI::App* app = program.add_subcommand(
      "validate", "Compares predictions with measured tables and reports the errors.");
  auto o = std::make_shared<ValidateOptions>();
  app->add_option(
         "AREA", o->area,
         "all, kernels, layers, steps, inference, serving, network, training, training-memory, "
         "energy, neusight, edge, planner or accelerator")
      ->required();
  app->add_option("--data", o->data,
                  "folder of the measured tables of AREA; of all: the folder above those "
                  "[the area's folder below ORRERY_DATA, see docs/data.md]")
      ->type_name("DIR");
  app->add_option("--table", o->table, "validate only this table of the area")->type_name("NAME");
  app->add_flag("--committed", o->committed,
                "predict by the constants of the catalog, as every other verb does, in place of "
                "constants that were fitted without the row's group: figures in sample, no "
                "headline; kernels: all rows, those of the fit too");
  app->add_option("--tier", o->tier,
                  "kernels: measured, transferred (no file of the row's own GPU is used), "
                  "analytical (physics only) or best (the most certain tier of each call) [best]")
      ->type_name("TIER");
  app->add_option(
         "--rows", o->rows,
         "kernels: validate on the rows that the fit leaves out, or on all (tables that no fit has "
         "seen) [left-out; with --fit-on or --left-out-gpu all]")
      ->check(CLI::IsMember({"left-out", "all"}))
      ->type_name("ROWS");
  app->add_option(
         "--fit-on", o->fit_on,
         "kernels: fit again on DIR's rows of these systems alone (a,b,...), and validate on "
         "the other systems")
      ->delimiter(',')
      ->type_name("SYSTEMS");
  app->add_option("--left-out-gpu", o->left_out_gpu,
                  "kernels: validate on all rows of this GPU, as if it had no sweep: by the "
                  "surfaces of other GPUs and by physics; with --points N, also by N rows of each "
                  "class")
      ->type_name("GPU");
  app->add_option("--points", o->points,
                  "kernels: number of rows of each kernel class and GPU that calibrate it, chosen "
                  "as by `fit points --choose`; the other rows validate [0]")
      ->type_name("N");
  app->add_option(
         "--baseline", o->baseline,
         "report the predictions that changed since another build, row by row; FILE is the "
         "output of that build with -o csv")
      ->type_name("FILE");
  app->add_option("--html", o->html, "also write the report as a self-contained page")
      ->type_name("FILE");
  app->add_option("-o,--output", o->output,
                  "table, json, md, html (a self-contained page) or csv (one line per row) [table]")
      ->check(CLI::IsMember({"table", "json", "md", "html", "csv"}))
      ->type_name("FORMAT");
  app->footer(
      "Exit code 5: a prediction differs from the baseline's by more than 0.1 %, or\n"
      "rows were gained or lost.\n"
      "Examples:\n"
      "  orrery validate inference\n"
      "  orrery validate inference --committed --table single_request -o csv\n"
      "  orrery validate kernels --left-out-gpu rtx-pro-6000-server --points 32\n"
      "  orrery validate all -o md --html all.html > all.md\n"
      "  orrery validate all -o csv > before.csv\n"
      "  orrery validate all --baseline before.csv");
  app->callback([o, &context] { validate(*o, context); });
}

}  // namespace orrery::cli
