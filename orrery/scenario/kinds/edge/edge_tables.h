// The tables that questions about the edge read, each once: devices, laws, networks, chips.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/edge/device/edge_device.h"
#include "orrery/edge/device/throttling.h"
#include "orrery/edge/engine/engine_answer.h"
#include "orrery/edge/graph/edge_models.h"
#include "orrery/edge/llm/llm_answer.h"
#include "orrery/edge/predict/edge_answer.h"
#include "orrery/edge/small/small_answer.h"
#include "orrery/hardware/catalog.h"
#include "orrery/scenario/kinds/edge/edge_question.h"

namespace orrery {

// References that are returned live as long as the tables, those of network() until it has read 64
// more. Not thread-safe.
class EdgeTables {
 public:
  explicit EdgeTables(const Bundle& bundle) : bundle_(bundle), catalog_(bundle) {}
  EdgeTables(const EdgeTables&) = delete;
  EdgeTables& operator=(const EdgeTables&) = delete;

  const Bundle& bundle() const { return bundle_; }
  const Catalog& catalog() const { return catalog_; }
  const EdgeDevices& devices();
  const LlmChips& chips();
  const SmallProcessors& small_processors();
  const EdgeThrottlings& throttlings();
  // A device of networks, a chip of LLMs. InputError with the nearest id where there is none.
  const EdgeDevice& device(const std::string& id);
  const LlmChip& chip(const std::string& id);
  const LlmLaws& llm_laws();
  const SmallLaw& small_law();
  // The law of latency with this name (EdgePredictor::law_name).
  const EdgeLaw& law(const std::string& name);
  // An engine on a GPU of the catalog. InputError: no such engine.
  const EnginePredictor& engine(const Gpu& gpu, const std::string& engine);

  // The model of the catalog (`orrery list models`) as which llama.cpp is asked for the network of
  // the question: the model of that name, or the first of those whose matrices the file has, where
  // no key of networks is given and the device is one of llama.cpp's. Empty: it is a network.
  std::string llm_of(const EdgeQuestion& question);
  // A bundled network, or the file of that name where there is one. `batch`: of an ONNX file whose
  // inputs leave theirs open. InputError: no such network, with the nearest; a file where files are
  // sealed (base/data_folder.h).
  const EdgeGraph& network(const std::string& name, std::int64_t batch);
  // The language models that the network of a file may be (edge/graph/llm_graph.h). `graph`: what
  // network() reads for `name`.
  const std::vector<std::string>& language_models_of(const std::string& name,
                                                     const EdgeGraph& graph);
  // A file of a network, by the end of its name.
  bool names_file(const std::string& name);

 private:
  Bundle bundle_;
  Catalog catalog_;
  std::optional<EdgeDevices> devices_;
  std::optional<LlmChips> chips_;
  std::optional<LlmLaws> llm_laws_;
  std::optional<SmallProcessors> small_processors_;
  std::optional<SmallLaw> small_law_;
  std::optional<EdgeThrottlings> throttlings_;
  std::optional<EngineLaw> engine_law_;
  std::optional<std::vector<std::string>> bundled_;
  std::map<std::string, EdgeLaw> laws_;
  std::map<std::string, bool> llms_;
  std::map<std::string, std::vector<std::string>> language_models_;
  std::map<std::pair<std::string, std::int64_t>, EdgeGraph> networks_;
  std::map<std::pair<std::string, std::string>, std::unique_ptr<EnginePredictor>> engines_;

  const std::vector<std::string>& bundled();
  // Whether `name` is a model of the catalog, and no network or file of one.
  bool is_llm(const std::string& name);
};

}  // namespace orrery
