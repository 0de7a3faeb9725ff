#include "orrery/planner/emit/launch_facts.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "orrery/base/fields.h"

namespace orrery {
namespace {

constexpr const char* kFolder = "launch/";
constexpr const char* kEnd = ".yaml";

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
        g.add("cp", l.cp, "ranks that divide the tokens of a KV cache").verbatim();
        g.add("max_model_len", l.max_model_len, "longest sequence").verbatim();
        g.add("max_num_seqs", l.max_num_seqs, "most sequences at once").verbatim();
        g.add("max_num_batched_tokens", l.max_num_batched_tokens, "most tokens of a step")
            .verbatim();
        g.add("prefix_caching", l.prefix_caching, "prefix caching, where it is on anyway")
            .verbatim();
        g.add("no_prefix_caching", l.no_prefix_caching, "no prefix caching").verbatim();
      },
      "flags of a layout");
  const auto add_map = [&f](const char* key, std::map<std::string, std::string>& map,
                            const char* help) {
    f.custom(
        key, Field::Type::kGroup,
        [&map](const Node& n) {
          for (std::size_t i = 0; i < n.keys().size(); ++i) map[n.keys()[i]] = n.items()[i].text();
        },
        [] { return nlohmann::ordered_json::object(); }, help);
  };
  add_map("formats", l.formats, "flags of formats of the weights");
  add_map("aliases", l.aliases, "other words of a command, each with the one that is used here");
  add_map("speculation", l.speculation, "flags of speculation by its methods");
  f.add("speculation_without_dp", l.speculation_without_dp,
        "methods of speculation that the engine does not combine with data-parallel attention");
  f.add("checkpoint_formats", l.checkpoint_formats, "formats are those of the checkpoint");
  f.add("cp_needs", l.cp_needs, "what divided KV caches ask for").verbatim();
  f.add("options_file", l.options_file, "flag that names the options file").verbatim();
  f.add("prefill", l.prefill, "flags of an engine that prefills alone").verbatim();
  f.add("decode", l.decode, "flags of an engine that decodes alone").verbatim();
  f.add("requests_counter", l.requests_counter, "counter of Prometheus that counts requests")
      .verbatim();
  f.add("sources", l.sources, "where the flags can be read").required();
}

}  // namespace

std::optional<LaunchFacts> launch_facts(const Bundle& bundle, const std::string& engine) {
  const auto file = bundle.find(fmt::format("{}{}{}", kFolder, engine, kEnd));
  if (!file) return std::nullopt;
  LaunchFacts facts;
  Fields fields;
  declare(fields, facts);
  fields.read(parse_yaml(std::string(file->content), file->name));
  return facts;
}

std::vector<std::string> launched_engines(const Bundle& bundle) {
  std::vector<std::string> out;
  for (const std::string& path : bundle.list("launch", kEnd)) {
    const std::string name = path.substr(std::string(kFolder).size());
    if (name.find('/') == std::string::npos)
      out.push_back(name.substr(0, name.size() - std::string(kEnd).size()));
  }
  return out;
}

}  // namespace orrery
