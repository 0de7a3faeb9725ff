#include "orrery/scenario/kinds/edge/edge_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "orrery/base/data_folder.h"
#include "orrery/base/error.h"
#include "orrery/edge/graph/llm_graph.h"
#include "orrery/model/catalog/catalog.h"

namespace orrery {
namespace {

constexpr std::size_t kMostNetworks = 64, kMostNames = 4096;

// The reference that `find` returns, or its value. Its InputError names the key.
template <class Find>
decltype(auto) of_key(const char* key, Find find) {
  try {
    return find();
  } catch (const InputError& e) {
    throw InputError(fmt::format("edge.{}: {}", key, e.what()));
  }
}

}  // namespace

const EdgeDevices& EdgeTables::devices() {
  if (!devices_) devices_.emplace(bundle_);
  return *devices_;
}

const LlmChips& EdgeTables::chips() {
  if (!chips_) chips_.emplace(bundle_);
  return *chips_;
}

const SmallProcessors& EdgeTables::small_processors() {
  if (!small_processors_) small_processors_.emplace(bundle_);
  return *small_processors_;
}

const EdgeThrottlings& EdgeTables::throttlings() {
  if (!throttlings_) throttlings_.emplace(bundle_);
  return *throttlings_;
}

const SmallLaw& EdgeTables::small_law() {
  if (!small_law_) small_law_ = read_small_law(bundle_);
  return *small_law_;
}

const EdgeDevice& EdgeTables::device(const std::string& id) {
  const std::vector<EdgeDevice>& all = devices().all();
  const auto found = std::ranges::find(all, id, &EdgeDevice::id);
  if (found != all.end()) return *found;
  std::vector<std::string> ids;
  for (const EdgeDevice& d : all) ids.push_back(d.id);
  for (const SmallProcessor& p : small_processors().all()) ids.push_back(p.id);
  throw InputError(fmt::format("edge.device: unknown device '{}'{}", id, did_you_mean(id, ids)));
}

const LlmChip& EdgeTables::chip(const std::string& id) {
  return of_key("device", [&]() -> const LlmChip& { return chips().chip(id); });
}

const LlmLaws& EdgeTables::llm_laws() {
  if (!llm_laws_) llm_laws_ = read_llm_laws(bundle_);
  return *llm_laws_;
}

const EdgeLaw& EdgeTables::law(const std::string& name) {
  auto it = laws_.find(name);
  if (it == laws_.end()) it = laws_.emplace(name, read_edge_law(bundle_, name)).first;
  return it->second;
}

const EnginePredictor& EdgeTables::engine(const Gpu& gpu, const std::string& engine) {
  auto& predictor = engines_[{gpu.id, engine}];
  if (predictor) return *predictor;
  if (!engine_law_) engine_law_ = read_engine_law(bundle_);
  predictor = std::make_unique<EnginePredictor>(*engine_law_, gpu, engine, bundle_);
  return *predictor;
}

const std::vector<std::string>& EdgeTables::bundled() {
  if (!bundled_) bundled_ = edge_model_names(bundle_);
  return *bundled_;
}

bool EdgeTables::names_file(const std::string& name) {
  const std::string ending = std::filesystem::path(name).extension().string();
  return ending == ".onnx" || ending == ".param";
}

bool EdgeTables::is_llm(const std::string& name) {
  if (names_file(name)) return false;
  if (std::ranges::find(bundled(), name) != bundled().end()) return false;
  if (const auto it = llms_.find(name); it != llms_.end()) return it->second;
  bool llm = true;
  try {
    load_model(name, bundle_);
  } catch (const InputError&) {
    llm = false;
  }
  if (llms_.size() >= kMostNames) llms_.clear();
  return llms_[name] = llm;
}

std::string EdgeTables::llm_of(const EdgeQuestion& q) {
  if (is_llm(q.network)) return q.network;
  if (!names_file(q.network) || q.asks_pass()) return "";
  if (q.device != "all" && chips().find(q.device) == nullptr) return "";
  const std::vector<std::string>& models =
      language_models_of(q.network, network(q.network, q.batch));
  return models.empty() ? "" : models.front();
}

const EdgeGraph& EdgeTables::network(const std::string& name, std::int64_t batch) {
  const bool known = std::ranges::find(bundled(), name) != bundled().end();
  const std::filesystem::path path(name);
  std::error_code error;
  const bool file = names_file(name) || (!known && !files_are_sealed() &&
                                         std::filesystem::is_regular_file(path, error));
  if (file || (!known && name.find('/') != name.npos)) require_open_files(path);
  const std::pair<std::string, std::int64_t> key{name, file ? batch : 1};
  auto it = networks_.find(key);
  if (it != networks_.end()) return it->second;
  OnnxOptions options;
  options.batch = batch;
  EdgeGraph graph = file ? read_edge_graph(path, options)
                         : of_key("network", [&] { return edge_model(bundle_, name); });
  if (networks_.size() >= kMostNetworks) networks_.clear();
  return networks_.emplace(key, std::move(graph)).first->second;
}

const std::vector<std::string>& EdgeTables::language_models_of(const std::string& name,
                                                               const EdgeGraph& graph) {
  if (const auto it = language_models_.find(name); it != language_models_.end()) return it->second;
  if (language_models_.size() >= kMostNames) language_models_.clear();
  const bool known = std::ranges::find(bundled(), name) != bundled().end();
  return language_models_[name] =
             known ? std::vector<std::string>() : language_models(graph, bundle_);
}

}  // namespace orrery
