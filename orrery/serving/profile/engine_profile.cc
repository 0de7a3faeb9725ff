#include "orrery/serving/profile/engine_profile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "orrery/base/error.h"
#include "orrery/serving/schedulers/scheduler_kinds.h"

namespace orrery {

void declare(Fields& f, EngineProfile& e) {
  f.add("id", e.id, "short name");
  f.add("name", e.name, "full name");
  f.add("version", e.version, "version that the constants describe");
  f.add("calibration", e.calibration, "what the fitted constants were fitted on");
  f.add("aliases", e.aliases, "other names");
  f.add("sources", e.sources, "where the constants come from");
  f.add("vendors", e.vendors, "whose GPUs it runs on (nvidia, amd, ...); empty: any");
  f.group("kernels", [&e](Fields& g) { declare(g, e.kernels); }, "which kernels run");
  f.group("execution", [&e](Fields& g) { declare(g, e.execution); }, "launches and host time");
  f.group("memory", [&e](Fields& g) { declare(g, e.memory); }, "how memory is filled");
  f.group("scheduler", [&e](Fields& g) { declare(g, e.scheduler); }, "how a step is filled");
  f.add("step_error", e.step_error, "relative error of a step in addition to those of its kernels")
      .range(0, 2);
  f.add("fitted_on", e.fitted_on, "GPU families whose measurements fitted the constants");
  f.add("unfitted_error", e.unfitted_error, "step_error on GPUs of other families").range(0, 2);
  f.add("composed_error_share", e.composed_error_share,
        "share of the error of kernels, collectives and host that a step keeps")
      .range(0, 1);
  f.add("experts_error", e.experts_error,
        "relative error of routed experts in addition to that of their kernels")
      .range(0, 2);
  f.add("ttft_error", e.ttft_error,
        "relative error of the first tokens of closed loops in addition to those of their steps")
      .range(0, 2);
  f.add("fitted_layers", e.fitted_layers,
        "kinds of layers of measured models (softmax, latent, linear, experts); empty: all");
  f.add("unseen_error", e.unseen_error,
        "relative error of a step of a model with another kind of layer, beside step_error")
      .range(0, 2);
}

namespace {

// Declares all that a file of the catalog states: the keys of the profile, and its setups.
void declare_file(Fields& f, EngineProfile& e) {
  declare(f, e);
  f.group(
      "setup",
      [&](Fields& g) {
        const auto add = [&g](const std::string& name, std::vector<Node>& keys, const char* doc) {
          g.custom(
              name, Field::Type::kGroup, [&keys](const Node& n) { keys.push_back(n); },
              [] { return nlohmann::ordered_json::object(); }, doc);
        };
        add("default", e.setups.plain, "keys of an engine started with its model alone");
        add("tuned", e.setups.tuned, "keys of an engine started as a recipe does");
      },
      "what the ways to start the engine set otherwise");
}

// Also reads every key of the setups, so that one which is no key of a profile is refused with the
// file's other errors.
bool setups_differ(const EngineProfile& e) {
  const auto without_errors = [&e](EngineSetup setup) {
    EngineProfile started = e;
    apply_setup(started, setup);
    started.step_error = started.experts_error = 0;
    Fields fields;
    declare(fields, started);
    return fields.json();
  };
  return without_errors(EngineSetup::kDefault) != without_errors(EngineSetup::kTuned);
}

}  // namespace

const std::vector<std::string>& engine_setup_names() {
  static const std::vector<std::string> kNames = {"default", "tuned"};
  return kNames;
}

EngineSetup parse_engine_setup(std::string_view name) {
  const auto& names = engine_setup_names();
  const auto at = std::find(names.begin(), names.end(), name);
  if (at == names.end()) {
    throw InputError(fmt::format("engine.setup: '{}' is neither default nor tuned{}", name,
                                 did_you_mean(name, names)));
  }
  return static_cast<EngineSetup>(at - names.begin());
}

void apply_setup(EngineProfile& e, EngineSetup setup) {
  const std::vector<Node>& keys = setup == EngineSetup::kDefault ? e.setups.plain : e.setups.tuned;
  Fields fields;
  declare(fields, e);
  for (const Node& n : keys) fields.read(n);
}

void override_keys(EngineProfile& e, const Node& keys) {
  const EngineProfile::Scheduler before = e.scheduler;
  Fields fields;
  declare(fields, e);
  fields.read(keys);
  scheduler_kind(e.scheduler.policy);  // an unknown name is refused here
  if (const Node* of_scheduler = keys.find("scheduler"))
    check_policy_keys(*of_scheduler, before, e.scheduler);
}

std::vector<std::string> engine_ids(const Bundle& bundle) {
  std::vector<std::string> ids;
  for (const std::string& path : bundle.list("engines", ".yaml")) {
    const std::string name = path.substr(std::string_view("engines/").size());
    if (name.find('/') == std::string::npos) ids.push_back(name.substr(0, name.size() - 5));
  }
  return ids;
}

EngineProfile load_engine(std::string_view id, const Bundle& bundle, bool with_fit) {
  EngineProfile e;
  Fields fields;
  declare_file(fields, e);
  auto read = [&](const std::string& path) {
    const auto file = bundle.find(path);
    if (file) fields.read(parse_yaml(file->content, file->name));
    return file.has_value();
  };
  const std::string wanted = canonical_name(id);
  std::vector<std::string> names = engine_ids(bundle);
  bool found = read("engines/" + wanted + ".yaml");
  for (std::size_t i = 0, known = names.size(); !found && i < known; ++i) {
    e = EngineProfile();
    read("engines/" + names[i] + ".yaml");
    for (const std::string& alias : e.aliases) {
      found |= canonical_name(alias) == wanted;
      names.push_back(alias);
    }
  }
  if (!found) {
    throw InputError(fmt::format("unknown engine '{}'{}; `orrery list engines` names all", id,
                                 did_you_mean(id, names)));
  }
  if (with_fit) {
    read("engines/fitted/" + e.id + ".yaml");
    read("engines/in-process/" + e.id + ".yaml");
  }
  e.setups.differ = setups_differ(e);
  return e;
}

bool runs_on(const EngineProfile& e, const Gpu& gpu) {
  return e.vendors.empty() ||
         std::find(e.vendors.begin(), e.vendors.end(), gpu.vendor) != e.vendors.end();
}

std::string engine_gpu_family(const Gpu& gpu) {
  const GpuArchitecture& a = gpu.architecture;
  if (!a.engine_class.empty()) return a.engine_class;
  return gpu.sm_version > 0 ? fmt::format("sm{}", gpu.sm_version) : a.id;
}

EngineProfile load_engine(std::string_view id, const Gpu& gpu, const Bundle& bundle,
                          bool with_fit) {
  EngineProfile e = load_engine(id, bundle, with_fit);
  const std::string family = engine_gpu_family(gpu);
  if (!e.fitted_on.empty() &&
      std::find(e.fitted_on.begin(), e.fitted_on.end(), family) == e.fitted_on.end())
    e.step_error = e.unfitted_error, e.composed_error_share = 1;
  Fields fields;
  declare_file(fields, e);
  for (const char* folder : {"by-gpu", "fitted"}) {
    if (!with_fit && std::string_view(folder) == "fitted") continue;
    const auto file = bundle.find(fmt::format("engines/{}/{}-{}.yaml", folder, e.id, family));
    if (file) fields.read(parse_yaml(file->content, file->name));
  }
  e.setups.differ = setups_differ(e);
  return e;
}

}  // namespace orrery
