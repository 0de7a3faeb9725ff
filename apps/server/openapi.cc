#include "apps/server/openapi.h"

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "apps/face/verb_keys.h"
#include "apps/server/asked.h"
#include "orrery/edge/device/edge_device.h"
#include "orrery/edge/graph/edge_models.h"
#include "orrery/edge/llm/llm_chip.h"
#include "orrery/hardware/catalog.h"
#include "orrery/kinds/all_kinds.h"
#include "orrery/model/catalog/catalog.h"
#include "orrery/scenario/answer/answer.h"
#include "orrery/scenario/document/scenario_schema.h"
#include "orrery/scenario/kinds/training/training_recipe.h"
#include "orrery/serving/profile/engine_profile.h"

namespace orrery::server {
namespace {

using Json = nlohmann::ordered_json;

const char* type_of(const Field& f) {
  switch (f.type()) {
    case Field::Type::kBool:
      return "boolean";
    case Field::Type::kInt:
      return "integer";
    case Field::Type::kNumber:
      return "number";
    case Field::Type::kText:
      return "text";
    case Field::Type::kQuantity:
      return "quantity";
    case Field::Type::kList:
      return "list";
    case Field::Type::kGroup:
      return "map";
  }
  return "text";
}

Json key_of(const VerbKey& key) {
  const Field& f = *key.field;
  Json j = {{"name", key.names.front()}, {"path", key.path}, {"type", type_of(f)}};
  if (key.names.size() > 1)
    j["aliases"] = std::vector<std::string>(key.names.begin() + 1, key.names.end());
  if (!f.unit().empty()) j["unit"] = f.unit();
  if (std::isfinite(f.least())) j["minimum"] = f.least();
  if (std::isfinite(f.most())) j["maximum"] = f.most();
  if (!f.choices().empty()) j["choices"] = f.choices();
  if (!f.default_text().empty()) j["default"] = f.default_text();
  if (!f.need().empty()) j["needs"] = f.need();
  if (!key.switched.empty()) j["value"] = key.switched;
  j["help"] = f.doc();
  j["heading"] = key.heading;
  return j;
}

// The schema of a key: its value, or several, which make a sweep.
Json schema_of(const VerbKey& key) {
  const Field& f = *key.field;
  Json j = {{"description", key.help}};
  if (f.type() == Field::Type::kBool || !key.switched.empty()) {
    j["type"] = {"boolean", "null"};
  } else if (f.type() == Field::Type::kText) {
    j["type"] = {"string", "array", "null"};
  } else {
    j["type"] = {"number", "string", "array", "null"};
  }
  if (!f.default_text().empty()) j["default"] = f.default_text();
  if (!f.choices().empty()) j["examples"] = f.choices();
  return j;
}

Json body_of(const std::string& verb) {
  if (verb == kDocumentVerb) return {{"$ref", "#/components/schemas/Scenario"}};
  Json properties = Json::object();
  for (const VerbKey& key : face::VerbKeys::of(verb).all())
    properties[key.names.front()] = schema_of(key);
  return {{"type", "object"}, {"properties", std::move(properties)}};
}

Json reply(const char* description, const char* schema) {
  return {{"description", description},
          {"content",
           {{"application/json",
             {{"schema", {{"$ref", std::string("#/components/schemas/") + schema}}}}}}}};
}

Json replies() {
  Json answer = reply("the answer, the same bytes as -o json prints", "Answer");
  answer["content"]["text/event-stream"] = {
      {"schema",
       {{"type", "string"},
        {"description", "where Accept asks for it: events `progress`, then `answer` or `error`"}}}};
  return {{"200", std::move(answer)},
          {"400", reply("the question is malformed; `key` names the key at fault", "Error")},
          {"413", reply("the question or its answer is larger than this server takes", "Error")},
          {"422", reply("it does not fit, or no data is known for it", "Error")},
          {"503", reply("too many questions wait", "Error")},
          {"504", reply("the question took longer than this server gives one", "Error")}};
}

}  // namespace

Json openapi_document() {
  Json paths = Json::object();
  for (const std::string& verb : api_verbs()) {
    const Json schema = {{"schema", body_of(verb)}};
    const std::string what =
        verb == kDocumentVerb ? "answers a scenario" : "as `orrery " + verb + "`";
    paths["/api/v1/" + verb]["post"] = {
        {"operationId", verb},
        {"summary", what},
        {"requestBody",
         {{"required", true},
          {"content", {{"application/json", schema}, {"application/yaml", schema}}}}},
        {"responses", replies()}};
  }
  const Json point = {{{"name", "point"},
                       {"in", "path"},
                       {"required", true},
                       {"description", "the place of the point in the answer, from 0"},
                       {"schema", {{"type", "integer"}, {"minimum", 0}}}}};
  for (const std::string& verb : api_verbs()) {
    Json post = paths["/api/v1/" + verb]["post"];
    post["operationId"] = verb + "_kernels";
    post["summary"] = "the answer with the kernels of one of its points alone";
    post["parameters"] = point;
    paths["/api/v1/" + verb + "/kernels/{point}"]["post"] = std::move(post);
  }
  for (const auto& [kind, of] : all_kinds().verbs()) {
    if (of->page.timeline.empty()) continue;
    const std::string verb(of->name);
    Json post = paths["/api/v1/" + verb]["post"];
    post["operationId"] = verb + "_timeline";
    post["summary"] = "what happens when at one point of the question, in Chrome's trace format";
    post["parameters"] = point;
    post["responses"]["200"] = {
        {"description", "the timeline"},
        {"content", {{"application/json", {{"schema", {{"type", "object"}}}}}}}};
    paths["/api/v1/" + verb + "/timeline/{point}"]["post"] = std::move(post);
  }
  const Json error = {{"type", "object"},
                      {"properties",
                       {{"error",
                         {{"type", "object"},
                          {"required", {"kind", "message"}},
                          {"properties",
                           {{"kind",
                             {{"enum",
                               {"input", "infeasible", "no_data", "limit", "busy", "forbidden",
                                "not_found", "internal"}}}},
                            {"message", {{"type", "string"}}},
                            {"key", {{"type", "string"}}}}}}}}}};
  const Json answer = {{"type", "object"},
                       {"required", {"format", "scenario", "points"}},
                       {"properties",
                        {{"format", {{"const", kAnswerFormat}}},
                         {"scenario", {{"type", "string"}}},
                         {"configuration", {{"type", "object"}}},
                         {"points", {{"type", "array"}, {"items", {{"type", "object"}}}}}}}};
  Json scenario = scenario_schema(all_kinds());
  scenario.erase("$schema");
  return {
      {"openapi", "3.1.0"},
      {"info",
       {{"title", "Orrery"},
        {"version", "1"},
        {"description",
         "Predicts latency, throughput, memory and cost of LLM inference and training. A list "
         "or a range at any key (\"1,2,4\", \"1-64*2\") asks a sweep. No key may name a file."}}},
      {"paths", std::move(paths)},
      {"components",
       {{"schemas", {{"Answer", answer}, {"Error", error}, {"Scenario", std::move(scenario)}}}}}};
}

Json keys_document() {
  Json all = Json::object();
  for (const std::string& verb : api_verbs()) {
    if (verb == kDocumentVerb) continue;
    Json keys = Json::array();
    for (const VerbKey& key : face::VerbKeys::of(verb).all()) keys.push_back(key_of(key));
    all[verb] = std::move(keys);
  }
  return all;
}

namespace {

using NamedTexts = std::vector<std::pair<std::string_view, std::string_view>>;

Json map_of(const NamedTexts& all) {
  Json out = Json::object();
  for (const auto& [name, text] : all) out[std::string(name)] = text;
  return out;
}

// The names of the bundled YAML files of a folder.
std::vector<std::string> stems_of(const Bundle& bundle, const std::string& folder) {
  std::vector<std::string> names;
  for (const std::string& path : bundle.list(folder, ".yaml"))
    names.push_back(std::filesystem::path(path).stem().string());
  return names;
}

Json json_of(const VerbForm& f) {
  Json form = {
      {"title", f.title}, {"when", f.when}, {"usual", f.usual}, {"values", map_of(f.values)}};
  if (!f.marker.first.empty()) form["marker"] = {f.marker.first, f.marker.second};
  return form;
}

}  // namespace

Json verbs_document() {
  Json verbs = Json::array();
  for (const auto& [kind, of] : all_kinds().verbs()) {
    const VerbPage& page = of->page;
    Json forms = Json::array();
    for (const VerbForm& form : page.forms) forms.push_back(json_of(form));
    verbs.push_back({{"name", of->name},
                     {"heading", of->heading},
                     {"help", of->help},
                     {"words", of->words},
                     {"forms", std::move(forms)},
                     {"figures", page.figures},
                     {"across", page.across},
                     {"up", page.up},
                     {"files", page.files},
                     {"compared", page.compared},
                     {"steps", of->output.steps},
                     {"waits", page.waits},
                     {"alternatives", page.alternatives},
                     {"timeline", page.timeline}});
  }
  return verbs;
}

Json facts_document(const Bundle& bundle) {
  Json models = Json::array(), gpus = Json::array(), nodes = Json::array();
  for (const ModelEntry& m : model_index(bundle))
    models.push_back({{"id", m.id}, {"aliases", m.aliases}});
  for (const ModelVariant& m : model_variants(bundle))
    models.push_back({{"id", m.id}, {"aliases", m.aliases}});
  const Catalog catalog(bundle);
  for (const std::string& id : catalog.gpu_ids()) {
    const Gpu gpu = catalog.gpu(id);
    Json j = {{"id", id},
              {"name", gpu.name},
              {"vendor", gpu.vendor},
              {"memory_gb", gpu.memory.capacity.value() / 1e9},
              {"bandwidth_gb_s", gpu.memory.bandwidth.value() / 1e9}};
    Json peaks = Json::object();
    for (std::size_t i = 0; i < kDtypeCount; ++i)
      if (gpu.peaks[i])
        peaks[std::string(to_text(static_cast<Dtype>(i)))] = gpu.peaks[i]->value() / 1e12;
    j["peaks_tflop_s"] = std::move(peaks);
    gpus.push_back(std::move(j));
  }
  for (const std::string& id : catalog.node_type_ids()) nodes.push_back(id);
  Json devices = Json::array(), chips = Json::array();
  const EdgeDevices at_the_edge(bundle);
  for (const EdgeDevice& d : at_the_edge.all()) devices.push_back(d.id);
  const LlmChips of_llms(bundle);
  for (const LlmChip& c : of_llms.all()) chips.push_back(c.id);
  return {{"models", std::move(models)},
          {"gpus", std::move(gpus)},
          {"nodes", std::move(nodes)},
          {"devices", std::move(devices)},
          {"chips", std::move(chips)},
          {"networks", edge_model_names(bundle)},
          {"engines", engine_ids(bundle)},
          {"recipes", training_recipe_ids(bundle)},
          {"archs", stems_of(bundle, "accelerators/hierarchies")},
          {"workloads", stems_of(bundle, "accelerators/workloads")}};
}

Json limits_document(const ServeLimits& limits) {
  return {{"body_bytes", limits.body},         {"answer_bytes", limits.answer},
          {"points", limits.points},           {"requests", limits.requests},
          {"seconds", limits.seconds.count()}, {"parallel", limits.parallel},
          {"waiting", limits.waiting}};
}

}  // namespace orrery::server
