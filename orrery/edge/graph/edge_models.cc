#include "orrery/edge/graph/edge_models.h"

#include <fmt/format.h>

#include <algorithm>

#include "orrery/base/error.h"
#include "orrery/base/node.h"
#include "orrery/edge/graph/ncnn_param.h"

namespace orrery {
namespace {

constexpr std::string_view kFolder = "edge/models", kEnding = ".param", kOfBytes = "_int8";

// The networks that ncnn's benchmark also has with bytes (its files NAME_int8.param). Their layers
// are those of the network of floats.
constexpr std::string_view kWithBytes[] = {"googlenet", "mobilenet",  "mobilenet_ssd",  "resnet18",
                                           "resnet50",  "squeezenet", "squeezenet_ssd", "vgg16"};

}  // namespace

std::vector<std::string> edge_model_names(const Bundle& bundle) {
  std::vector<std::string> names;
  for (std::string path : bundle.list(kFolder, kEnding)) {
    path = path.substr(kFolder.size() + 1);
    names.push_back(path.substr(0, path.size() - kEnding.size()));
  }
  for (const std::string_view name : kWithBytes)
    names.push_back(fmt::format("{}{}", name, kOfBytes));
  std::sort(names.begin(), names.end());
  return names;
}

EdgeGraph edge_model(const Bundle& bundle, std::string_view name) {
  const bool bytes = name.ends_with(kOfBytes);
  const std::string_view of = bytes ? name.substr(0, name.size() - kOfBytes.size()) : name;
  const auto file = bundle.find(fmt::format("{}/{}{}", kFolder, of, kEnding));
  if (!file) {
    const std::vector<std::string> names = edge_model_names(bundle);
    throw InputError(fmt::format("unknown network '{}'{}", name, did_you_mean(name, names)));
  }
  EdgeGraph graph = read_ncnn_param(file->content, file->name);
  graph.name = name, graph.bundled = of;
  graph.bytes |= bytes;
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
