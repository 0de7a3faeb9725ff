#include "orrery/planner/emit/launch.h"

#include <fmt/args.h>
#include <fmt/format.h>

#include <algorithm>

#include "orrery/model/catalog/catalog.h"
#include "orrery/planner/emit/launch_facts.h"

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
  if (option.dp > 1 &&
      std::find(without_dp.begin(), without_dp.end(), s.method) != without_dp.end())
    return fmt::format("{} does not combine speculation by {} with data-parallel attention",
                       option.engine, s.method);
  return "";
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

LaunchCommand launch_command(const Bundle& bundle, const EngineOption& option, EngineRole role,
                             const std::string& model, std::int64_t max_model_len) {
  LaunchCommand out;
  const std::optional<LaunchFacts> known = launch_facts(bundle, option.engine);
  if (!known) {
    out.refused = fmt::format("no flags of {} are known (catalog/launch)", option.engine);
    return out;
  }
  const LaunchFacts& facts = *known;
  out.image = facts.image;
  out.requests_counter = facts.requests_counter;
  fmt::dynamic_format_arg_store<fmt::format_context> values;
  values.push_back(fmt::arg("model", model));
  values.push_back(fmt::arg("tp", option.tp));
  values.push_back(fmt::arg("pp", option.pp));
  values.push_back(fmt::arg("dp", option.dp));
  values.push_back(fmt::arg("ep", option.ep));
  values.push_back(fmt::arg("ranks", option.tp * option.dp));
  values.push_back(fmt::arg("max_model_len", max_model_len));
  values.push_back(fmt::arg("max_num_seqs", option.max_num_seqs));
  values.push_back(fmt::arg("max_num_batched_tokens", option.max_num_batched_tokens));
  const SpeculationChoice& drafts = option.speculation;
  values.push_back(fmt::arg("draft_model", drafts.on() ? hub_name(bundle, drafts.model) : ""));
  values.push_back(fmt::arg("draft_tokens", drafts.tokens));
  values.push_back(fmt::arg("verified_tokens", drafts.tokens + 1));
  std::string text;
  const auto add = [&](bool wanted, const std::string& flag, const char* what) {
    if (!wanted) return;
    if (flag.empty() && out.refused.empty())
      out.refused = fmt::format("{} has no flag for {} (catalog/launch)", option.engine, what);
    text += " " + flag;
  };
  add(option.tp * option.dp > 1 && (option.tp > 1 || facts.tp.find("{ranks}") != facts.tp.npos),
      facts.tp, "tensor-parallel ranks");
  add(option.pp > 1, facts.pp, "pipeline stages");
  add(option.dp > 1, facts.dp, "data-parallel attention");
  add(option.ep > 1, facts.ep, "expert-parallel groups");
  add(max_model_len > 0, facts.max_model_len, "the longest sequence");
  add(option.max_num_seqs > 0, facts.max_num_seqs, "the most sequences at once");
  add(option.max_num_batched_tokens > 0, facts.max_num_batched_tokens, "the most tokens of a step");
  if (drafts.on()) {
    const std::string why = no_speculation(facts, option);
    if (out.refused.empty()) out.refused = why;
    if (why.empty()) text += " " + facts.speculation.at(drafts.method);
  }
  if (!option.format.empty()) {
    const auto format = facts.formats.find(option.format);
    if (format != facts.formats.end()) {
      text += " " + format->second;
    } else if (facts.checkpoint_formats || !facts.formats.empty()) {
      out.needs = fmt::format("a checkpoint of the model in {}", option.format);
    }
  }
  const std::size_t layout = text.size();
  add(role == EngineRole::kPrefill, facts.prefill, "prefill alone");
  add(role == EngineRole::kDecode, facts.decode, "decode alone");
  if (!out.refused.empty()) return out;
  out.command = fmt::vformat(facts.command + text, values);
  out.flags = fmt::vformat(text.substr(0, layout), values);
  return out;
}

}  // namespace orrery
