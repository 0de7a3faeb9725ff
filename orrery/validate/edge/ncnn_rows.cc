#include "orrery/validate/edge/ncnn_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string_view>

#include "orrery/base/csv.h"

namespace orrery {
namespace {

constexpr std::string_view kByteEnding = "_int8";

std::string architecture_of(const std::string& network) {
  return network.ends_with(kByteEnding) ? network.substr(0, network.size() - kByteEnding.size())
                                        : network;
}

struct LayerFamily {
  std::string_view type;
  EdgeFamily family;
  EdgeActivation activation = EdgeActivation::kNone;
};
// The types of layers of cnn_ops.csv; all others read and write elements.
constexpr LayerFamily kLayers[] = {
    {"Convolution", EdgeFamily::kConvolution},
    {"DeconvolutionDepthWise", EdgeFamily::kDeconvolution},
    {"InnerProduct", EdgeFamily::kInnerProduct},
    {"Gemm", EdgeFamily::kInnerProduct},
    {"MultiHeadAttention", EdgeFamily::kAttention},
    {"Pooling", EdgeFamily::kPool},
    {"Concat", EdgeFamily::kConcat},
    {"Slice", EdgeFamily::kSlice},
    {"Crop", EdgeFamily::kSlice},
    {"Permute", EdgeFamily::kPermute},
    {"ShuffleChannel", EdgeFamily::kShuffle},
    {"Interp", EdgeFamily::kResize},
    {"Padding", EdgeFamily::kPad},
    {"Softmax", EdgeFamily::kSoftmax},
    {"DetectionOutput", EdgeFamily::kDetection},
    {"YoloDetectionOutput", EdgeFamily::kDetection},
    {"Yolov3DetectionOutput", EdgeFamily::kDetection},
    {"PriorBox", EdgeFamily::kElementwise},
    {"Swish", EdgeFamily::kActivation, EdgeActivation::kSwish},
    {"Sigmoid", EdgeFamily::kActivation, EdgeActivation::kSigmoid},
    {"GELU", EdgeFamily::kActivation, EdgeActivation::kGelu},
    {"HardSigmoid", EdgeFamily::kActivation, EdgeActivation::kHardSigmoid},
    {"HardSwish", EdgeFamily::kActivation, EdgeActivation::kHardSwish},
    {"ReLU", EdgeFamily::kActivation, EdgeActivation::kRelu},
    {"LRN", EdgeFamily::kNorm},
    {"LayerNorm", EdgeFamily::kNorm},
    {"BatchNorm", EdgeFamily::kNorm},
};

EdgeFamily family_of(std::string_view type, const EdgeKernel& k) {
  if (type == "ConvolutionDepthWise")
    return k.groups == k.in.c ? EdgeFamily::kDepthwise : EdgeFamily::kGroupedConvolution;
  for (const LayerFamily& l : kLayers) {
    if (l.type == type) return l.family;
  }
  return EdgeFamily::kElementwise;
}

EdgeActivation activation_of(std::string_view type) {
  for (const LayerFamily& l : kLayers) {
    if (l.type == type) return l.activation;
  }
  return EdgeActivation::kNone;
}

// The cores that a row takes. The list counts the threads; power_mode says from which side.
std::optional<EdgeRun> run_of(const EdgeDevices& devices, const EdgeDevice& device,
                              const std::string& processor, std::string_view threads,
                              std::string_view mode) {
  EdgeRun run;
  run.device = device.id;
  constexpr std::string_view kGpu = "GPU (Vulkan): ";
  if (processor.starts_with(kGpu)) {
    const std::string name = processor.substr(kGpu.size());
    for (const EdgeGpu& g : device.gpus) {
      if (g.row != name) continue;
      run.processor = "GPU " + name, run.law = "ncnn-gpu", run.gpu = true,
      run.facts = EdgeDevices::facts(g);
      return run;
    }
    return std::nullopt;
  }
  if (processor != "CPU" || device.clusters.empty() || threads.empty()) return std::nullopt;
  const bool slow = mode.starts_with("little");
  run.processor = fmt::format("CPU, {} threads, {}", threads, mode);
  run.law = "ncnn-cpu";
  run.facts = devices.facts(device, std::stoi(std::string(threads)),
                            slow ? EdgePlacement::kSlow : EdgePlacement::kFast);
  return run;
}

// Makes one row of those of a network: the geometric mean of their times, by the name of the first.
void merge_repeats(std::vector<EdgeRow>& rows) {
  std::vector<EdgeRow> merged;
  std::vector<double> logarithms;
  std::vector<int> counts;
  for (EdgeRow& row : rows) {
    const auto same = std::find_if(merged.begin(), merged.end(),
                                   [&](const EdgeRow& m) { return m.network == row.network; });
    const auto at = std::size_t(same - merged.begin());
    if (same == merged.end()) {
      logarithms.push_back(0), counts.push_back(0);
      merged.push_back(row);
    }
    logarithms[at] += std::log(row.time.value()), ++counts[at];
  }
  for (std::size_t i = 0; i < merged.size(); ++i)
    merged[i].time = Seconds(std::exp(logarithms[i] / counts[i]));
  rows = std::move(merged);
}

}  // namespace

std::map<std::string, std::vector<EdgeKernel>> read_ncnn_kernels(
    const std::filesystem::path& file) {
  CsvReader csv(file);
  const int model = csv.column("model"), type = csv.column("op"), groups = csv.column("groups"),
            in_c = csv.column("in_c"), in_h = csv.column("in_h"), in_w = csv.column("in_w"),
            out_c = csv.column("out_c"), out_h = csv.column("out_h"), out_w = csv.column("out_w"),
            kernel_w = csv.column("kernel_w"), kernel_h = csv.column("kernel_h"),
            stride = csv.column("stride"), dilation = csv.column("dilation"),
            weights = csv.column("weights"), macs = csv.column("macs"), in = csv.column("in_elems"),
            out = csv.column("out_elems");
  std::map<std::string, std::vector<EdgeKernel>> networks;
  std::set<std::string> shapeless;
  while (csv.next()) {
    const std::string name(csv.text(model));
    const auto number = [&](int column, std::int64_t otherwise) {
      return csv.empty(column) ? otherwise : csv.integer(column);
    };
    EdgeKernel k;
    k.in = {number(in_c, 1), number(in_h, 1), number(in_w, 1)};
    k.out = {number(out_c, 1), number(out_h, 1), number(out_w, 1)};
    k.kernel = {number(kernel_h, 1), number(kernel_w, 1)};
    k.stride = {number(stride, 1), number(stride, 1)};
    k.dilation = {number(dilation, 1), number(dilation, 1)};
    k.groups = number(groups, 1), k.macs = number(macs, 0), k.weights = number(weights, 0);
    k.in_elements = number(in, 0), k.out_elements = number(out, 0);
    k.family = family_of(csv.text(type), k);
    k.activation = activation_of(csv.text(type));
    if (csv.empty(in_c) && k.family == EdgeFamily::kConvolution) shapeless.insert(name);
    networks[name].push_back(std::move(k));
  }
  for (const std::string& name : shapeless) networks.erase(name);
  return networks;
}

std::vector<EdgeRun> read_edge_runs(const std::filesystem::path& dir, const EdgeDevices& devices,
                                    ValidationReport& report) {
  std::map<std::string, EdgeWork> works;
  for (const auto& [name, kernels] : read_ncnn_kernels(dir / "cnn_ops.csv"))
    works[name] = work_of(
        kernels, name.ends_with(kByteEnding) ? EdgePrecision::kInt8 : EdgePrecision::kFloat);
  CsvReader csv(dir / "cnn_edge.csv");
  const int source = csv.column("source"), device = csv.column("device"),
            processor = csv.column("processor"), threads = csv.column("threads"),
            mode = csv.column("power_mode"), model = csv.column("model"),
            mean = csv.column("latency_ms"), least = csv.column("latency_min_ms");
  std::map<std::pair<std::string, std::string>, EdgeRun> runs;
  std::map<std::string, std::size_t> refused;
  while (csv.next()) {
    if (!csv.text(source).starts_with("ncnn")) continue;
    const std::string network(csv.text(model));
    const auto work = works.find(network);
    if (work == works.end()) {
      ++refused[fmt::format("cnn_ops.csv has no network {} with shapes", network)];
      continue;
    }
    const EdgeDevice* d = devices.of_row(csv.text(device));
    std::optional<EdgeRun> run;
    if (d != nullptr)
      run =
          run_of(devices, *d, std::string(csv.text(processor)), csv.text(threads), csv.text(mode));
    if (!run) {
      ++refused["no facts of the processor in catalog/edge/devices.yaml"];
      continue;
    }
    if (run->law == "ncnn-gpu" && network.ends_with(kByteEnding)) {
      ++refused["int8 on a line of a GPU, which ncnn executes on an unstated number of cores"];
      continue;
    }
    EdgeRow row{network, architecture_of(network), work->second,
                milliseconds(csv.optional_number(least).value_or(csv.number(mean))),
                fmt::format("cnn_edge.csv:{}", csv.line())};
    if (row.time <= Seconds(0)) continue;
    EdgeRun& into = runs[{run->device, run->processor}];
    if (into.rows.empty()) into = *run;
    into.rows.push_back(std::move(row));
  }
  for (auto& [key, run] : runs) merge_repeats(run.rows);
  for (const auto& [why, rows] : refused) report.refused.push_back({"cnn_edge.csv", why, rows});
  std::vector<EdgeRun> out;
  for (auto& [key, run] : runs) out.push_back(std::move(run));
  return out;
}

}  // namespace orrery
