#include "orrery/planner/emit/launch.h"

#include <fmt/args.h>
#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "orrery/base/index.h"
#include "orrery/model/catalog/catalog.h"
#include "orrery/planner/emit/launch_facts.h"
#include "orrery/scenario/kinds/service/techniques.h"

namespace orrery {
namespace {

// Why the facts have no flags for a speculation; empty: they have.
std::string no_speculation(const LaunchFacts& facts, const EngineOption& option) {
  const SpeculationChoice& s = option.speculation;
  const auto& without_dp = facts.speculation_without_dp;
  if (!facts.speculation.contains(s.method))
    return fmt::format("catalog/launch has no flags of {} for speculation by {}", option.engine,
                       s.method);
  if (s.tree_tokens > 0)
    return fmt::format("catalog/launch has no flags of {} for a tree of drafts", option.engine);
  if (s.method == "draft_model" && s.model.empty())
    return "the question does not name the draft model (speculation.model)";
  if (option.layout.dp > 1 &&
      std::find(without_dp.begin(), without_dp.end(), s.method) != without_dp.end())
    return fmt::format("{} does not combine speculation by {} with data-parallel attention",
                       option.engine, s.method);
  return "";
}

using LaunchValues = fmt::dynamic_format_arg_store<fmt::format_context>;

// The values of a plan that the texts of the facts name.
LaunchValues values_of(const Bundle& bundle, const EngineOption& option, const std::string& model,
                       std::int64_t max_model_len, const std::string& options_file) {
  LaunchValues values;
  const ParallelPlan& layout = option.layout;
  values.push_back(fmt::arg("model", model));
  values.push_back(fmt::arg("tp", layout.tp));
  values.push_back(fmt::arg("pp", layout.pp));
  values.push_back(fmt::arg("dp", layout.dp));
  values.push_back(fmt::arg("ep", layout.ep));
  values.push_back(fmt::arg("cp", layout.cp));
  values.push_back(fmt::arg("ranks", layout.tp * layout.dp));
  values.push_back(fmt::arg("max_model_len", max_model_len));
  values.push_back(fmt::arg("max_num_seqs", option.max_num_seqs));
  values.push_back(fmt::arg("max_num_batched_tokens", option.max_num_batched_tokens));
  const SpeculationChoice& drafts = option.speculation;
  values.push_back(fmt::arg("draft_model", drafts.on() ? hub_name(bundle, drafts.model) : ""));
  values.push_back(fmt::arg("draft_tokens", drafts.tokens));
  values.push_back(fmt::arg("verified_tokens", drafts.tokens + 1));
  values.push_back(fmt::arg("options_file", options_file));
  return values;
}

// The texts of the facts that a plan needs, as the command and the options file have them.
class Texts {
 public:
  Texts(const LaunchFacts& facts, const std::string& engine) : facts_(facts), engine_(engine) {}

  void add(bool wanted, const std::string& text, const char* what) {
    if (!wanted) return;
    if (text.empty()) refuse(fmt::format("{} has no flag for {} (catalog/launch)", engine_, what));
    add(text);
  }
  void add(const std::string& text) {
    if (!is_of_options_file(text)) {
      flags += " " + text;
      return;
    }
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);)
      if (options.find(line + "\n") == options.npos) options += line + "\n";
  }
  void refuse(const std::string& why) {
    if (refused.empty()) refused = why;
  }
  // To be called last.
  void name_options_file() {
    if (!options.empty()) add(true, facts_.options_file, "an options file");
  }

  std::string flags, options, refused;

 private:
  const LaunchFacts& facts_;
  const std::string& engine_;
};

const char* options_file_of(EngineRole role) {
  constexpr const char* kNames[] = {"options.yaml", "options-prefill.yaml", "options-decode.yaml"};
  return kNames[index(role)];
}

}  // namespace

std::string hub_name(const Bundle& bundle, const std::string& model) {
  for (const ModelEntry& e : model_index(bundle)) {
    if (e.id != model) continue;
    for (const std::string& alias : e.aliases)
      if (alias.find('/') != std::string::npos) return alias;
  }
  return model;
}

std::string catalog_id(const Bundle& bundle, const std::string& name) {
  for (const ModelEntry& e : model_index(bundle)) {
    if (e.id == name || std::find(e.aliases.begin(), e.aliases.end(), name) != e.aliases.end())
      return e.id;
  }
  return "";
}

LaunchCommand launch_command(const Bundle& bundle, const EngineOption& option, EngineRole role,
                             const std::string& model, std::int64_t max_model_len) {
  LaunchCommand out;
  const std::optional<LaunchFacts> known = launch_facts(bundle, option.engine);
  if (!known) {
    out.refused = fmt::format("no flags of {} are known (catalog/launch)", option.engine);
    return out;
  }
  const LaunchFacts& facts = *known;
  const ParallelPlan& layout = option.layout;
  out.image = facts.image;
  out.requests_counter = facts.requests_counter;
  Texts texts(facts, option.engine);
  texts.add(
      layout.tp * layout.dp > 1 && (layout.tp > 1 || facts.tp.find("{ranks}") != facts.tp.npos),
      facts.tp, "tensor-parallel ranks");
  texts.add(layout.pp > 1, facts.pp, "pipeline stages");
  texts.add(layout.dp > 1, facts.dp, "data-parallel attention");
  if (layout.dp > 1 && layout.tp > 1 && facts.dp.find("{dp}") == facts.dp.npos)
    texts.refuse(fmt::format("data-parallel attention of {} takes all ranks (catalog/launch)",
                             option.engine));
  texts.add(layout.ep > 1, facts.ep, "expert-parallel groups");
  texts.add(layout.cp > 1, facts.cp, "decode context parallelism");
  if (layout.cp > 1) out.needs = facts.cp_needs;
  texts.add(max_model_len > 0, facts.max_model_len, "the longest sequence");
  texts.add(option.max_num_seqs > 0, facts.max_num_seqs, "the most sequences at once");
  texts.add(option.max_num_batched_tokens > 0, facts.max_num_batched_tokens,
            "the most tokens of a step");
  texts.add(!option.prefix_caching, facts.no_prefix_caching, "no prefix caching");
  const SpeculationChoice& drafts = option.speculation;
  if (drafts.on()) {
    const std::string why = no_speculation(facts, option);
    why.empty() ? texts.add(facts.speculation.at(drafts.method)) : texts.refuse(why);
  }
  if (!option.format.empty()) {
    const auto format = facts.formats.find(option.format);
    if (format != facts.formats.end()) {
      texts.add(format->second);
    } else if (facts.checkpoint_formats || !facts.formats.empty()) {
      out.needs += fmt::format("{}a checkpoint of the model in {}",
                               out.needs.empty() ? "" : ", and ", option.format);
    }
  }
  const std::size_t without_role = texts.flags.size();
  texts.add(role == EngineRole::kPrefill, facts.prefill, "prefill alone");
  texts.add(role == EngineRole::kDecode, facts.decode, "decode alone");
  texts.name_options_file();
  out.refused = texts.refused;
  if (!out.refused.empty()) return out;
  const LaunchValues values =
      values_of(bundle, option, model, max_model_len, options_file_of(role));
  out.command = fmt::vformat(facts.command + texts.flags, values);
  out.flags = fmt::vformat(texts.flags.substr(0, without_role), values);
  if (!texts.options.empty()) {
    out.options_file = options_file_of(role);
    out.options = fmt::vformat(texts.options, values);
  }
  return out;
}

}  // namespace orrery
