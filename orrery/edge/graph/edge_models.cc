#include "orrery/edge/graph/edge_models.h"

#include <fmt/format.h>

#include "orrery/base/error.h"
#include "orrery/base/node.h"
#include "orrery/edge/graph/ncnn_param.h"

namespace orrery {
namespace {

constexpr std::string_view kFolder = "edge/models", kEnding = ".param";

}  // namespace

std::vector<std::string> edge_model_names(const Bundle& bundle) {
  std::vector<std::string> names;
  for (std::string path : bundle.list(kFolder, kEnding)) {
    path = path.substr(kFolder.size() + 1);
    names.push_back(path.substr(0, path.size() - kEnding.size()));
  }
  return names;
}

EdgeGraph edge_model(const Bundle& bundle, std::string_view name) {
  const std::vector<std::string> names = edge_model_names(bundle);
  const auto file = bundle.find(fmt::format("{}/{}{}", kFolder, name, kEnding));
  if (!file) {
    throw InputError(fmt::format("unknown network '{}'{}", name, did_you_mean(name, names)));
  }
  EdgeGraph graph = read_ncnn_param(file->content, file->name);
  graph.name = graph.bundled = name;
  return graph;
}

EdgeGraph read_edge_graph(const std::filesystem::path& path, const OnnxOptions& options) {
  if (path.extension() == ".onnx") return read_onnx_file(path, options);
  if (path.extension() == kEnding) {
    const std::string text = read_text_file(path);
    EdgeGraph graph = read_ncnn_param(text, path.string());
    graph.name = path.stem().string();
    return graph;
  }
  throw InputError(
      fmt::format("{}: expected a network in ONNX (.onnx) or of ncnn (.param)", path.string()));
}

}  // namespace orrery
