#include "apps/cli/flags.h"

#include <fmt/format.h>

namespace orrery::cli {
namespace {

std::string flag_name(std::string name) {
  for (char& c : name) {
    if (c == '_') c = '-';
  }
  return "--" + name;
}

// "--tp,--tensor-parallel-size,--tensor_parallel_size"
std::string flag_names(const Field& f) {
  std::string names = flag_name(f.name());
  auto add = [&names](const std::string& name) {
    if (("," + names + ",").find("," + name + ",") == std::string::npos) names += "," + name;
  };
  add("--" + f.name());
  for (const std::string& alias : f.aliases()) {
    add(flag_name(alias));
    add("--" + alias);
  }
  return names;
}

std::string help_of(const Field& f) {
  std::string help = f.doc();
  if (!f.choices().empty()) help += fmt::format(" ({})", fmt::join(f.choices(), ", "));
  if (!f.default_text().empty()) help += fmt::format(" [{}]", f.default_text());
  return help;
}

// Keys of the engine's profile that have a flag of their own: vLLM's names. All others are reached by --set.
bool is_engine_flag(std::string_view name) {
  for (std::string_view known : {"utilization", "block_size", "max_num_batched_tokens", "max_num_seqs"}) {
    if (name == known) return true;
  }
  return false;
}

}  // namespace

ScenarioFlags::ScenarioFlags(CLI::App& app) {
  declare(scenario_fields_, scenario_);
  declare(engine_fields_, engine_);
  for (const Field& f : scenario_fields_.all()) {
    if (f.group()) {
      add_leaves(app, *f.group(), f.name() + ".", f.doc());
    } else if (f.name() == "model") {
      given_.push_back({f.name(), "--model", "", false});
      Given* slot = &given_.back();
      app.add_option_function<std::string>(
             "-m,--model", [slot](const std::string& text) { slot->text = text, slot->set = true; }, f.doc())
          ->group("What");
    }
  }
  for (const Field& f : engine_fields_.all()) {
    if (!f.group()) continue;
    for (const Field& leaf : f.group()->all()) {
      if (!is_engine_flag(leaf.name())) continue;
      given_.push_back({"engine.overrides." + f.name() + "." + leaf.name(), flag_name(leaf.name()), "", false});
      Given* slot = &given_.back();
      app.add_option_function<std::string>(
             leaf.name() == "utilization" ? "--gpu-memory-utilization,--gpu_memory_utilization" : flag_names(leaf),
             [slot](const std::string& text) { slot->text = text, slot->set = true; }, leaf.doc())
          ->group("Engine (default: its profile)");
    }
  }
  given_.push_back({"engine.overrides.scheduler.chunked_prefill", "--enable-chunked-prefill", "", false});
  Given* chunked = &given_.back();
  app.add_flag_function(
         "--enable-chunked-prefill,!--no-enable-chunked-prefill",
         [chunked](std::int64_t n) { chunked->text = n > 0 ? "true" : "false", chunked->set = true; },
         "prompts are computed in chunks, or not")
      ->group("Engine (default: its profile)");
  app.add_option("--set", assignments_, "any key, as in a file: --set engine.overrides.scheduler.max_num_seqs=64")
      ->group("What");
}

void ScenarioFlags::add_leaves(CLI::App& app, const Fields& fields, const std::string& prefix,
                               const std::string& group) {
  for (const Field& f : fields.all()) {
    if (f.group() || f.name() == "overrides") continue;
    const bool is_profile = prefix == "engine.";
    given_.push_back({prefix + f.name(), is_profile ? "--engine" : flag_name(f.name()), "", false});
    Given* slot = &given_.back();
    std::string names = is_profile ? "--engine" : flag_names(f);
    if (f.name() == "gpu") names = "-g," + names;
    if (f.type() == Field::Type::kBool) {
      app.add_flag_function(
             names, [slot](std::int64_t) { slot->text = "true", slot->set = true; }, help_of(f))
          ->group(group);
    } else {
      app.add_option_function<std::string>(
             names, [slot](const std::string& text) { slot->text = text, slot->set = true; }, help_of(f))
          ->group(group)
          ->type_name(f.type() == Field::Type::kList ? "N[,N...]" : f.unit().empty() ? "TEXT" : f.unit());
    }
  }
}

void ScenarioFlags::apply(Node& document) const {
  for (const std::string& assignment : assignments_) {
    const std::size_t equals = assignment.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw InputError(fmt::format("--set {}: expected key=value", assignment));
    }
    const std::string key = assignment.substr(0, equals);
    set_path(document, key, scalar_node(assignment.substr(equals + 1), "--set " + key));
  }
  for (const Given& g : given_) {
    if (g.set) set_path(document, g.path, scalar_node(g.text, g.flag));
  }
}

Scenario ScenarioFlags::scenario() const {
  Node document;
  set_path(document, "name", scalar_node("command line", ""));
  apply(document);
  return read_scenario(document);
}

}  // namespace orrery::cli
