#include "orrery/planner/emit/launch.h"

#include <fmt/args.h>
#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "orrery/base/error.h"
#include "orrery/base/fields.h"

namespace orrery {
namespace {

struct LaunchFacts {
  std::string command, image, prefill, decode;
  std::string tp, pp, dp, ep, max_model_len;
  std::map<std::string, std::string> formats;
  bool checkpoint_formats = false;
  std::vector<std::string> sources;
};

void declare(Fields& f, LaunchFacts& l) {
  f.add("command", l.command, "how the engine is started").verbatim().required();
  f.add("image", l.image, "container that has it").verbatim();
  f.group(
      "flags",
      [&](Fields& g) {
        g.add("tp", l.tp, "tensor-parallel ranks").verbatim();
        g.add("pp", l.pp, "pipeline stages").verbatim();
        g.add("dp", l.dp, "data-parallel groups").verbatim();
        g.add("ep", l.ep, "expert-parallel groups").verbatim();
        g.add("max_model_len", l.max_model_len, "longest sequence").verbatim();
      },
      "flags of a layout");
  f.custom(
      "formats", Field::Type::kGroup,
      [&l](const Node& n) {
        for (std::size_t i = 0; i < n.keys().size(); ++i)
          l.formats[n.keys()[i]] = n.items()[i].text();
      },
      [] { return nlohmann::ordered_json::object(); }, "flags of formats of the weights");
  f.add("checkpoint_formats", l.checkpoint_formats, "formats are those of the checkpoint");
  f.add("prefill", l.prefill, "flags of an engine that prefills alone").verbatim();
  f.add("decode", l.decode, "flags of an engine that decodes alone").verbatim();
  f.add("sources", l.sources, "where the flags can be read").required();
}

}  // namespace

LaunchCommand launch_command(const Bundle& bundle, const EngineOption& option, EngineRole role,
                             const std::string& model, std::int64_t max_model_len) {
  LaunchCommand out;
  const auto file = bundle.find(fmt::format("launch/{}.yaml", option.engine));
  if (!file) {
    out.refused = fmt::format("no flags of {} are known (catalog/launch)", option.engine);
    return out;
  }
  LaunchFacts facts;
  Fields fields;
  declare(fields, facts);
  fields.read(parse_yaml(std::string(file->content), file->name));
  out.image = facts.image;
  fmt::dynamic_format_arg_store<fmt::format_context> values;
  values.push_back(fmt::arg("model", model));
  values.push_back(fmt::arg("tp", option.tp));
  values.push_back(fmt::arg("pp", option.pp));
  values.push_back(fmt::arg("dp", option.dp));
  values.push_back(fmt::arg("ep", option.ep));
  values.push_back(fmt::arg("ranks", option.tp * option.dp));
  values.push_back(fmt::arg("max_model_len", max_model_len));
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
