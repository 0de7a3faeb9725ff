// orrery fit: parameters from measured tables, written as text below a catalog directory.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "apps/cli/facts/measured_tables.h"
#include "apps/cli/output/output.h"
#include "apps/cli/verbs/verbs.h"
#include "orrery/base/error.h"
#include "orrery/hardware/catalog.h"
#include "orrery/kernel/fit/attention_fit.h"
#include "orrery/kernel/fit/calibrate.h"
#include "orrery/kernel/fit/fit.h"
#include "orrery/kernel/tiers/calibration.h"
#include "orrery/network/fit/network_fit.h"
#include "orrery/validate/edge/judge_edge.h"
#include "orrery/validate/energy/fit_energy.h"
#include "orrery/validate/fit/fit_engines.h"
#include "orrery/validate/fit/fit_expert_load.h"
#include "orrery/validate/fit/fit_layers.h"
#include "orrery/validate/fit/fit_services.h"
#include "orrery/validate/judge/training_folds.h"
#include "orrery/validate/judge/training_memory.h"

namespace orrery::cli {
namespace {

struct FitOptions {
  std::string area, data, family, out = "catalog", date;
  std::string engine;                // of engines and services; empty: all
  std::string gpu, from, framework;  // of points
  std::size_t choose = 0;            // of points: how many calls of each class to propose
  PartMeter* meter = nullptr;        // is told how far the fit is
};

void write_below(const std::string& out, const std::string& path, const std::string& text) {
  const std::filesystem::path file = std::filesystem::path(out) / path;
  std::error_code error;
  std::filesystem::create_directories(file.parent_path(), error);
  write_file(file.string(), text, "--out");
}

void fit_kernel_surfaces(const FitOptions& o, const Bundle& bundle) {
  const KernelFit fit = fit_kernels(o.data, o.family, o.date, bundle, {}, o.meter);
  if (fit.files.empty())
    throw InputError(fmt::format("{}: no table to fit: {}", o.data, fmt::join(fit.refused, "; ")));
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
  const auto fits = fit_engines(o.data, o.date, bundle, o.engine, o.meter);
  if (fits.empty()) throw InputError(fmt::format("{}: no rows to fit", o.data));
  fmt::print("{:<18} {:>8} {:>7} {:>10} {:>10} {:>10}\n", "engine", "figures", "groups", "median",
             "fitted", "left out");
  for (const FittedEngine& e : fits) {
    if (!e.skipped.empty()) {
      fmt::print("{:<18} {}\n", e.engine, e.skipped);
      continue;
    }
    fmt::print("{:<18} {:>8} {:>7} {:>10.1f} {:>10.1f} {:>10.1f}\n", e.engine, e.rows, e.groups,
               e.error_before, e.error_after, e.error_left_out);
    write_below(o.out, "engines/fitted/" + e.engine + ".yaml", e.yaml);
    for (const auto& [family, text] : e.families)
      write_below(o.out, fmt::format("engines/fitted/{}-{}.yaml", e.engine, family), text);
    write_below(o.out, "engines/group-folds/" + e.engine + ".yaml", e.folds);
  }
}

void fit_service_constants(const FitOptions& o, const Bundle& bundle) {
  const auto fits = fit_services(o.data, o.date, bundle, o.engine, o.meter);
  fmt::print("{:<8} {:<10} {:>5}  {:>6} {:>6} {:>8}  {:>6} {:>6} {:>8}\n", "engine", "gpus", "rows",
             "tpot", "fitted", "left out", "ttft", "fitted", "left out");
  for (const FittedServices& f : fits) {
    if (!f.skipped.empty()) {
      fmt::print("{:<8} {:<10} {}\n", f.engine, f.gpu_class, f.skipped);
    } else {
      fmt::print("{:<8} {:<10} {:>5}  {:>6.1f} {:>6.1f} {:>8.1f}  {:>6.1f} {:>6.1f} {:>8.1f}\n",
                 f.engine, f.gpu_class, f.rows, f.tpot_before, f.tpot_after, f.tpot_left_out,
                 f.ttft_before, f.ttft_after, f.ttft_left_out);
    }
    if (f.yaml.empty()) continue;
    const std::string name = fmt::format("{}-{}.yaml", f.engine, f.gpu_class);
    write_below(o.out, "engines/fitted/" + name, f.yaml);
    if (!f.folds.empty()) write_below(o.out, "engines/folds/" + name, f.folds);
  }
}

void fit_training_constants(const FitOptions& o, const Bundle& bundle) {
  const FittedTraining f = fit_training(o.data, o.date, bundle, o.meter);
  fmt::print("{} rows of {} sources: median {:.1f} %, mean {:.1f} %\n", f.rows, f.sources, f.median,
             f.mape);
  fmt::print("with the row's source left out: median {:.1f} %, mean {:.1f} %\n", f.median_left_out,
             f.mape_left_out);
  write_below(o.out, "training/constants.yaml", f.yaml);
}

void fit_points(const FitOptions& o, const Bundle& bundle) {
  if (o.gpu.empty() || o.from.empty())
    throw InputError("fit points: expected --gpu GPU and --from FILE (a table of measured calls)");
  const Gpu gpu = Catalog(bundle).gpu(o.gpu);
  if (o.choose > 0) {
    fmt::print("{}", table_to_measure(o.from, gpu, o.framework, o.choose, bundle));
    return;
  }
  const PointFit fit = calibrate_from(o.from, gpu, o.framework, bundle);
  fmt::print("{:<17} {:<9} {:<18} {:>6} {:>7} {:>6}\n", "family", "engine", "class", "points",
             "before", "after");
  for (const CalibratedClass& c : fit.classes) {
    fmt::print("{:<17} {:<9} {:<18} {:>6} {:>7.1f} {:>6.1f}\n", c.family, c.framework,
               c.kernel_class, c.points, c.before, c.after);
  }
  for (const std::string& why : fit.refused) fmt::print(stderr, "left out: {}\n", why);
  if (fit.files.empty()) throw InputError(fmt::format("{}: no row calibrates {}", o.from, gpu.id));
  for (const auto& [path, text] : fit.files) write_below(o.out, path, text);
  fmt::print("{} files written below {}\n", fit.files.size(), o.out);
}

void fit_network_constants(const FitOptions& o, const Bundle& bundle) {
  const NetworkFit fit = fit_network(o.data, bundle, o.meter);
  fmt::print("Groups over several nodes, each kept back from the fit in turn: MAPE (rows)\n");
  fmt::print("{:<13} {:<27} {:>12} {:>12} {:>12}\n", "fabric", "group", "< 1 MiB", "< 128 MiB",
             "from there");
  const auto cell = [](const KeptBackGroup::Class& c) {
    return c.n == 0 ? std::string("-") : fmt::format("{:.1f} ({})", c.mape, c.n);
  };
  for (const KeptBackGroup& g : fit.kept_back) {
    fmt::print("{:<13} {:<27} {:>12} {:>12} {:>12}\n", g.fabric, g.group + (g.alone ? " *" : ""),
               cell(g.small), cell(g.middle), cell(g.large));
  }
  fmt::print(
      "* no other group of its class: by what most networks have, start {:.2f}, width {:.3f}, "
      "pipelining {:.2f}\nRows in the 50 % and 90 % intervals:",
      fit.most.start, fit.most.width, fit.most.pipelining);
  for (const auto size : {&KeptBackGroup::small, &KeptBackGroup::middle, &KeptBackGroup::large}) {
    std::size_t n = 0, in50 = 0, in90 = 0;
    for (const KeptBackGroup& g : fit.kept_back)
      n += (g.*size).n, in50 += (g.*size).in50, in90 += (g.*size).in90;
    const auto percent = [n](std::size_t k) {
      return 100 * static_cast<double>(k) / static_cast<double>(n);
    };
    if (n > 0) fmt::print(" {:.0f} and {:.0f} %", percent(in50), percent(in90));
  }
  fmt::print("\n");
  for (const auto& [path, text] : fit.files) write_below(o.out, path, text);
  fmt::print("{} files written below {}\n", fit.files.size(), o.out);
}

void fit_load_of_experts(const FitOptions& o, const Bundle& bundle) {
  const FittedExpertLoad f = fit_expert_load(o.data, o.date, bundle);
  write_below(o.out, "validation/expert-load.yaml", f.yaml);
  fmt::print("{}", f.yaml);
}

void fit_layer_times(const FitOptions& o, const Bundle& bundle) {
  const auto files = fit_layers(o.data, o.date, bundle);
  for (const auto& [path, text] : files) write_below(o.out, path, text);
  fmt::print("{} files written below {}\n", files.size(), o.out);
}

void fit_training_memory_constants(const FitOptions& o, const Bundle& bundle) {
  const std::string text = fit_training_memory(o.data, o.date, bundle);
  write_below(o.out, "training/memory-fitted.yaml", text);
  fmt::print("{}", text);
}

void fit_attention_ratios(const FitOptions& o, const Bundle& bundle) {
  const FittedAttention f = fit_attention(o.data, o.date, bundle);
  fmt::print("{:<8} {:<18} {:>5} {:>6} {:>8} {:>9} {:>6}\n", "library", "architecture", "head",
             "calls", "forward", "backward", "error");
  for (const FittedAttention::Row& r : f.rows)
    fmt::print("{:<8} {:<18} {:>5} {:>6} {:>8.3f} {:>9.3f} {:>6.3f}\n", r.backend, r.architecture,
               r.head_dim, r.calls, r.forward, r.backward, r.error);
  write_below(o.out, "training/attention-fitted.yaml", f.yaml);
}

void fit_power_constants(const FitOptions& o, const Bundle& bundle) {
  const auto files = fit_energy(o.data, o.date, bundle, o.meter);
  for (const auto& [path, text] : files) write_below(o.out, path, text);
  fmt::print("{} files written below {}\n", files.size(), o.out);
}

void fit_edge_laws(const FitOptions& o, const Bundle& bundle) {
  const auto files = fit_edge(o.data, o.date, bundle, o.meter);
  for (const auto& [path, text] : files) write_below(o.out, path, text);
  fmt::print("{} files written below {}\n", files.size(), o.out);
}

struct FitArea {
  const char* name;
  // The folder of its tables below the measured tables ("." for all); empty: --gpu and --from.
  const char* data;
  bool dated;  // its recipe states --date
  void (*fit)(const FitOptions&, const Bundle&);
};
constexpr std::array kFitAreas = {
    FitArea{"kernels", "kernels", true, fit_kernel_surfaces},
    FitArea{"network", ".", false, fit_network_constants},
    FitArea{"engines", "inference", true, fit_engine_constants},
    FitArea{"services", "inference", true, fit_service_constants},
    FitArea{"expert-load", "inference", true, fit_load_of_experts},
    FitArea{"layers", "layers", true, fit_layer_times},
    FitArea{"training", "training", true, fit_training_constants},
    FitArea{"training-memory", "training", true, fit_training_memory_constants},
    FitArea{"attention", "kernels", true, fit_attention_ratios},
    FitArea{"edge", "edge", true, fit_edge_laws},
    FitArea{"energy", "energy", true, fit_power_constants},
    FitArea{"points", "", false, fit_points},
};

std::vector<std::string> fit_area_names() {
  std::vector<std::string> names;
  for (const FitArea& area : kFitAreas) names.push_back(area.name);
  return names;
}

// "a, b or c".
std::string fit_area_list() {
  auto names = fit_area_names();
  const std::string last = names.back();
  names.pop_back();
  return fmt::format("{} or {}", fmt::join(names, ", "), last);
}

// "DIR (a, b), DIR (c)": the folder of tables that each area needs.
std::string fit_area_folders() {
  std::vector<std::string> folders;
  for (const FitArea& area : kFitAreas) {
    if (!*area.data) continue;
    const std::string folder = fmt::format("{} (", area.data);
    if (!folders.empty() && folders.back().starts_with(folder)) {
      folders.back() += fmt::format(", {}", area.name);
    } else {
      folders.push_back(folder + area.name);
    }
  }
  return fmt::format("{})", fmt::join(folders, "), "));
}

const FitArea& fit_area(const std::string& name) {
  const auto found = std::find_if(kFitAreas.begin(), kFitAreas.end(),
                                  [&](const FitArea& area) { return area.name == name; });
  if (found != kFitAreas.end()) return *found;
  throw InputError(fmt::format("fit: expected {}, got '{}'{}", fit_area_list(), name,
                               did_you_mean(name, fit_area_names())));
}

}  // namespace

void add_fit(CLI::App& program, Context& context) {
  CLI::App* app =
      program.add_subcommand("fit", "Fits the parameters in catalog/ again from measured tables.");
  auto o = std::make_shared<FitOptions>();
  app->add_option("AREA", o->area, fit_area_list() + " (points is implied by --gpu and --from)");
  app->add_option(
         "--data", o->data,
         fmt::format("folder of the measured tables [below ORRERY_DATA: {}; see docs/data.md]",
                     fit_area_folders()))
      ->type_name("DIR");
  app->add_option("--family", o->family, "fit only this kernel family")->type_name("NAME");
  app->add_option("--engine", o->engine, "engines, services: fit only this engine's profile")
      ->type_name("NAME");
  app->add_option("--date", o->date, "date to write into the recipe of the fit (YYYY-MM-DD)")
      ->type_name("DATE");
  app->add_option("--gpu", o->gpu, "points: the GPU on which the calls were measured")
      ->type_name("GPU");
  app->add_option("--from", o->from,
                  "points: a table of measured calls in the columns of data/kernels (one kernel "
                  "family, 8 to 64 rows for each kernel class)")
      ->type_name("FILE");
  app->add_option(
         "--choose", o->choose,
         "points: print the rows of --from, a table of calls without times, that are worth "
         "measuring: this many of each kernel class")
      ->type_name("N")
      ->check(CLI::Range(std::size_t{1}, kMostCalibrationPoints));
  app->add_option("--framework", o->framework,
                  "points: framework of the kernels, if the table has no such column [vllm]")
      ->type_name("NAME");
  app->add_option("-o,--out", o->out, "catalog directory to write to [catalog]")->type_name("DIR");
  app->footer(
      "Examples:\n"
      "  orrery fit kernels --date 2026-11-22\n"
      "  orrery fit points --gpu mi300x --from gemm-points.csv --out my-facts\n"
      "  orrery fit training --date 2026-11-22 --out my-facts");
  app->callback([o, &context] {
    if (o->area.empty() && o->from.empty())
      throw InputError(fmt::format("fit: expected {}, or --gpu and --from", fit_area_list()));
    const FitArea& area = fit_area(o->area.empty() ? "points" : o->area);
    if (!o->engine.empty() && area.fit != fit_service_constants && area.fit != fit_engine_constants)
      throw InputError("fit: --engine has no effect without engines or services");
    if (o->choose > 0 && area.fit != fit_points)
      throw InputError("fit: --choose has no effect without points");
    if (area.dated && o->date.empty())
      throw InputError("fit: --date is missing; it is written into the recipe");
    if (*area.data) {
      if (o->data.empty())
        o->data = measured_tables(std::string_view(area.data) == "." ? "" : area.data);
      if (!std::filesystem::is_directory(o->data))
        throw InputError(fmt::format("{}: no such directory", o->data));
    }
    o->meter = &context.progress.parts();
    area.fit(*o, context.bundle());
  });
}

}  // namespace orrery::cli
