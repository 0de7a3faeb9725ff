#include "orrery/planner/emit/platforms.h"

#include <fmt/args.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "orrery/base/fields.h"
#include "orrery/base/index.h"
#include "orrery/planner/emit/launch.h"

namespace orrery {
namespace {

struct Worker {
  std::string image, command;
};

struct Role {
  std::string name, flags, more;
};

struct Platform {
  std::string file, head, pool, each, absent;
  std::map<std::string, Worker> workers;  // by the engine
  std::map<std::string, Role> roles;      // "both", "prefill", "decode"
  std::vector<std::string> sources;
};

template <class T, class Declare>
std::map<std::string, T> map_of(const Node& n, Declare declare) {
  std::map<std::string, T> out;
  for (std::size_t i = 0; i < n.keys().size(); ++i) {
    Fields f;
    declare(f, out[n.keys()[i]]);
    f.read(n.items()[i]);
  }
  return out;
}

void declare(Fields& f, Platform& p) {
  const auto nothing = [] { return nlohmann::ordered_json::object(); };
  f.add("file", p.file, "its name").verbatim().required();
  f.custom(
      "workers", Field::Type::kGroup,
      [&p](const Node& n) {
        p.workers = map_of<Worker>(n, [](Fields& g, Worker& w) {
          g.add("image", w.image, "container").verbatim().required();
          g.add("command", w.command, "what starts a worker").verbatim().required();
        });
      },
      nothing, "engines that it starts");
  f.custom(
      "roles", Field::Type::kGroup,
      [&p](const Node& n) {
        p.roles = map_of<Role>(n, [](Fields& g, Role& r) {
          g.add("name", r.name, "name of the pool").verbatim().required();
          g.add("flags", r.flags, "flags of its workers").verbatim();
          g.add("more", r.more, "further text of its pool").verbatim();
        });
      },
      nothing, "pools: both, prefill, decode");
  f.add("head", p.head, "text before the pools").verbatim().required();
  f.add("pool", p.pool, "text of a pool").verbatim().required();
  f.add("each", p.each, "text of each engine of a pool, after it").verbatim();
  f.add("absent", p.absent, "text of a pool that the plan does not have").verbatim();
  f.add("sources", p.sources, "where the form can be read").required();
}

const char* key_of(EngineRole role) {
  constexpr const char* kKeys[] = {"both", "prefill", "decode"};
  return kKeys[index(role)];
}

using Values = std::map<std::string, std::string>;

std::string filled(const std::string& text, const Values& values) {
  fmt::dynamic_format_arg_store<fmt::format_context> store;
  for (const auto& [name, value] : values) store.push_back(fmt::arg(name.c_str(), value));
  return fmt::vformat(text, store);
}

class PlatformText {
 public:
  PlatformText(const Platform& platform, const Bundle& bundle, const std::string& model,
               std::int64_t max_model_len)
      : p_(platform), bundle_(bundle), model_(model), max_model_len_(max_model_len) {}

  // Empty: the platform cannot start the plan.
  std::string of(const FleetPlan& plan) {
    const auto worker = p_.workers.find(plan.engine.engine);
    if (worker == p_.workers.end()) return "";
    text_ = filled(p_.head, {{"model", model_}, {"image", worker->second.image}});
    bool told = true;
    if (plan.decode) {
      told = add(plan.engine, plan.engines, EngineRole::kPrefill, worker->second) &&
             add(*plan.decode, plan.decode_engines, EngineRole::kDecode, worker->second);
    } else {
      told = add(plan.engine, plan.engines, EngineRole::kBoth, worker->second);
      const auto prefill = p_.roles.find("prefill");
      if (!p_.absent.empty() && prefill != p_.roles.end())
        text_ += filled(p_.absent, {{"name", prefill->second.name}});
    }
    return told ? text_ : "";
  }

 private:
  bool add(const EngineOption& option, std::int64_t engines, EngineRole role,
           const Worker& worker) {
    const auto found = p_.roles.find(key_of(role));
    if (found == p_.roles.end()) return false;
    const Role& r = found->second;
    const LaunchCommand launch =
        launch_command(bundle_, option, EngineRole::kBoth, model_, max_model_len_);
    if (launch.command.empty()) return false;
    // A container of the platform has no file of options.
    if (!launch.options.empty() && p_.pool.find("{command}") != p_.pool.npos) return false;
    const std::string command = filled(worker.command, {{"model", model_}}) + launch.flags +
                                filled(r.flags, {{"model", model_}});
    Values values = {{"name", r.name},
                     {"more", r.more},
                     {"engines", std::to_string(engines)},
                     {"gpus", std::to_string(option.gpus())},
                     {"image", worker.image},
                     {"command", nlohmann::json(command).dump()}};
    text_ += filled(p_.pool, values);
    for (std::int64_t i = 0; i < engines && !p_.each.empty(); ++i) {
      values["number"] = std::to_string(i);
      text_ += filled(p_.each, values);
    }
    return true;
  }

  const Platform& p_;
  const Bundle& bundle_;
  const std::string& model_;
  std::int64_t max_model_len_;
  std::string text_;
};

std::vector<Platform> platforms(const Bundle& bundle) {
  std::vector<Platform> out;
  for (const std::string& path : bundle.list("launch/platforms", ".yaml")) {
    const auto file = bundle.find(path);
    Fields fields;
    declare(fields, out.emplace_back());
    fields.read(parse_yaml(std::string(file->content), file->name));
  }
  return out;
}

}  // namespace

std::vector<std::string> worker_commands(const Bundle& bundle, const std::string& engine) {
  std::vector<std::string> out;
  for (const Platform& p : platforms(bundle))
    if (const auto w = p.workers.find(engine); w != p.workers.end())
      out.push_back(w->second.command);
  return out;
}

std::vector<std::pair<std::string, std::string>> platform_files(const Bundle& bundle,
                                                                const FleetPlan& plan,
                                                                const std::string& model,
                                                                std::int64_t max_model_len,
                                                                std::int64_t node) {
  std::vector<std::pair<std::string, std::string>> out;
  if (std::max(plan.engine.gpus(), plan.decode ? plan.decode->gpus() : 0) > node) return out;
  for (const Platform& platform : platforms(bundle)) {
    std::string text = PlatformText(platform, bundle, model, max_model_len).of(plan);
    if (!text.empty()) out.emplace_back(platform.file, std::move(text));
  }
  return out;
}

}  // namespace orrery
