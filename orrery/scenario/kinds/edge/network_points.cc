#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "orrery/base/csv.h"
#include "orrery/base/error.h"
#include "orrery/edge/fusion/fuse.h"
#include "orrery/scenario/kinds/edge/edge_figures.h"
#include "orrery/scenario/kinds/edge/edge_points.h"

namespace orrery {
namespace {

EdgePrecision precision_of_cores(const std::string& name) {
  if (name == "half")
    throw InputError(
        "edge.precision: half is known of engines on GPUs of the catalog (`orrery list gpus`)");
  return name == "int8" ? EdgePrecision::kInt8 : EdgePrecision::kFloat;
}

// A network of bytes computes with bytes, whatever is asked.
EdgePrecision precision_of_cores(const EdgeGraph& graph, const std::string& asked) {
  return graph.bytes ? EdgePrecision::kInt8 : precision_of_cores(asked);
}

EnginePrecision precision_of_engine(const EdgeGraph& graph, const std::string& asked) {
  if (graph.bytes || asked == "int8") return EnginePrecision::kInt8;
  return asked == "half" ? EnginePrecision::kHalf : EnginePrecision::kFloat;
}

const char* shown(EdgePrecision p) { return p == EdgePrecision::kInt8 ? "int8" : "float"; }
const char* shown(EnginePrecision p) {
  return p == EnginePrecision::kInt8 ? "int8" : p == EnginePrecision::kHalf ? "half" : "float";
}

// A table with the columns network, latency_ms and, where it has one, precision.
std::vector<TimedNetwork> read_timed_networks(EdgeTables& tables, const EdgeQuestion& q) {
  std::vector<TimedNetwork> timed;
  if (q.measured.empty()) return timed;
  CsvReader csv{std::filesystem::path(q.measured)};
  const int network = csv.column("network"), latency = csv.column("latency_ms");
  const auto precision = csv.find("precision");
  while (csv.next()) {
    const Seconds time = milliseconds(csv.number(latency));
    if (time <= Seconds(0)) csv.fail(latency, "expected a positive time");
    const std::string format = precision ? std::string(csv.text(*precision)) : "float";
    if (format != "float" && format != "int8") csv.fail(*precision, "expected float or int8");
    const EdgeGraph& graph = tables.network(std::string(csv.text(network)), q.batch);
    timed.push_back({graph, precision_of_cores(graph, format), time});
  }
  return timed;
}

// The GPU of catalog/gpus that a device is: one that is no edge device, or that an engine is asked
// for which runs on such GPUs alone.
std::optional<Gpu> gpu_of_catalog(EdgeTables& tables, const EdgeQuestion& q) {
  const auto of_id = [&](const EdgeDevice& d) { return d.id == q.device; };
  const bool edge = std::ranges::any_of(tables.devices().all(), of_id);
  const bool only_gpus =
      q.runtime == "tensorrt" || q.runtime == "pytorch" || q.runtime == "openvino";
  if (edge && !only_gpus) return std::nullopt;
  if (q.device.ends_with(".yaml") || q.device.find('/') != q.device.npos)
    return tables.catalog().gpu(q.device);  // a file of a GPU's facts
  try {
    return tables.catalog().gpu(q.device);
  } catch (const InputError&) {
    return std::nullopt;  // the message of the edge devices names the nearest
  }
}

std::string window_text(const EdgeKernel& k) {
  if (k.kernel == EdgeWindow{}) return "";
  return fmt::format(" {}x{}{}", k.kernel.h, k.kernel.w,
                     k.stride.h > 1 ? fmt::format("/{}", k.stride.h) : "");
}

// "convolution 3x3/2, 3x224x224 to 32x112x112".
std::string sizes_of(const EdgeKernel& k) {
  const auto text = [](const EdgeShape& s) { return fmt::format("{}x{}x{}", s.c, s.h, s.w); };
  return fmt::format("{}{}, {} to {}", edge_family_name(k.family), window_text(k), text(k.in),
                     text(k.out));
}

// How the inputs of a batch are counted in an EdgeAnswer.
struct EdgeBatch {
  std::int64_t inputs = 1;     // at once
  std::int64_t uncounted = 1;  // of these, what the answer's multiply-adds lack as a factor
};

// The rows have the relative error of the latency, which is their sum.
void add_kernels(const EdgeAnswer& a, const EdgeBatch& batch, Point& p) {
  for (const EdgeAnswer::Kernel& k : a.kernels) {
    KernelRow row;
    row.phase = "inference";
    row.name = k.kernel.nodes.empty() ? "kernel" : k.kernel.nodes.front();
    if (k.kernel.nodes.size() > 1) row.name += fmt::format(" +{}", k.kernel.nodes.size() - 1);
    row.part = edge_family_name(k.kernel.family);
    row.sizes = sizes_of(k.kernel);
    row.time = {k.time, a.latency.sigma(), 0, a.latency.origin};
    row.share = k.time / a.latency.value;
    row.flops = Flops(2 * double(k.kernel.macs * batch.uncounted));
    p.kernels.push_back(std::move(row));
  }
  label_repeated(p.kernels, 0, [&](std::size_t i) { return p.kernels[i].sizes; });
}

Point point_of_network(const EdgeAnswer& a, const EdgeBatch& batch, bool breakdown) {
  Point p;
  p.metrics = {metric(edge_figure("latency"), a.latency),
               rate_metric(edge_figure("throughput"), double(batch.inputs), a.latency),
               exact_metric(edge_figure("macs"), double(a.macs * batch.uncounted) / 1e9),
               exact_metric(edge_figure("parameters"), double(a.weights) / 1e6),
               exact_metric(edge_figure("kernels"), double(a.kernels.size()))};
  p.notes = a.notes;
  if (breakdown) add_kernels(a, batch, p);
  return p;
}

// Says how unlike cores share the work.
void note_split(const std::vector<EdgeShare>& shares, Point& p) {
  if (shares.size() < 2) return;
  std::string text;
  for (const EdgeShare& s : shares)
    text += fmt::format("{}{} x {} {:.0f} %", text.empty() ? "" : ", ", s.cores, s.core,
                        100 * s.of_work);
  p.notes.push_back(
      fmt::format("the rows of each kernel are split by the rates of the cores: {}", text));
}

// Says of the graph of a language model which models of the catalog it may be.
void note_language_models(const std::vector<std::string>& models, Point& p) {
  if (models.empty()) return;
  p.notes.push_back(fmt::format(
      "its matrices are those of {}: this is the time of one pass over the graph; `orrery edge {}` "
      "on a device of llama.cpp times its prompts and tokens",
      fmt::join(models, ", "), models.front()));
}

nlohmann::ordered_json place_of(const EdgeQuestion& q, const std::string& device,
                                const char* precision, const std::string& runtime) {
  return {{"network", std::filesystem::path(q.network).filename().string()},
          {"device", device},
          {"precision", precision},
          {"runtime", runtime}};
}

Point answer_on_engine(EdgeTables& tables, const Gpu& gpu, const EdgeQuestion& q, bool breakdown) {
  if (!q.measured.empty())
    throw InputError(fmt::format(
        "edge.measured: {}: an engine on a GPU is not calibrated by measured networks", q.device));
  const std::string engine = !q.runtime.empty()       ? q.runtime
                             : gpu.vendor == "intel"  ? "openvino"
                             : gpu.vendor == "nvidia" ? "tensorrt"
                                                      : "onnxruntime";
  const EnginePredictor& predictor = tables.engine(gpu, engine);
  // The engine runs several inputs of the graph of one.
  const EdgeGraph& graph = tables.network(q.network, 1);
  const EnginePrecision precision = precision_of_engine(graph, q.precision);
  const EdgeAnswer a = predictor.answer(graph, precision, int(q.batch));
  Point p = point_of_network(a, {q.batch, q.batch}, breakdown);
  p.at = place_of(q, q.device, shown(precision), engine);
  note_language_models(tables.language_models_of(q.network, graph), p);
  if (q.threads > 0 || q.slow_cores)
    p.notes.push_back("threads and slow_cores choose cores of devices that are no GPU");
  return p;
}

// REQUIRES: none of the keys that choose between processors, runtimes or batches, which a
// microcontroller does not have.
Point answer_on_small(EdgeTables& tables, const SmallProcessor& processor, const EdgeQuestion& q,
                      bool breakdown) {
  if (q.gpu || q.slow_cores || q.threads > 0 || q.batch > 1 || !q.runtime.empty() ||
      !q.measured.empty())
    throw InputError(fmt::format(
        "edge.device: {} has one core and one input at once: gpu, threads, slow_cores, runtime, "
        "batch and measured have no effect on it",
        processor.id));
  const EdgeGraph& graph = tables.network(q.network, 1);
  if (!graph.bytes && q.precision != "int8")
    throw NoData(
        fmt::format("{}: its times with bytes alone are known: --precision int8 (edge.precision)",
                    processor.id));
  const SmallAnswer a = answer_small(tables.small_law(), processor, graph);
  Point p = point_of_network(a.network, {1, 1}, breakdown);
  if (a.energy) p.metrics.push_back(metric(edge_figure("energy_per_inference"), *a.energy));
  if (!a.misfit.empty()) p.feasibility = {false, a.misfit}, p.metrics.clear(), p.kernels.clear();
  p.at = place_of(q, processor.id, "int8", "tflite");
  return p;
}

}  // namespace

std::vector<Point> answer_edge_network(EdgeTables& tables, const EdgeQuestion& q, bool breakdown) {
  if (const SmallProcessor* small = tables.small_processors().find(q.device))
    return {answer_on_small(tables, *small, q, breakdown)};
  if (const std::optional<Gpu> gpu = gpu_of_catalog(tables, q))
    return {answer_on_engine(tables, *gpu, q, breakdown)};
  const EdgeProcessor processor{q.gpu, q.threads,
                                q.slow_cores ? EdgePlacement::kSlow : EdgePlacement::kFast};
  std::vector<const EdgeDevice*> devices;
  if (q.device == "all") {
    for (const EdgeDevice& d : tables.devices().all())
      if (q.gpu ? !d.gpus.empty() : !d.clusters.empty()) devices.push_back(&d);
  } else {
    devices.push_back(&tables.device(q.device));
  }
  const std::vector<TimedNetwork> timed = read_timed_networks(tables, q);
  const EdgeGraph& graph = tables.network(q.network, q.batch);
  if (q.batch > 1 && !q.network.ends_with(".onnx"))
    throw InputError(
        "edge.batch: has an effect on an ONNX file or on a GPU of the catalog (`orrery list "
        "gpus`); other networks have one input at once");
  const EdgeLaw& law = tables.law(EdgePredictor::law_name(processor));
  const std::string runtime = q.runtime.empty() ? "ncnn" : q.runtime;
  const EdgePrecision precision = precision_of_cores(graph, q.precision);
  std::vector<Point> points;
  for (const EdgeDevice* device : devices) {
    EdgePredictor predictor(law, *device, tables.devices(), processor, runtime);
    predictor.calibrate(timed);
    points.push_back(point_of_network(predictor.answer(graph, precision), {q.batch, 1}, breakdown));
    points.back().at = place_of(q, device->id, shown(precision), runtime);
    note_split(predictor.shares(), points.back());
    note_language_models(tables.language_models_of(q.network, graph), points.back());
  }
  return points;
}

}  // namespace orrery
