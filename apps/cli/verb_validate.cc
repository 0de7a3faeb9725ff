// orrery validate: predictions against measured tables. orrery fit: parameters from measured
// tables.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "apps/cli/output.h"
#include "apps/cli/verbs.h"
#include "orrery/base/error.h"
#include "orrery/validate/inference.h"
#include "orrery/validate/neusight.h"
#include "orrery/validate/report.h"

namespace orrery::cli {
namespace {

struct ValidateOptions {
  std::string area, data, table, output = "table";
};

std::string group_name(const nlohmann::ordered_json& by) {
  std::string name;
  for (const auto& [key, value] : by.items())
    name += (name.empty() ? "" : " ") + value.get<std::string>();
  return name;
}

void print_report(const ValidationReport& report) {
  const auto j = to_json(report);
  // A long name has a line of its own, so that none is wider than 80 columns.
  constexpr std::size_t kNameWidth = 30;
  const std::string head = fmt::format("{:<30} {:>5} {:>7} {:>7} {:>7} {:>7} {:>5} {:>5}", "group",
                                       "n", "mape", "median", "p90", "bias", "in50", "in90");
  auto line = [](std::string name, const nlohmann::ordered_json& g) {
    if (name.size() > kNameWidth) {
      fmt::print("{}\n", name);
      name.clear();
    }
    fmt::print("{:<30} {:>5} {:>7.1f} {:>7.1f} {:>7.1f} {:>+7.1f} {:>5.0f} {:>5.0f}\n", name,
               g["n"].get<int>(), g["mape"].get<double>(), g["median"].get<double>(),
               g["p90"].get<double>(), g["bias"].get<double>(), g["coverage50"].get<double>(),
               g["coverage90"].get<double>());
  };
  fmt::print("{}: errors in percent of the measured value\n{}\n", report.area, head);
  for (const auto& g : j["groups"]) line(group_name(g["by"]), g);
  line("all", j["pooled"]);
  if (!report.refused.empty())
    fmt::print("{} rows refused (-o json says why)\n", report.refused.size());
}

}  // namespace

void add_validate(CLI::App& program, Context& context) {
  CLI::App* app = program.add_subcommand("validate", "errors against measured rows");
  auto o = std::make_shared<ValidateOptions>();
  app->add_option("AREA", o->area, "inference or neusight")->required();
  app->add_option("--data", o->data,
                  "folder in the layout of the shared data, such as data/inference")
      ->required()
      ->type_name("DIR");
  app->add_option("--table", o->table, "only this table")->type_name("NAME");
  app->add_option("-o,--output", o->output, "table, json, md or csv (one line a row) [table]")
      ->check(CLI::IsMember({"table", "json", "md", "csv"}))
      ->type_name("FORMAT");
  app->callback([o, &context] {
    const std::vector<std::string> areas = {"inference", "neusight"};
    if (o->area != "inference" && o->area != "neusight") {
      throw InputError(fmt::format("validate: expected inference or neusight, got '{}'{}", o->area,
                                   did_you_mean(o->area, areas)));
    }
    const ValidationReport report = o->area == "neusight"
                                        ? validate_neusight(o->data, context.bundle())
                                        : validate_inference(o->data, o->table, context.bundle());
    if (o->output == "json") {
      fmt::print("{}\n", to_json(report).dump(1));
    } else if (o->output == "md") {
      fmt::print("{}", to_markdown(report));
    } else if (o->output == "csv") {
      fmt::print("{}", to_csv(report));
    } else {
      print_report(report);
    }
  });
}

}  // namespace orrery::cli
