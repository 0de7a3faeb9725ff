// orrery list, show: the facts.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "apps/cli/facts/edge_facts.h"
#include "apps/cli/facts/model_facts.h"
#include "apps/cli/flags/help.h"
#include "apps/cli/output/output.h"
#include "apps/cli/verbs/verbs.h"
#include "orrery/accelerator/architecture/chip_yaml.h"
#include "orrery/accelerator/chip/core_chip.h"
#include "orrery/hardware/catalog.h"
#include "orrery/kinds/all_kinds.h"
#include "orrery/model/catalog/catalog.h"
#include "orrery/scenario/answer/figures.h"
#include "orrery/scenario/kinds/training/training_recipe.h"
#include "orrery/serving/profile/engine_profile.h"
#include "orrery/training/schedules/schedule.h"
#include "orrery/workload/plan/training_stack.h"

namespace orrery::cli {
namespace {

struct ListOptions {
  std::string kind, name, family;
  Format format = Format::kTable;
};

Json gpu_facts(const Gpu& g) {
  Json peaks = Json::object();
  for (std::size_t i = 0; i < g.peaks.size(); ++i) {
    if (g.peaks[i]) peaks[std::string(to_text(static_cast<Dtype>(i)))] = g.peaks[i]->value() / 1e12;
  }
  return {{"id", g.id},
          {"name", g.name},
          {"architecture", g.architecture.id},
          {"memory_gb", g.memory.capacity.value() / 1e9},
          {"bandwidth_gb_s", g.memory.bandwidth.value() / 1e9},
          {"peaks_tflop_s", peaks},
          {"scale_up_gb_s_each_way", g.scale_up.bandwidth.value() / 1e9},
          {"power_w", g.power ? Json(g.power->value()) : Json(nullptr)},
          {"unsure", g.unsure}};
}

Json node_facts(const NodeType& node) {
  NodeType n = node;
  Fields fields;
  declare(fields, n);
  return fields.json();
}

Json fabric_facts(const Fabric& fabric) {
  Fabric f = fabric;
  Fields fields;
  declare(fields, f);
  Json out = fields.json();
  out["bandwidth_gb_s"] = f.bandwidth().value() / 1e9;
  out["latency_us"] = f.latency.value() * 1e6;
  return out;
}

Json engine_facts(const EngineProfile& profile) {
  EngineProfile e = profile;
  Fields fields;
  declare(fields, e);
  return fields.json();
}

// Bundled chips: hierarchies of memories, which `accelerator` maps operations on, and chips of
// cores, which take the place of a GPU.
std::vector<Json> accelerator_facts(const Bundle& bundle) {
  const auto id_of = [](const std::string& path) {
    return std::filesystem::path(path).stem().string();
  };
  std::vector<Json> rows;
  const ComponentLibrary library(bundle);
  for (const std::string& path : bundle.list("accelerators/hierarchies", ".yaml")) {
    const auto file = bundle.find(path);
    const Chip chip = read_chip(parse_yaml(file->content, file->name), &library);
    Json levels = Json::array();
    for (const StorageLevel& level : chip.levels) levels.push_back(level.name);
    rows.push_back({{"id", id_of(path)},
                    {"kind", "hierarchy"},
                    {"clock_ghz", chip.clock_hz * 1e-9},
                    {"units", instances(chip).back()},
                    {"levels", levels}});
  }
  for (const std::string& path : bundle.list("accelerators", ".yaml")) {
    const std::optional<CoreChip> chip = find_core_chip(id_of(path), bundle);
    if (!chip) continue;
    const std::int64_t units = std::int64_t{chip->cores} * chip->core.lanes *
                               chip->core.array.rows * chip->core.array.columns;
    rows.push_back({{"id", id_of(path)},
                    {"kind", "cores"},
                    {"clock_ghz", chip->clock.value() * 1e-9},
                    {"units", units},
                    {"levels", {chip->memory.kind, "L2", "L1"}}});
  }
  return rows;
}

// A document's keys and values, as they are written.
Json figure_facts(const Figure& f) {
  Json facts = {{"id", f.name}, {"asked", f.asked}};
  if (!f.unit.empty()) facts["unit"] = f.unit;
  if (f.better != Better::kNeither) facts["better"] = f.better == Better::kLess ? "less" : "more";
  facts["doc"] = f.meaning;
  return facts;
}

Json document_json(const Node& node) {
  if (!node.is_map() && !node.is_list()) return node.as_string();
  Json out = node.is_map() ? Json::object() : Json::array();
  for (std::size_t i = 0; i < node.items().size(); ++i) {
    Json value = document_json(node.items()[i]);
    if (node.is_map()) {
      out[node.keys()[i]] = std::move(value);
    } else {
      out.push_back(std::move(value));
    }
  }
  return out;
}

// Heads and lines of the list of each kind, within 80 columns.
std::string list_head(const std::string& kind) {
  if (kind == "models")
    return fmt::format("{:<27} {:<20} {:>9} {:>8}  {}", "id", "family", "total B", "active B",
                       "variants");
  if (kind == "gpus")
    return fmt::format("{:<20} {:<12} {:>10} {:>15} {:>17}", "id", "architecture", "memory GB",
                       "bandwidth GB/s", "TFLOP/s 16-bit");
  if (kind == "nodes")
    return fmt::format("{:<20} {:>5}  {:<20} {}", "id", "GPUs", "inside", "between nodes");
  if (kind == "fabrics")
    return fmt::format("{:<24} {:<7} {:>9} {:>10}  {}", "id", "kind", "GB/s", "latency us",
                       "what it is");
  if (kind == "stacks") return fmt::format("{:<20} {}", "id", "what trains");
  if (kind == "recipes") return fmt::format("{:<34} {}", "id", "training recipe");
  if (kind == "metrics") return fmt::format("{:<24} {}", "id", "what it is");
  if (kind == "devices") return fmt::format("{:<22} {:<34} {}", "id", "cores", "GPU");
  if (kind == "networks")
    return fmt::format("{:<22} {:>8} {:>11} {:>7}", "id", "GMAC", "M weights", "nodes");
  if (kind == "schedules") return fmt::format("{:<12} {}", "id", "pipeline schedule");
  if (kind == "accelerators")
    return fmt::format("{:<14} {:<9} {:>7} {:>7}  {}", "id", "kind", "GHz", "units", "memories");
  return fmt::format("{:<20} {}", "id", "engine (version)");
}

// "  fp8 awq +1": the formats of variants, which their ids have from `at` on. The last column holds
// as many as fit, and the number of the others.
std::string variants_text(const Json& variants, std::size_t at) {
  constexpr std::size_t kColumn = 10;
  std::string out;
  for (std::size_t i = 0; i < variants.size(); ++i) {
    const std::string format = variants[i].get<std::string>().substr(at);
    const std::size_t others = variants.size() - i - 1;
    const std::string more = others > 0 ? fmt::format(" +{}", others) : "";
    if (i > 0 && out.size() + format.size() + more.size() + 1 > kColumn)
      return fmt::format("  {} +{}", out, others + 1);
    out += (i > 0 ? " " : "") + format;
  }
  return out.empty() ? "" : "  " + out;
}

std::string list_line(const std::string& kind, const Json& j) {
  const std::string id = j["id"].get<std::string>();
  if (kind == "models") {
    return fmt::format("{:<27} {:<20} {:>9.3f} {:>8.3f}{}", id, j["family"].get<std::string>(),
                       j["parameters"].get<double>() / 1e9,
                       j["active_parameters"].get<double>() / 1e9,
                       variants_text(j["variants"], id.size() + 1));
  }
  if (kind == "gpus") {
    double peak = 0;
    for (const char* d : {"bf16", "fp16"}) {
      if (peak == 0 && j["peaks_tflop_s"].contains(d)) peak = j["peaks_tflop_s"][d];
    }
    return fmt::format("{:<20} {:<12} {:>10.1f} {:>15.0f} {:>17.4g}", id,
                       j["architecture"].get<std::string>(), j["memory_gb"].get<double>(),
                       j["bandwidth_gb_s"].get<double>(), peak);
  }
  if (kind == "nodes") {
    const Json& network = j["network"];
    const auto fabric = network["fabric"].get<std::string>();
    return fmt::format(
        "{:<20} {:>5}  {:<20} {}", id, j["gpu_count"].get<int>(), j["scale_up"].get<std::string>(),
        fabric.empty() ? "-" : fmt::format("{} x {}", network["ports"].dump(), fabric));
  }
  if (kind == "fabrics") {
    return fmt::format("{:<24} {:<7} {:>9.4g} {:>10.3g}  {}", id, j["kind"].get<std::string>(),
                       j["bandwidth_gb_s"].get<double>(), j["latency_us"].get<double>(),
                       j["name"].get<std::string>().substr(0, 26));
  }
  if (kind == "stacks") return fmt::format("{:<20} {}", id, j["doc"].get<std::string>());
  if (kind == "devices") return edge_device_line(j);
  if (kind == "networks") return edge_network_line(j);
  if (kind == "accelerators") {
    std::string levels;
    for (const Json& level : j["levels"])
      levels += (levels.empty() ? "" : ", ") + level.get<std::string>();
    constexpr std::size_t kColumn = 38;
    if (levels.size() > kColumn) levels = levels.substr(0, kColumn - 3) + "...";
    return fmt::format("{:<14} {:<9} {:>7.4g} {:>7}  {}", id, j["kind"].get<std::string>(),
                       j["clock_ghz"].get<double>(), j["units"].get<std::int64_t>(), levels);
  }
  const auto explained = [&](std::size_t column) {
    const std::string doc = wrapped(j["doc"].get<std::string>(), 80, std::string(column, ' '));
    return fmt::format("{:<{}}{}", id, column, doc.substr(column, doc.size() - column - 1));
  };
  if (kind == "schedules") return explained(13);
  if (kind == "recipes") return explained(35);
  if (kind == "metrics") return explained(25);
  return fmt::format("{:<20} {} ({})", id, j["name"].get<std::string>(),
                     j["version"].get<std::string>());
}

std::vector<Json> collect(const std::string& kind, const Bundle& bundle) {
  std::vector<Json> rows;
  if (kind == "models") {
    const std::vector<ModelVariant> variants = model_variants(bundle);
    for (const std::string& id : model_ids(bundle)) {
      rows.push_back(model_facts(load_model(id, bundle), id));
      rows.back()["variants"] = Json::array();
      for (const ModelVariant& v : variants)
        if (v.of == id) rows.back()["variants"].push_back(v.id);
    }
  } else if (kind == "gpus") {
    const Catalog catalog(bundle);
    for (const std::string& id : catalog.gpu_ids()) rows.push_back(gpu_facts(catalog.gpu(id)));
  } else if (kind == "engines") {
    for (const std::string& id : engine_ids(bundle))
      rows.push_back(engine_facts(load_engine(id, bundle)));
  } else if (kind == "nodes") {
    const Catalog catalog(bundle);
    for (const std::string& id : catalog.node_type_ids())
      rows.push_back(node_facts(catalog.node_type(id)));
  } else if (kind == "fabrics") {
    const Catalog catalog(bundle);
    for (const std::string& id : catalog.fabric_ids())
      rows.push_back(fabric_facts(catalog.fabric(id)));
  } else if (kind == "stacks") {
    for (const TrainingStackProfile& k : training_stacks())
      rows.push_back({{"id", k.name}, {"doc", k.doc}});
  } else if (kind == "recipes") {
    for (const std::string& id : training_recipe_ids(bundle)) {
      const TrainingRecipe r = training_recipe(id, bundle);
      rows.push_back({{"id", r.id},
                      {"doc", r.doc},
                      {"source", r.source},
                      {"date", r.date},
                      {"scenario", document_json(r.scenario)}});
    }
  } else if (kind == "schedules") {
    for (const PipelineScheduleKind& k : pipeline_schedule_kinds())
      rows.push_back({{"id", k.name}, {"doc", k.doc}});
  } else if (kind == "devices") {
    rows = edge_device_facts(bundle);
  } else if (kind == "networks") {
    rows = edge_network_facts(bundle);
  } else if (kind == "accelerators") {
    rows = accelerator_facts(bundle);
  } else if (kind == "metrics") {
    for (const Figure& m : all_kinds().figures())
      rows.push_back({{"id", m.name}, {"asked", m.asked}, {"doc", m.meaning}});
  } else {
    const std::vector<std::string> kinds = {"models",  "gpus",    "nodes",     "fabrics",
                                            "engines", "stacks",  "schedules", "accelerators",
                                            "metrics", "recipes", "devices",   "networks"};
    throw InputError(fmt::format("expected one of {}, got '{}'{}", fmt::join(kinds, ", "), kind,
                                 did_you_mean(kind, kinds)));
  }
  return rows;
}

// The rows of the models whose family begins with `family`.
std::vector<Json> of_family(const std::vector<Json>& rows, const std::string& family) {
  std::vector<Json> kept;
  std::vector<std::string> families;
  for (const Json& row : rows) {
    families.push_back(row["family"].get<std::string>());
    if (canonical_name(families.back()).starts_with(canonical_name(family))) kept.push_back(row);
  }
  if (kept.empty())
    throw InputError(fmt::format("--family: no model is of family '{}'{}", family,
                                 did_you_mean(family, families)));
  return kept;
}

void print_list(const ListOptions& o, const Bundle& bundle) {
  const auto& [kind, name, family, format] = o;
  if (!family.empty() && kind != "models")
    throw InputError(fmt::format("--family: {} have no family; only models do", kind));
  std::vector<Json> rows = collect(kind, bundle);
  if (!family.empty()) rows = of_family(rows, family);
  if (format != Format::kTable) return fmt::print("{}", facts_text(rows, format));
  fmt::print("{}\n", list_head(kind));
  for (const Json& r : rows) fmt::print("{}\n", list_line(kind, r));
}

// "peaks_tflop_s.bf16  989.4", a line each.
void print_facts(const Json& facts, const std::string& prefix) {
  constexpr std::size_t kValueAt = 38, kColumns = 80;
  for (const auto& [key, value] : facts.items()) {
    if (value.is_object()) {
      print_facts(value, prefix + key + ".");
      continue;
    }
    std::string text = value.is_string() ? value.get<std::string>()
                       : value.is_null() ? "unknown"
                                         : value.dump();
    if (value.is_array()) {
      text.clear();
      for (const Json& item : value)
        text +=
            (text.empty() ? "" : ", ") + (item.is_string() ? item.get<std::string>() : item.dump());
    }
    if (text.empty()) text = "none";
    const std::string lines = wrapped(text, kColumns, std::string(kValueAt, ' '));
    const std::string name = prefix + key;
    if (name.size() < kValueAt)
      fmt::print("{:<{}}{}", name, kValueAt, lines.substr(kValueAt));
    else
      fmt::print("{}\n{}", name, lines);
  }
}

Json show(const std::string& name, const Bundle& bundle) {
  const Catalog catalog(bundle);
  // A name is looked for in all kinds; the first that knows it answers.
  const std::vector<std::string> engines = engine_ids(bundle);
  if (std::find(engines.begin(), engines.end(), canonical_name(name)) != engines.end()) {
    return engine_facts(load_engine(name, bundle));
  }
  // The path of a config.json names a model and nothing else: its own error is the answer.
  std::error_code error;
  if (name.ends_with(".json") || std::filesystem::is_directory(name, error)) {
    const Architecture m = load_model(name, bundle);
    return model_facts(m, m.id);
  }
  const auto known_to = [](const auto& facts) -> std::optional<Json> {
    try {
      return facts();
    } catch (const InputError&) {
      return std::nullopt;
    }
  };
  if (const auto gpu = known_to([&] { return gpu_facts(catalog.gpu(name)); })) return *gpu;
  const auto model = known_to([&] {
    const Architecture m = load_model(name, bundle);
    return model_facts(m, m.id);
  });
  if (model) return *model;
  if (const auto node = known_to([&] { return node_facts(catalog.node_type(name)); })) return *node;
  if (const auto fabric = known_to([&] { return fabric_facts(catalog.fabric(name)); }))
    return *fabric;
  for (const char* kind : {"stacks", "schedules", "recipes"}) {
    for (Json& row : collect(kind, bundle))
      if (row["id"].get<std::string>() == canonical_name(name)) return row;
  }
  if (const Figure* f = all_kinds().figure_of(name)) return figure_facts(*f);
  std::vector<std::string> known = catalog.gpu_ids();
  const auto models = model_ids(bundle), nodes = catalog.node_type_ids();
  for (const ModelVariant& v : model_variants(bundle)) known.push_back(v.id);
  known.insert(known.end(), nodes.begin(), nodes.end());
  known.insert(known.end(), models.begin(), models.end());
  known.insert(known.end(), engines.begin(), engines.end());
  const auto fabrics = catalog.fabric_ids();
  known.insert(known.end(), fabrics.begin(), fabrics.end());
  for (const char* kind : {"stacks", "schedules", "recipes"})
    for (const Json& row : collect(kind, bundle)) known.push_back(row["id"].get<std::string>());
  for (const Figure& m : all_kinds().figures()) known.emplace_back(m.name);
  throw InputError(fmt::format(
      "no model, GPU, node, fabric, engine, stack, schedule, recipe or metric is called '{}'{}",
      name, did_you_mean(name, known)));
}

}  // namespace

void add_list(CLI::App& program, Context& context) {
  CLI::App* app = program.add_subcommand(
      "list",
      "Lists models, GPUs, nodes, networks, engines, training stacks and recipes, pipeline "
      "schedules, accelerators, metrics, and devices and networks at the edge.");
  auto o = std::make_shared<ListOptions>();
  app->add_option(
         "KIND", o->kind,
         "what to list: models, gpus, nodes, fabrics, engines, stacks, recipes, schedules, "
         "accelerators, metrics, devices or networks")
      ->required();
  app->add_option("--family", o->family,
                  "of models: those whose family, such as qwen3_moe, begins with this");
  add_format_flag(*app, o->format);
  app->footer(
      "Examples:\n  orrery list models --family qwen3\n  orrery list gpus -o json\n  orrery list "
      "metrics");
  app->callback([o, &context] { print_list(*o, context.bundle()); });
}

void add_show(CLI::App& program, Context& context) {
  CLI::App* app = program.add_subcommand("show",
                                         "Shows the facts of one model, GPU, node, network, "
                                         "engine, training stack, recipe or schedule, or "
                                         "what a metric means.");
  auto o = std::make_shared<ListOptions>();
  app->add_option("NAME", o->name,
                  "its id or an alias; of a model also a Hugging Face id or a file")
      ->required();
  add_format_flag(*app, o->format);
  app->footer(
      "Examples:\n  orrery show llama-3-70b\n  orrery show h100-sxm -o json\n  orrery show tpot");
  app->callback([o, &context] {
    const Json facts = show(o->name, context.bundle());
    if (o->format == Format::kTable) return print_facts(facts, "");
    if (o->format == Format::kJson) return fmt::print("{}\n", facts.dump(1));
    fmt::print("{}", facts_text({facts}, o->format));
  });
}

}  // namespace orrery::cli
