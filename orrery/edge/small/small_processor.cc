#include "orrery/edge/small/small_processor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "orrery/base/error.h"
#include "orrery/base/fields.h"

namespace orrery {
namespace {

constexpr const char* kSmallPath = "edge/small.yaml";

SmallCore read_small_core(const Node& node) {
  SmallCore c;
  Fields f;
  f.add("name", c.name, "of the core").required();
  f.add("kind", c.kind, "what it is").one_of({"microcontroller", "npu"}).required();
  f.add("macs_per_cycle", c.macs_per_cycle, "most multiply-adds of bytes in a cycle");
  f.read(node);
  return c;
}

struct SmallNames {
  std::map<std::string, SmallCore> cores;
  std::map<std::string, std::string> sources;
};

SmallProcessor read_small_processor(const Node& node, const SmallNames& names) {
  SmallProcessor p;
  std::string core, source;
  Fields f;
  f.add("id", p.id, "how it is asked for").required();
  f.add("names", p.names, "words by which tables call its board").required();
  f.add("core", core, "name of the core").required();
  f.add("clock", p.clock, "at which it was measured").required();
  f.add("flash", p.flash, "for weights");
  f.add("ram", p.ram, "for tensors");
  f.add("source", source, "key of the list of sources").required();
  f.read(node);
  if (!names.cores.contains(core)) node.fail(fmt::format("no core is called '{}'", core));
  if (!names.sources.contains(source)) node.fail(fmt::format("no source is called '{}'", source));
  p.core = names.cores.at(core), p.source = names.sources.at(source);
  return p;
}

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = char(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

}  // namespace

SmallProcessors::SmallProcessors(const Bundle& bundle) {
  const auto file = bundle.find(kSmallPath);
  if (!file) throw InputError(fmt::format("catalog/{}: no such file", kSmallPath));
  const Node node = parse_yaml(file->content, file->name);
  SmallNames names;
  const auto none = [] { return nlohmann::ordered_json(); };
  const auto list = [&](const Node& of, auto take) {
    for (const Node& item : of.items()) take(item);
  };
  Fields f;
  f.custom(
      "cores", Field::Type::kList,
      [&](const Node& of) {
        list(of, [&](const Node& item) {
          const SmallCore core = read_small_core(item);
          names.cores[core.name] = core;
        });
      },
      none, "the cores");
  f.custom(
      "sources", Field::Type::kGroup,
      [&](const Node& map) {
        for (const std::string& key : map.keys()) names.sources[key] = map.at(key).as_string();
      },
      none, "where figures come from");
  f.custom(
      "processors", Field::Type::kList,
      [&](const Node& of) {
        list(of,
             [&](const Node& item) { processors_.push_back(read_small_processor(item, names)); });
      },
      none, "the processors");
  f.custom(
      "unmeasured", Field::Type::kList,
      [&](const Node& of) {
        list(of, [&](const Node& item) {
          unmeasured_.push_back({item.at("id").as_string(), item.at("about").as_string()});
        });
      },
      none, "NPUs of which nothing can be said");
  f.read(node);
  std::set<std::string> ids;
  for (const SmallProcessor& p : processors_) {
    if (!ids.insert(p.id).second) node.fail(fmt::format("two processors are called '{}'", p.id));
  }
}

const SmallProcessor* SmallProcessors::find(std::string_view id) const {
  for (const Unmeasured& u : unmeasured_) {
    if (u.id == id)
      throw NoData(fmt::format("{}: nothing can be said of networks on it: {}", u.id, u.about));
  }
  const auto found =
      std::ranges::find_if(processors_, [&](const SmallProcessor& p) { return p.id == id; });
  return found == processors_.end() ? nullptr : &*found;
}

const SmallProcessor* SmallProcessors::in_text(std::string_view text) const {
  const std::string lower = lower_case(text);
  for (const SmallProcessor& p : processors_) {
    for (const std::string& name : p.names)
      if (lower.find(lower_case(name)) != std::string::npos) return &p;
  }
  return nullptr;
}

}  // namespace orrery
