#include "apps/cli/accelerator/fixed_verbs.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "apps/cli/accelerator/accelerator_page.h"
#include "apps/cli/output/output.h"
#include "orrery/base/error.h"
#include "orrery/base/node.h"

namespace orrery::cli {
namespace {

struct FixedOptions {
  std::string chip, layers, html, output = "table";
};

template <class Answer>
void print_fixed(const Answer& a, const FixedOptions& o) {
  if (!o.html.empty()) write_file(o.html, page(a), "--html");
  if (o.output == "json") return fmt::print("{}\n", to_json(a).dump(1));
  fmt::print("{}", o.output == "csv" ? csv(a) : table(a));
}

void run_scalesim(const FixedOptions& o) {
  SystolicAnswer a;
  a.config = read_scalesim_config(read_text_file(o.chip), o.chip);
  a.layers = read_scalesim_topology(read_text_file(o.layers), o.layers);
  for (const ScaleSimLayer& l : a.layers) {
    try {
      a.runs.push_back(run_systolic(a.config.array, l.product));
    } catch (const InputError& e) {
      throw InputError(fmt::format("{}: layer {}: {}", o.layers, l.name, e.what()));
    }
  }
  print_fixed(a, o);
}

void run_maestro(const FixedOptions& o) {
  DirectiveAnswer a;
  if (!o.chip.empty()) a.hardware = read_directive_hardware(read_text_file(o.chip), o.chip);
  a.layers = read_directive_layers(read_text_file(o.layers), o.layers);
  for (const DirectiveLayer& l : a.layers) {
    try {
      a.costs.push_back(evaluate_directives(l, a.hardware.machine));
    } catch (const InputError& e) {
      throw InputError(fmt::format("{}: layer {}: {}", o.layers, l.name, e.what()));
    }
  }
  print_fixed(a, o);
}

void add_fixed_output(CLI::App& app, FixedOptions& o) {
  app.add_option("--html", o.html, "also write a self-contained page with a picture")
      ->type_name("FILE")
      ->group("output");
  app.add_option("-o,--output", o.output, "table, csv or json")
      ->check(CLI::IsMember({"table", "csv", "json"}))
      ->group("output");
}

}  // namespace

void add_systolic(CLI::App& accelerator) {
  CLI::App* app = accelerator.add_subcommand(
      "systolic", "Cycles, stalls and traffic of layers on a systolic array, as SCALE-Sim");
  const auto o = std::make_shared<FixedOptions>();
  app->add_option("-c,--config", o->chip, "the array: a configuration of SCALE-Sim (.cfg)")
      ->required()
      ->type_name("FILE");
  app->add_option("-t,--topology", o->layers,
                  "the layers: a topology of SCALE-Sim (.csv), convolutions or products")
      ->required()
      ->type_name("FILE");
  add_fixed_output(*app, *o);
  app->footer(
      "Examples:\n"
      "  orrery accelerator systolic -c scale.cfg -t resnet18.csv\n"
      "  orrery accelerator systolic -c scale.cfg -t products.csv -o csv");
  app->callback([o] { run_scalesim(*o); });
}

void add_directives(CLI::App& accelerator) {
  CLI::App* app = accelerator.add_subcommand(
      "directives", "Cycles, accesses and buffers of layers under directives, as MAESTRO");
  const auto o = std::make_shared<FixedOptions>();
  app->add_option("--hardware", o->chip,
                  "the units and the network: a hardware file of MAESTRO (.m); without it "
                  "256 units, network 1000, off-chip memory 50 elements a cycle")
      ->type_name("FILE");
  app->add_option("--mapping", o->layers,
                  "the layers and their dataflows: a mapping file of MAESTRO (.m)")
      ->required()
      ->type_name("FILE");
  add_fixed_output(*app, *o);
  app->footer(
      "Examples:\n"
      "  orrery accelerator directives --hardware accelerator.m --mapping vgg16_ws.m\n"
      "  orrery accelerator directives --mapping vgg16_ws.m -o csv");
  app->callback([o] { run_maestro(*o); });
}

}  // namespace orrery::cli
