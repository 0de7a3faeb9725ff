// orrery fit: parameters from measured tables, written as text below a catalog directory.
#include <fmt/format.h>

#include <filesystem>

#include "apps/cli/output.h"
#include "apps/cli/verbs.h"
#include "orrery/base/error.h"
#include "orrery/kernel/fit.h"
#include "orrery/network/network_fit.h"
#include "orrery/validate/fit_engines.h"

namespace orrery::cli {
namespace {

struct FitOptions {
  std::string area, data, family, out = "catalog", date;
};

void write_below(const std::string& out, const std::string& path, const std::string& text) {
  const std::filesystem::path file = std::filesystem::path(out) / path;
  std::error_code error;
  std::filesystem::create_directories(file.parent_path(), error);
  write_file(file.string(), text, "--out");
}

void fit_kernel_surfaces(const FitOptions& o, const Bundle& bundle) {
  const KernelFit fit = fit_kernels(o.data, o.family, o.date, bundle);
  fmt::print("{:<17} {:<7} {:<12} {:<14} {:>6} {:>6} {:>5} {:>6} {:>5}\n", "family", "engine",
             "gpu", "class", "fitted", "left", "mape", "median", "bias");
  for (const KernelFitRow& r : fit.rows) {
    fmt::print("{:<17} {:<7} {:<12} {:<14} {:>6} {:>6} {:>5.1f} {:>6.1f} {:>+5.1f}\n", r.family,
               r.framework, r.gpu, r.kernel_class, r.fitted, r.left_out, r.mape, r.median, r.bias);
  }
  for (const auto& [path, text] : fit.files) write_below(o.out, path, text);
  for (const std::string& why : fit.refused) fmt::print(stderr, "left out: {}\n", why);
  fmt::print("{} files written below {}\n", fit.files.size(), o.out);
}

void fit_engine_constants(const FitOptions& o, const Bundle& bundle) {
  fmt::print("{:<18} {:>8} {:>10} {:>10}\n", "engine", "figures", "median", "fitted");
  for (const FittedEngine& e : fit_engines(o.data, o.date, bundle)) {
    if (!e.skipped.empty()) {
      fmt::print("{:<18} {}\n", e.engine, e.skipped);
      continue;
    }
    fmt::print("{:<18} {:>8} {:>10.1f} {:>10.1f}\n", e.engine, e.rows, e.error_before,
               e.error_after);
    write_below(o.out, "engines/fitted/" + e.engine + ".yaml", e.yaml);
  }
}

void fit_network_constants(const FitOptions& o, const Bundle& bundle) {
  const auto files = fit_network(o.data, bundle);
  for (const auto& [path, text] : files) write_below(o.out, path, text);
  fmt::print("{} files written below {}\n", files.size(), o.out);
}

}  // namespace

void add_fit(CLI::App& program, Context& context) {
  CLI::App* app = program.add_subcommand(
      "fit", "makes fitted parameters of catalog/ again from measured tables");
  auto o = std::make_shared<FitOptions>();
  app->add_option("AREA", o->area, "kernels, network or engines")->required();
  app->add_option(
         "--data", o->data,
         "folder of tables: data/kernels (kernels), data (network), data/inference (engines)")
      ->required()
      ->type_name("DIR");
  app->add_option("--family", o->family, "only this kernel family")->type_name("NAME");
  app->add_option("--date", o->date, "written into the recipe (YYYY-MM-DD); not for network")
      ->type_name("DATE");
  app->add_option("--out", o->out, "catalog directory to write to [catalog]")->type_name("DIR");
  app->callback([o, &context] {
    const std::vector<std::string> areas = {"kernels", "network", "engines"};
    if (o->area == "network") return fit_network_constants(*o, context.bundle());
    if (o->date.empty()) throw InputError("fit: --date is missing; it is written into the recipe");
    if (o->area == "kernels") return fit_kernel_surfaces(*o, context.bundle());
    if (o->area == "engines") return fit_engine_constants(*o, context.bundle());
    throw InputError(fmt::format("fit: expected kernels, network or engines, got '{}'{}", o->area,
                                 did_you_mean(o->area, areas)));
  });
}

}  // namespace orrery::cli
