#include "apps/cli/flags/flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace orrery::cli {
namespace {

constexpr const char* kEngineGroup = "the engine's constants (default: its profile's)";

std::string flag_name(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return "--" + name;
}

// "--tp,--tensor-parallel-size"
std::string flag_names(const Field& f) {
  std::string names = flag_name(f.name());
  for (const std::string& alias : f.aliases()) names += "," + flag_name(alias);
  return names;
}

// Keys of the engine's profile that vLLM has flags for. All others are reached by --set.
bool is_engine_flag(std::string_view name, bool of_service) {
  if (of_service && (name == "policy" || name == "order")) return true;
  constexpr std::string_view kNames[] = {
      "utilization",  "block_size",      "max_num_batched_tokens",
      "max_num_seqs", "chunked_prefill", "prefix_caching"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

// Groups of a service whose flags carry the group's name: "--slo-ttft", "--lora-rank".
bool is_prefixed(std::string_view group) {
  constexpr std::string_view kGroups[] = {"slo",       "speculation",    "lora",      "kv",
                                          "neighbour", "disaggregation", "autoscale", "failures"};
  return std::find(std::begin(kGroups), std::end(kGroups), group) != std::end(kGroups);
}

// "ttft:p99:500ms,tpot:50ms" as the keys of `slo`.
void set_slo(Node& document, const std::string& text) {
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::string part = text.substr(begin, text.find(',', begin) - begin);
    begin += part.size() + 1;
    const std::size_t first = part.find(':'), last = part.rfind(':');
    const bool has_percentile = first != last;
    if (first == std::string::npos || first == 0 || last + 1 == part.size() ||
        (has_percentile && (last < first + 3 || part[first + 1] != 'p')))
      throw InputError(
          fmt::format("--slo {}: expected limits like ttft:p99:500ms or tpot:50ms", part));
    const std::string key = "slo." + part.substr(0, first);
    set_path(document, key, scalar_node(part.substr(last + 1), "--slo " + part));
    if (has_percentile)
      set_path(document, key + "_percentile",
               scalar_node(part.substr(first + 2, last - first - 2), "--slo " + part));
  }
}

// "ttft:500 tpot:50 e2el:2000" (vLLM's --goodput, in milliseconds) as the keys of `slo`.
void set_goodput(Node& document, const std::vector<std::string>& limits) {
  for (const std::string& limit : limits) {
    const std::size_t colon = limit.find(':');
    std::string key = limit.substr(0, colon);
    if (key == "e2el") key = "e2e";
    const bool known = key == "ttft" || key == "tpot" || key == "e2e";
    const std::string value = colon == std::string::npos ? "" : limit.substr(colon + 1);
    if (!known || value.empty() || value.find_first_not_of("0123456789.") != std::string::npos)
      throw InputError(fmt::format(
          "--goodput {}: expected limits in milliseconds like ttft:500 tpot:50 e2el:10000", limit));
    set_path(document, "slo." + key, scalar_node(value + " ms", "--goodput " + limit));
  }
}

// KEY and VALUE of an assignment.
std::pair<std::string, std::string> split_assignment(const std::string& assignment) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0)
    throw InputError(fmt::format("--set {}: expected KEY=VALUE", assignment));
  std::string key = assignment.substr(0, equals);
  std::replace(key.begin(), key.end(), '-', '_');
  return {std::move(key), assignment.substr(equals + 1)};
}

// Whether commas separate values of a sweep in what the field takes.
bool takes_one(const Field& f) {
  switch (f.type()) {
    case Field::Type::kInt:
    case Field::Type::kNumber:
    case Field::Type::kQuantity:
      return true;
    case Field::Type::kText:
      return !f.is_verbatim();
    default:
      return false;
  }
}

// "1-8*2", not "-1".
bool is_range(const Field& f, const std::string& text) {
  return f.type() == Field::Type::kInt && text.find_first_not_of("0123456789-*+") == text.npos &&
         text.find('-', 1) != text.npos;
}

}  // namespace

std::string help_of(const Field& f) {
  std::string help = f.doc();
  if (!f.need().empty()) help += "; needs " + f.need();
  std::vector<std::string> choices = f.choices();
  std::erase(choices, "");  // the default's
  if (!choices.empty()) help += fmt::format(" ({})", fmt::join(choices, ", "));
  for (const Field::Switch& s : f.spellings()) help += fmt::format("; {} is {}", s.name, s.value);
  if (f.type() == Field::Type::kBool) return help;
  if (f.type() != Field::Type::kList)
    return f.default_text().empty() ? help : help + fmt::format(" [{}]", f.default_text());
  std::string values;
  for (const auto& v : f.json())
    values += (values.empty() ? "" : ",") + (v.is_string() ? v.get<std::string>() : v.dump());
  return values.empty() ? help : help + fmt::format(" [{}]", values);
}

std::string type_name(const Field& f) {
  switch (f.type()) {
    case Field::Type::kList:
      return f.unit() == "links" ? "LINKS" : f.unit() == "bytes" ? "SIZES" : "N[,N|N-N*2...]";
    case Field::Type::kInt:
      return "N";
    case Field::Type::kNumber:
      return "X";
    default:
      return "NAME";
  }
}

void set_flag(Node& document, const Field& field, const std::string& path, const std::string& text,
              const std::string& flag) {
  const bool several = takes_one(field) && text.find('(') == std::string::npos &&
                       (text.find(',') != std::string::npos || is_range(field, text));
  set_path(document, several ? "sweep." + path : path, scalar_node(text, flag));
}

bool is_set(const Node& document, std::string_view path) {
  const Node* at = &document;
  for (std::string_view rest = path; at != nullptr && !rest.empty();) {
    const std::size_t dot = std::min(rest.find('.'), rest.size());
    at = at->find(rest.substr(0, dot));
    rest.remove_prefix(std::min(dot + 1, rest.size()));
  }
  if (at != nullptr) return true;
  const Node* sweep = document.find("sweep");
  return sweep != nullptr && is_set(*sweep, path);
}

void check_asked(const Node& document, std::string_view example) {
  std::string missing;
  if (!is_set(document, "model")) missing = "--model";
  if (!is_set(document, "hardware.gpu")) missing += missing.empty() ? "--gpu" : " and --gpu";
  if (!missing.empty()) throw InputError(fmt::format("{} missing, as in: {}", missing, example));
}

void add_set_flag(CLI::App& app, const std::shared_ptr<Node>& document) {
  app.add_option_function<std::vector<std::string>>(
         "--set",
         [document](const std::vector<std::string>& assignments) {
           for (const std::string& assignment : assignments) {
             const auto [key, value] = split_assignment(assignment);
             set_path(*document, key, scalar_node(value, "--set " + key));
           }
         },
         "any key of a scenario file: --set sweep.model=llama-3-8b,llama-2-7b")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
}

void ScenarioFlags::add_flag(CLI::App& app, const Field& field, const std::string& path,
                             const std::string& names, const std::string& group) {
  const std::string long_name = names.substr(names.find("--"));
  given_.push_back({&field, path, long_name.substr(0, long_name.find(',')), "", false});
  Given* slot = &given_.back();
  const bool in_profile = group == kEngineGroup;
  const std::string help = in_profile ? field.doc() : help_of(field);
  if (field.type() == Field::Type::kBool) {
    app.add_flag_function(
           names + ",!--no-" + slot->flag.substr(2),
           [slot](std::int64_t n) { slot->text = n > 0 ? "true" : "false", slot->set = true; },
           help)
        ->group(group);
    return;
  }
  app.add_option_function<std::string>(
         names, [slot](const std::string& text) { slot->text = text, slot->set = true; }, help)
      ->group(group)
      ->type_name(type_name(field))
      ->take_last();
}

ScenarioFlags::ScenarioFlags(CLI::App& app, Of of) : of_(of), verb_(app.get_name()) {
  declare(scenario_fields_, scenario_);
  declare(engine_fields_, engine_);
  for (const Field& f : scenario_fields_.all()) {
    // These keys are flags of `network`, `kernel` and `train`.
    if (f.name() == "collective" || f.name() == "kernel" || f.name() == "training" ||
        f.name() == "chance")
      continue;
    const bool of_service = f.name() == "load" || f.name() == "cluster" || is_prefixed(f.name());
    if (f.group()) {
      if (of_service == (of == Of::kService) || !(of_service || f.name() == "workload")) {
        add_leaves(app, *f.group(), f.name() + ".", f.doc());
      } else if (f.name() == "workload") {  // what a service reads of it
        for (const char* key : {"max_model_len", "expert_skew"}) {
          const Field& leaf = *f.group()->find(key);
          add_flag(app, leaf, std::string("workload.") + key, flag_names(leaf), f.doc());
        }
      }
    } else if (f.name() == "model") {
      add_flag(app, f, f.name(), "-m,--model", "what is asked about");
    }
  }
  for (const Field& f : engine_fields_.all()) {
    if (!f.group()) continue;
    for (const Field& leaf : f.group()->all()) {
      if (!is_engine_flag(leaf.name(), of == Of::kService)) continue;
      // vLLM's name is the alias where there is one.
      const std::string name = leaf.aliases().empty() ? leaf.name() : leaf.aliases().front();
      add_flag(app, leaf, "engine.overrides." + f.name() + "." + leaf.name(), flag_name(name),
               kEngineGroup);
    }
  }
  if (of == Of::kService) {
    app.add_option("--slo", slo_,
                   "limits of slo in one, each with its percentile: ttft:p99:500ms,tpot:p50:50ms")
        ->group("SLO: limits of the latency")
        ->type_name("LIMITS");
    app.add_option("--goodput", goodput_, "the same as vLLM writes them, in ms: ttft:500 tpot:50")
        ->group("SLO: limits of the latency")
        ->type_name("LIMITS");
  }
  app.add_option("--set", assignments_,
                 "any key of a scenario file: --set workload.past=512; keys of the engine's "
                 "profile may be written "
                 "short: --set engine.max_num_seqs=64")
      ->group(kEngineGroup)
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
}

void ScenarioFlags::add_leaves(CLI::App& app, const Fields& fields, const std::string& prefix,
                               const std::string& group) {
  for (const Field& f : fields.all()) {
    if (f.group() || f.type() == Field::Type::kGroup) continue;
    std::string names = prefix == "engine." ? "--engine" : flag_names(f);
    const std::string owner = prefix.substr(0, prefix.size() - 1);
    if (is_prefixed(owner)) names = flag_name(owner + "-" + f.name());
    if (f.name() == "gpu") names = "-g," + names;
    add_flag(app, f, prefix + f.name(), names, group);
  }
}

std::string ScenarioFlags::full_path(const std::string& key) const {
  constexpr std::string_view kEngine = "engine.";
  if (!key.starts_with(kEngine)) return key;
  const std::string rest = key.substr(kEngine.size());
  if (rest == "profile" || rest == "overrides" || rest.starts_with("overrides.")) return key;
  if (rest.find('.') != std::string::npos || engine_fields_.find(rest))
    return "engine.overrides." + rest;
  std::vector<std::string> known = {"profile"};
  for (const Field& group : engine_fields_.all()) {
    if (!group.group()) continue;
    if (group.group()->find(rest)) return "engine.overrides." + group.name() + "." + rest;
    for (const Field& leaf : group.group()->all()) known.push_back(leaf.name());
  }
  throw InputError(fmt::format("--set {}: an engine's profile has no such key{}", key,
                               did_you_mean(rest, known)));
}

void ScenarioFlags::apply(Node& document) const {
  for (const std::string& assignment : assignments_) {
    const auto [key, value] = split_assignment(assignment);
    set_path(document, full_path(key), scalar_node(value, "--set " + key));
  }
  if (!slo_.empty()) set_slo(document, slo_);
  set_goodput(document, goodput_);
  for (const Given& g : given_) {
    if (g.set) set_flag(document, *g.field, g.path, g.text, g.flag);
  }
}

ScenarioSweep ScenarioFlags::scenario() const {
  Node document;
  set_path(document, "name", scalar_node("command line", ""));
  apply(document);
  check_asked(document, fmt::format("orrery {} --model llama-3-8b --gpu h100-sxm", verb_));
  if (of_ == Of::kService && !document.find("load"))
    set_path(document, "load.seed", scalar_node("0", ""));
  return read_scenario(document);
}

}  // namespace orrery::cli
