#include "apps/face/edge_question.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "orrery/base/csv.h"
#include "orrery/base/error.h"
#include "orrery/edge/engine/engine_answer.h"
#include "orrery/edge/fusion/fuse.h"
#include "orrery/edge/graph/llm_graph.h"
#include "orrery/hardware/catalog.h"

namespace orrery::face {
namespace {

using Json = nlohmann::ordered_json;

EdgePrecision precision_of(const std::string& name) {
  const std::vector<std::string> known = {"float", "half", "int8"};
  if (std::ranges::find(known, name) == known.end())
    throw InputError(fmt::format("precision: expected float, half or int8, got '{}'{}", name,
                                 did_you_mean(name, known)));
  if (name == "half")
    throw InputError(
        "precision: half is known of engines on GPUs of the catalog (`orrery list gpus`)");
  return name == "int8" ? EdgePrecision::kInt8 : EdgePrecision::kFloat;
}

EnginePrecision unknown_precision(const std::string& name) {
  precision_of(name);  // throws
  return EnginePrecision::kFloat;
}

// A note that the graph is a language model which the catalog has; empty for other networks.
std::string language_model_note(const EdgeGraph& graph, const Bundle& bundle) {
  const std::vector<std::string> models = language_models(graph, bundle);
  if (models.empty()) return {};
  return fmt::format(
      "its matrices are those of {}: this is the time of one pass over the graph; `orrery edge {}` "
      "answers prompts and answers with llama.cpp",
      fmt::join(models, ", "), models.front());
}

// A network of bytes computes with bytes, whatever is asked.
EdgePrecision precision_of(const EdgeGraph& graph, const std::string& asked) {
  return graph.bytes ? EdgePrecision::kInt8 : precision_of(asked);
}

// A file where there is one of that name, otherwise a bundled network.
EdgeGraph network_of(const std::string& name, const EdgeQuestion& o, const Bundle& bundle) {
  const std::filesystem::path path(name);
  const std::vector<std::string> bundled = edge_model_names(bundle);
  const bool file = std::filesystem::exists(path) ||
                    (path.has_extension() && std::ranges::find(bundled, name) == bundled.end());
  return file ? read_edge_graph(path, o.onnx) : edge_model(bundle, name);
}

// A table with the columns network, latency_ms and, where it has one, precision.
std::vector<TimedNetwork> read_timed(const EdgeQuestion& o, const Bundle& bundle) {
  std::vector<TimedNetwork> timed;
  if (o.measured.empty()) return timed;
  CsvReader csv{std::filesystem::path(o.measured)};
  const int network = csv.column("network"), latency = csv.column("latency_ms");
  const auto precision = csv.find("precision");
  while (csv.next()) {
    const Seconds time = milliseconds(csv.number(latency));
    if (time <= Seconds(0)) csv.fail(latency, "expected a positive time");
    const std::string format = precision ? std::string(csv.text(*precision)) : "float";
    if (format != "float" && format != "int8") csv.fail(*precision, "expected float or int8");
    EdgeGraph graph = network_of(std::string(csv.text(network)), o, bundle);
    const EdgePrecision of = precision_of(graph, format);
    timed.push_back({std::move(graph), of, time});
  }
  return timed;
}

// The GPU of catalog/gpus that a device is: one that is no edge device, or that an engine is asked
// for which runs on such GPUs alone.
std::optional<Gpu> catalog_gpu(const std::string& id, const EdgeQuestion& o,
                               const EdgeDevices& devices, const Bundle& bundle) {
  const auto of_id = [&](const EdgeDevice& d) { return d.id == id; };
  const bool edge = std::ranges::any_of(devices.all(), of_id);
  const bool only_gpus =
      o.runtime == "tensorrt" || o.runtime == "pytorch" || o.runtime == "openvino";
  if (edge && !only_gpus) return std::nullopt;
  try {
    return Catalog(bundle).gpu(id);
  } catch (const InputError&) {
    return std::nullopt;  // the message of the edge devices names the nearest
  }
}

// Lines of the networks on a GPU of the catalog.
void answer_engine(const Gpu& gpu, const std::string& id, const std::vector<EdgeGraph>& graphs,
                   const EdgeQuestion& o, const Bundle& bundle, std::vector<EdgeLine>& lines) {
  if (!o.measured.empty())
    throw InputError(
        fmt::format("{}: an engine on a GPU is not calibrated by measured networks", id));
  const std::string engine = !o.runtime.empty()       ? o.runtime
                             : gpu.vendor == "intel"  ? "openvino"
                             : gpu.vendor == "nvidia" ? "tensorrt"
                                                      : "onnxruntime";
  const EnginePredictor predictor(read_engine_law(bundle), gpu, engine, bundle);
  for (std::size_t i = 0; i < graphs.size(); ++i) {
    const bool bytes = graphs[i].bytes || o.precision == "int8";
    const EnginePrecision precision = bytes                    ? EnginePrecision::kInt8
                                      : o.precision == "half"  ? EnginePrecision::kHalf
                                      : o.precision == "float" ? EnginePrecision::kFloat
                                                               : unknown_precision(o.precision);
    lines.push_back({std::filesystem::path(o.networks[i]).filename().string(), id,
                     predictor.answer(graphs[i], precision, int(o.onnx.batch))});
  }
}

Json json_of(const EdgeLine& line, bool explain) {
  const EdgeAnswer& a = line.answer;
  const auto ms = [&](double p) { return a.latency.quantile(p).value() * 1e3; };
  Json j = {{"network", line.network},
            {"device", line.device},
            {"latency_ms", a.latency.value.value() * 1e3},
            {"low90", ms(0.05)},
            {"high90", ms(0.95)},
            {"tier", to_text(a.latency.origin)},
            {"macs", a.macs},
            {"weights", a.weights},
            {"kernels", a.kernels.size()},
            {"notes", a.notes}};
  if (!explain) return j;
  j["breakdown"] = Json::array();
  for (const EdgeAnswer::Kernel& k : a.kernels)
    j["breakdown"].push_back({{"nodes", k.kernel.nodes},
                              {"family", edge_family_name(k.kernel.family)},
                              {"window", window_text(k.kernel)},
                              {"out", shape_text(k.kernel.out)},
                              {"macs", k.kernel.macs},
                              {"ms", k.time.value() * 1e3}});
  return j;
}

}  // namespace

std::string window_text(const EdgeKernel& k) {
  if (k.kernel == EdgeWindow{}) return "";
  return fmt::format("{}x{}{}", k.kernel.h, k.kernel.w,
                     k.stride.h > 1 ? fmt::format("/{}", k.stride.h) : "");
}

std::string shape_text(const EdgeShape& s) { return fmt::format("{}x{}x{}", s.c, s.h, s.w); }

std::string json_text(const std::vector<EdgeLine>& lines, bool explain) {
  Json all = Json::array();
  for (const EdgeLine& l : lines) all.push_back(json_of(l, explain));
  return Json{{"answers", all}}.dump(1) + "\n";
}

std::vector<EdgeLine> answer(EdgeQuestion o, const Bundle& bundle) {
  o.processor.from = o.slow ? EdgePlacement::kSlow : EdgePlacement::kFast;
  const EdgeDevices devices(bundle);
  if (o.devices == std::vector<std::string>{"all"}) {
    o.devices.clear();
    for (const EdgeDevice& d : devices.all()) {
      if (o.processor.gpu ? !d.gpus.empty() : !d.clusters.empty()) o.devices.push_back(d.id);
    }
  }
  const std::vector<TimedNetwork> timed = read_timed(o, bundle);
  std::vector<EdgeGraph> graphs;
  for (const std::string& n : o.networks) graphs.push_back(network_of(n, o, bundle));
  const EdgeLaw law = read_edge_law(bundle, EdgePredictor::law_name(o.processor));
  std::vector<EdgeLine> lines;
  std::vector<std::string> named;
  for (const EdgeGraph& g : graphs) named.push_back(language_model_note(g, bundle));
  for (const std::string& id : o.devices) {
    if (const std::optional<Gpu> gpu = catalog_gpu(id, o, devices, bundle)) {
      answer_engine(*gpu, id, graphs, o, bundle, lines);
      continue;
    }
    EdgePredictor predictor(law, devices.device(id), devices, o.processor,
                            o.runtime.empty() ? "ncnn" : o.runtime);
    predictor.calibrate(timed);
    for (std::size_t i = 0; i < graphs.size(); ++i)
      lines.push_back({std::filesystem::path(o.networks[i]).filename().string(), id,
                       predictor.answer(graphs[i], precision_of(graphs[i], o.precision))});
  }
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string& note = named[i % named.size()];
    if (!note.empty()) lines[i].answer.notes.push_back(note);
  }
  return lines;
}

}  // namespace orrery::face
