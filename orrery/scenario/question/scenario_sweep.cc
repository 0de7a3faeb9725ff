#include "orrery/scenario/question/scenario_sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "orrery/base/node.h"
#include "orrery/scenario/question/kernel_ops.h"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;
constexpr double kMostCombinations = 10'000;

// "1-64*2" as its numbers, anything else cut at its commas.
void append(const Node& node, std::vector<Node>& out) {
  const std::string& text = node.as_string();
  const bool numbers = !text.empty() && text.find_first_not_of("0123456789,-*+") == text.npos;
  if (numbers) {
    for (const std::int64_t v : read_sweep(node, INT64_MIN / 2, INT64_MAX / 2))
      out.push_back(scalar_node(std::to_string(v), "sweep"));
    return;
  }
  std::size_t from = 0;
  while (!node.quoted() && text.find('(') == text.npos) {
    const std::size_t comma = text.find(',', from);
    if (comma == text.npos) break;
    out.push_back(scalar_node(text.substr(from, comma - from), "sweep"));
    from = comma + 1;
  }
  out.push_back(scalar_node(text.substr(from), "sweep"));
}

struct Swept {
  std::string path;
  std::vector<Node> values;
};

void collect(const Node& sweep, const std::string& prefix, std::vector<Swept>& out) {
  if (!sweep.is_map())
    sweep.fail("expected keys of a scenario, each with the values that it takes");
  for (std::size_t i = 0; i < sweep.keys().size(); ++i) {
    const Node& value = sweep.items()[i];
    const std::string path = prefix + sweep.keys()[i];
    if (path == "sweep" || path == "include" || path == "format") value.fail("cannot be swept");
    if (value.is_map()) {
      collect(value, path + ".", out);
      continue;
    }
    Swept s{path, {}};
    if (value.is_list()) {
      for (const Node& item : value.items()) append(item, s.values);
    } else {
      append(value, s.values);
    }
    if (s.values.empty()) value.fail("expected at least one value");
    out.push_back(std::move(s));
  }
}

Json number_or_text(const std::string& text) {
  double v = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
  if (error != std::errc() || end != text.data() + text.size()) return text;
  std::int64_t whole = 0;
  const auto [last, e] = std::from_chars(text.data(), text.data() + text.size(), whole);
  if (e == std::errc() && last == text.data() + text.size()) return whole;
  return v;
}

double size_of(const Sweep& s) { return static_cast<double>(s.size()); }

}  // namespace

Scenario read_swept_scenario(const Node& document) {
  const Node& sweep = document.at("sweep");
  std::vector<Swept> swept;
  collect(sweep, "", swept);
  if (swept.empty()) sweep.fail("sweeps nothing");
  double combinations = 1;
  for (const Swept& s : swept) combinations *= static_cast<double>(s.values.size());
  if (combinations > kMostCombinations)
    sweep.fail(fmt::format("{} combinations; at most {}", combinations, kMostCombinations));
  const Node rest = without(document, "sweep");
  std::vector<Scenario> variants;
  std::vector<std::size_t> at(swept.size(), 0);
  while (true) {
    Node variant = rest;
    std::vector<std::string> values;
    for (std::size_t i = 0; i < swept.size(); ++i) {
      const Node& value = swept[i].values[at[i]];
      set_path(variant, swept[i].path, value);
      values.push_back(value.text());
    }
    variants.push_back(read_scenario(variant));
    variants.back().at = std::move(values);
    std::size_t i = swept.size();
    while (i > 0 && ++at[i - 1] == swept[i - 1].values.size()) at[--i] = 0;
    if (i == 0) break;
  }
  Scenario s = variants.front();
  s.at.clear();
  s.variants = std::move(variants);
  for (const Swept& k : swept) {
    s.swept.push_back({k.path, {}});
    for (const Node& v : k.values) s.swept.back().values.push_back(v.text());
  }
  return s;
}

Json sweep_json(const Scenario& scenario) {
  Json out;
  for (const Scenario::SweptKey& k : scenario.swept) {
    Json* at = &out;
    std::string_view path = k.path;
    for (std::size_t dot; (dot = path.find('.')) != path.npos; path.remove_prefix(dot + 1))
      at = &(*at)[std::string(path.substr(0, dot))];
    Json values = Json::array();
    for (const std::string& v : k.values) values.push_back(number_or_text(v));
    (*at)[std::string(path)] = std::move(values);
  }
  return out;
}

Json swept_values(const Scenario& scenario, const Scenario& variant) {
  const auto leaf = [](const std::string& path) { return path.substr(path.rfind('.') + 1); };
  Json out = Json::object();
  for (std::size_t i = 0; i < scenario.swept.size(); ++i) {
    const std::string& path = scenario.swept[i].path;
    const auto same = std::count_if(scenario.swept.begin(), scenario.swept.end(),
                                    [&](auto& other) { return leaf(other.path) == leaf(path); });
    out[same > 1 ? path : leaf(path)] = number_or_text(variant.at[i]);
  }
  return out;
}

double point_count(const Scenario& s) {
  if (!s.variants.empty()) {
    double sum = 0;
    for (const Scenario& v : s.variants) sum += point_count(v);
    return sum;
  }
  if (s.kind == Scenario::Kind::kCollective) {
    const CollectiveQuestion& q = s.collective;
    return size_of(q.gpus) * size_of(q.kind.starts_with("moe-") ? q.tokens : q.bytes);
  }
  if (s.kind == Scenario::Kind::kKernel)
    return size_of(s.kernel.m) * (reads(s.kernel, "context") ? size_of(s.kernel.context) : 1);
  if (s.kind == Scenario::Kind::kTraining) {
    const TrainingQuestion& q = s.training;
    double n = 1;
    for (const Sweep* k :
         {&q.gpus, &q.tp, &q.cp, &q.pp, &q.vp, &q.ep, &q.seq, &q.micro_batch, &q.global_batch})
      n *= size_of(*k);
    return n;
  }
  const double layouts = size_of(s.parallel.tp) * size_of(s.parallel.pp);
  if (s.kind == Scenario::Kind::kService)
    return layouts * static_cast<double>(s.service.rate.size());
  const Scenario::Workload& w = s.workload;
  return layouts * size_of(w.isl) * size_of(w.osl) * size_of(w.batch);
}

}  // namespace orrery
