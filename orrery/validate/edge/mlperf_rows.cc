#include "orrery/validate/edge/mlperf_rows.h"

#include <fmt/format.h>

#include <map>
#include <string_view>
#include <utility>

#include "orrery/base/csv.h"

namespace orrery {
namespace {

using WordsAndId = std::pair<std::string_view, std::string_view>;

// The network of a benchmark.
constexpr WordsAndId kNetworks[] = {
    {"resnet50", "resnet50-v1.5"}, {"retinanet", "retinanet"}, {"bert-99", "bert-large-384"}};

// The accelerators as the table calls them, the longer of two names first.
constexpr WordsAndId kGpus[] = {{"L40S", "l40s"},
                                {"NVIDIA L4", "l4"},
                                {"RTX 4090", "rtx-4090"},
                                {"RTX 4000 Ada", "rtx-4000-ada"},
                                {"RTX-2000E-Ada", "rtx-2000e-ada"},
                                {"RTX A5000", "rtx-a5000"},
                                {"H100-PCIe", "h100-pcie"},
                                {"H100-NVL", "h100-nvl"},
                                {"H200-SXM", "h200-sxm"},
                                {"GH200 Grace Hopper Superchip 96GB", "gh200-96gb"},
                                {"Jetson AGX Orin", "jetson-agx-orin"},
                                {"Arc(TM) 140T", "arc-140t"}};
constexpr WordsAndId kHosts[] = {{"Ryzen 9 7950X", "ryzen-9-7950x"},
                                 {"i9-13900K", "core-i9-13900k"},
                                 {"Xeon(R) Gold 6240R", "xeon-gold-6240r"}};

template <std::size_t kCount>
std::string named(const WordsAndId (&names)[kCount], std::string_view text, bool whole) {
  for (const auto& [words, id] : names) {
    if (whole ? text == words : text.find(words) != std::string_view::npos) return std::string(id);
  }
  return {};
}

// By the name of the system, which submitters end with the engine's.
std::string engine_of(std::string_view system, std::string_view gpu) {
  for (const std::string_view name : {"onnxruntime", "pytorch", "tflite", "deepsparse"})
    if (system.find(name) != std::string_view::npos) return std::string(name);
  if (system.find("TRT") != std::string_view::npos ||
      system.find("TensorRT") != std::string_view::npos)
    return "tensorrt";
  return gpu == "arc-140t" ? "openvino" : "";
}

}  // namespace

std::vector<MlperfRow> read_mlperf_rows(const std::filesystem::path& dir,
                                        ValidationReport& report) {
  CsvReader csv(dir / "mlperf_edge.csv");
  const int system = csv.column("system"), submitter = csv.column("submitter"),
            accelerator = csv.column("accelerator"), count = csv.column("n_accelerators"),
            host = csv.column("host_cpu"), benchmark = csv.column("benchmark"),
            scenario = csv.column("scenario"), dtype = csv.column("weight_dtype"),
            rate = csv.column("samples_per_s"), mean = csv.column("latency_mean_ms");
  std::vector<MlperfRow> rows;
  std::map<std::string, std::size_t> refused;
  while (csv.next()) {
    const bool single = csv.text(scenario) == "singlestream";
    if (!single && csv.text(scenario) != "offline") continue;
    MlperfRow row;
    row.benchmark = csv.text(benchmark), row.single = single;
    row.network = named(kNetworks, row.benchmark, true);
    if (row.network.empty()) {
      if (single)
        ++refused[fmt::format("no network of the benchmark {} is bundled", row.benchmark)];
      continue;
    }
    row.system = csv.text(system), row.submitter = csv.text(submitter);
    if (row.system.find("MaxQ") != std::string::npos) continue;
    row.gpu = named(kGpus, csv.text(accelerator), false);
    const bool cores = csv.text(accelerator) == "N/A";
    if (cores) row.device = named(kHosts, csv.text(host), false);
    row.engine = engine_of(row.system, row.gpu);
    if ((row.gpu.empty() && row.device.empty()) || row.engine.empty()) {
      if (single)
        ++refused[fmt::format("no sourced facts of {} or of its engine",
                              cores ? csv.text(host) : csv.text(accelerator))];
      continue;
    }
    // NVIDIA's engine computes no padding of questions, so that the work of BERT depends on data.
    const bool unpadded = row.engine == "tensorrt" && row.benchmark.starts_with("bert");
    if (!single && (row.gpu.empty() || unpadded)) continue;
    const std::string_view type = csv.text(dtype);
    const bool bytes =
        type == "int8" || type == "INT8" || (type.empty() && row.engine == "tensorrt");
    row.precision = bytes ? EnginePrecision::kInt8 : EnginePrecision::kFloat;
    const double devices = row.gpu.empty() ? 1 : csv.optional_number(count).value_or(1);
    row.time = single ? milliseconds(csv.number(mean))
                      : Seconds(std::max(devices, 1.0) / csv.number(rate));
    row.name = fmt::format("mlperf_edge.csv:{}", csv.line());
    rows.push_back(std::move(row));
  }
  for (const auto& [why, number] : refused)
    report.refused.push_back({"mlperf_edge.csv", why, number});
  return rows;
}

}  // namespace orrery
