// orrery validate: predictions against measured tables.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "apps/cli/output.h"
#include "apps/cli/verbs.h"
#include "orrery/base/error.h"
#include "orrery/validate/inference.h"
#include "orrery/validate/layers.h"
#include "orrery/validate/neusight.h"
#include "orrery/validate/report.h"
#include "orrery/validate/steps.h"

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
  app->add_option("AREA", o->area, "inference, layers, steps or neusight")->required();
  app->add_option("--data", o->data,
                  "folder in the layout of the shared data, such as data/inference")
      ->required()
      ->type_name("DIR");
  app->add_option("--table", o->table, "only this table")->type_name("NAME");
  app->add_option("-o,--output", o->output, "table, json, md or csv (one line a row) [table]")
      ->check(CLI::IsMember({"table", "json", "md", "csv"}))
      ->type_name("FORMAT");
  app->callback([o, &context] {
    struct Area {
      const char* name;
      ValidationReport (*validate)(const std::filesystem::path&, const std::string&, const Bundle&);
    };
    constexpr std::array<Area, 4> kAreas = {{
        {"inference", validate_inference},
        {"layers", validate_layers},
        {"steps", validate_steps},
        {"neusight", [](const std::filesystem::path& dir, const std::string&,
                        const Bundle& bundle) { return validate_neusight(dir, bundle); }},
    }};
    const auto area = std::find_if(kAreas.begin(), kAreas.end(),
                                   [&](const Area& a) { return a.name == o->area; });
    if (area == kAreas.end()) {
      std::vector<std::string> names;
      for (const Area& a : kAreas) names.emplace_back(a.name);
      throw InputError(fmt::format("validate: expected {}, got '{}'{}", fmt::join(names, ", "),
                                   o->area, did_you_mean(o->area, names)));
    }
    const ValidationReport report = area->validate(o->data, o->table, context.bundle());
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
