// orrery validate: predictions against measured tables.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "apps/cli/output.h"
#include "apps/cli/verbs.h"
#include "orrery/base/error.h"
#include "orrery/validate/inference.h"
#include "orrery/validate/kernels.h"
#include "orrery/validate/layers.h"
#include "orrery/validate/network.h"
#include "orrery/validate/neusight.h"
#include "orrery/validate/report.h"
#include "orrery/validate/serving.h"
#include "orrery/validate/steps.h"
#include "orrery/validate/training.h"
#include "orrery/validate/training_memory.h"

namespace orrery::cli {
namespace {

struct ValidateOptions {
  std::string area, data, table, output = "table";
  std::string tier = "best", rows;
  std::vector<std::string> fit_on;
  std::size_t points = 0;
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
  std::size_t refused = 0;
  for (const RefusedRow& r : report.refused) refused += r.rows;
  if (refused > 0) fmt::print("{} rows refused (-o json says why)\n", refused);
}

void print(const ErrorReport& report, const std::string& output) {
  if (output == "json") {
    fmt::print("{}\n", to_json(report).dump(1));
  } else if (output == "md") {
    fmt::print("{}", to_markdown(report));
  } else {
    print_table(report);
  }
}

using RowsOf = ValidationReport (*)(const std::filesystem::path& dir, const std::string& table,
                                    const Bundle& bundle);

void validate_rows(RowsOf rows_of, const ValidateOptions& o, const Bundle& bundle) {
  const ValidationReport report = rows_of(o.data, o.table, bundle);
  if (o.output == "csv") {
    fmt::print("{}", to_csv(report));
  } else if (o.output == "md") {
    fmt::print("{}", to_markdown(report));
  } else {
    print(grouped(report), o.output);
  }
}

void validate_training_rows(const ValidateOptions& o, const Bundle& bundle) {
  const TrainingValidation v = validate_training(o.data, o.table, bundle);
  if (o.output == "csv") {
    fmt::print("{}", to_csv(v.report));
  } else if (o.output == "json") {
    fmt::print("{}\n", to_json(v).dump(1));
  } else if (o.output == "md") {
    fmt::print("{}", to_markdown(v));
  } else {
    print_table(v.errors);
    fmt::print("{}", remarks(v));
  }
}

void validate_kernel_rows(const ValidateOptions& o, const Bundle& bundle) {
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
  v.points = o.points;
  if (!o.rows.empty()) v.all_rows = o.rows == "all";
  if (o.output != "csv") return print(validate_kernels(o.data, v, bundle), o.output);
  fmt::print("{}", csv_header(kernel_row_keys()));
  validate_kernels(o.data, v, bundle, [](const ValidationRow& row) {
    fmt::print("{}", csv_line(kernel_row_keys(), row));
  });
}

struct Area {
  const char* name;
  const char* folder;  // of the shared data; empty: all of it
  void (*run)(const ValidateOptions& o, const Bundle& bundle);
};

template <RowsOf kRowsOf>
void rows_area(const ValidateOptions& o, const Bundle& bundle) {
  validate_rows(kRowsOf, o, bundle);
}

constexpr Area kAreas[] = {{"kernels", "kernels", validate_kernel_rows},
                           {"training", "training", validate_training_rows},
                           {"layers", "layers", rows_area<validate_layers>},
                           {"steps", "inference/request_level", rows_area<validate_steps>},
                           {"inference", "inference", rows_area<validate_inference>},
                           {"serving", "inference", rows_area<validate_serving>},
                           {"network", "", rows_area<validate_network>},
                           {"training-memory", "training", rows_area<validate_training_memory>},
                           {"neusight", "training", rows_area<validate_neusight>}};

void validate_area(const ValidateOptions& o, const Bundle& bundle) {
  if (o.area == "all") {
    if (o.output != "table" && o.output != "md")
      throw InputError("validate all: -o table or md; json and csv are of one area");
    for (const Area& area : kAreas) {
      ValidateOptions one = o;
      one.data = (std::filesystem::path(o.data) / area.folder).string();
      area.run(one, bundle);
      fmt::print("\n");
    }
    return;
  }
  std::vector<std::string> names = {"all"};
  for (const Area& area : kAreas) {
    if (o.area == area.name) return area.run(o, bundle);
    names.emplace_back(area.name);
  }
  throw InputError(fmt::format("validate: expected {}, got '{}'{}", fmt::join(names, ", "), o.area,
                               did_you_mean(o.area, names)));
}

}  // namespace

void add_validate(CLI::App& program, Context& context) {
  CLI::App* app = program.add_subcommand("validate", "errors against measured rows");
  auto o = std::make_shared<ValidateOptions>();
  app->add_option(
         "AREA", o->area,
         "all, kernels, layers, steps, inference, serving, network, training, training-memory "
         "or neusight")
      ->required();
  app->add_option(
         "--data", o->data,
         "folder in the layout of the shared data, such as data/inference; all: the folder "
         "above")
      ->required()
      ->type_name("DIR");
  app->add_option("--table", o->table, "only this table")->type_name("NAME");
  app->add_option("--tier", o->tier,
                  "kernels: measured, transferred (no file of the row's own GPU is used), "
                  "analytical (physics only) or the best there is [best]")
      ->type_name("TIER");
  app->add_option("--rows", o->rows,
                  "kernels: judge the rows that the fit leaves out, or all (tables that no fit has "
                  "seen) [left-out; with --fit-on all]")
      ->check(CLI::IsMember({"left-out", "all"}))
      ->type_name("ROWS");
  app->add_option("--fit-on", o->fit_on,
                  "kernels: fit again on DIR's rows of these systems alone (a,b,...), and judge "
                  "the other systems")
      ->delimiter(',')
      ->type_name("SYSTEMS");
  app->add_option("--points", o->points,
                  "kernels: so many of the rows of each kernel class and GPU, drawn by hash, "
                  "calibrate it; the others judge [0]")
      ->type_name("N");
  app->add_option("-o,--output", o->output, "table, json, md or csv (one line a row) [table]")
      ->check(CLI::IsMember({"table", "json", "md", "csv"}))
      ->type_name("FORMAT");
  app->callback([o, &context] { validate_area(*o, context.bundle()); });
}

}  // namespace orrery::cli
