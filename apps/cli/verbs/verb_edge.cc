// orrery edge: networks and LLMs on phones, boards and laptops.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "apps/cli/output/output.h"
#include "apps/cli/verbs/edge_llm.h"
#include "apps/cli/verbs/verbs.h"
#include "orrery/base/csv.h"
#include "orrery/base/error.h"
#include "orrery/edge/fusion/fuse.h"
#include "orrery/edge/graph/edge_models.h"
#include "orrery/edge/predict/edge_answer.h"

namespace orrery::cli {
namespace {

using Json = nlohmann::ordered_json;

struct EdgeOptions {
  std::vector<std::string> networks, devices;
  EdgeProcessor processor;
  bool slow = false, explain = false;
  std::string precision = "float", runtime = "ncnn", measured, output = "table";
  OnnxOptions onnx;
  EdgeLlmOptions llm;
};

EdgePrecision precision_of(const std::string& name) {
  return name == "int8" ? EdgePrecision::kInt8 : EdgePrecision::kFloat;
}

// A file where there is one of that name, otherwise a bundled network.
EdgeGraph network_of(const std::string& name, const EdgeOptions& o, const Bundle& bundle) {
  const std::filesystem::path path(name);
  const bool file = path.has_extension() || std::filesystem::exists(path);
  return file ? read_edge_graph(path, o.onnx) : edge_model(bundle, name);
}

// A table with the columns network, latency_ms and, where it has one, precision.
std::vector<TimedNetwork> read_timed(const EdgeOptions& o, const Bundle& bundle) {
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
    timed.push_back(
        {network_of(std::string(csv.text(network)), o, bundle), precision_of(format), time});
  }
  return timed;
}

std::string window_text(const EdgeKernel& k) {
  if (k.kernel == EdgeWindow{}) return "";
  return fmt::format("{}x{}{}", k.kernel.h, k.kernel.w,
                     k.stride.h > 1 ? fmt::format("/{}", k.stride.h) : "");
}

std::string shape_text(const EdgeShape& s) { return fmt::format("{}x{}x{}", s.c, s.h, s.w); }

struct EdgeLine {
  std::string network, device;
  EdgeAnswer answer;
};

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

void print_kernels(const EdgeAnswer& a) {
  fmt::print("\n{:<26} {:<20} {:>6} {:>14} {:>8}\n", "kernel", "family", "window", "output", "ms");
  for (const EdgeAnswer::Kernel& k : a.kernels) {
    std::string name = k.kernel.nodes.empty() ? "" : k.kernel.nodes.front();
    if (k.kernel.nodes.size() > 1) name += fmt::format(" +{}", k.kernel.nodes.size() - 1);
    constexpr std::size_t kName = 26;
    if (name.size() > kName) name = name.substr(0, kName - 2) + "..";
    fmt::print("{:<26} {:<20} {:>6} {:>14} {:>8}\n", name, edge_family_name(k.kernel.family),
               window_text(k.kernel), shape_text(k.kernel.out), number(k.time.value() * 1e3));
  }
}

void print_lines(const std::vector<EdgeLine>& lines, bool explain) {
  fmt::print("{:<22} {:<22} {:>9} {:>15} {:>8}\n", "network", "device", "ms", "90 %", "GMAC");
  std::map<std::string, std::vector<std::string>> notes;  // the devices of a note
  for (const EdgeLine& l : lines) {
    const auto ms = [&](double p) { return number(l.answer.latency.quantile(p).value() * 1e3); };
    fmt::print("{:<22} {:<22} {:>9} {:>15} {:>8}\n", l.network, l.device,
               number(l.answer.latency.value.value() * 1e3),
               fmt::format("{} to {}", ms(0.05), ms(0.95)), number(double(l.answer.macs) / 1e9));
    if (explain) print_kernels(l.answer);
    for (const std::string& n : l.answer.notes) {
      std::vector<std::string>& of = notes[n];
      if (std::find(of.begin(), of.end(), l.device) == of.end()) of.push_back(l.device);
    }
  }
  Notes printed;
  for (const auto& [note, devices] : notes) {
    constexpr std::size_t kNamed = 3;
    const bool all = devices.size() > kNamed;
    printed.add(all ? note : fmt::format("{}: {}", fmt::join(devices, ", "), note));
  }
  printed.print();
}

// Whether the question is about LLMs. InputError: about networks as well.
bool asks_llms(const EdgeOptions& o, const Bundle& bundle) {
  const auto is_llm = [&](const std::string& n) { return is_edge_llm(n, bundle); };
  const auto llms = std::count_if(o.networks.begin(), o.networks.end(), is_llm);
  if (llms > 0 && std::size_t(llms) < o.networks.size())
    throw InputError("edge: ask for networks and for LLMs one at a time");
  return llms > 0;
}

void answer(EdgeOptions o, const Bundle& bundle) {
  if (asks_llms(o, bundle)) {
    answer_edge_llms(o.llm, {o.networks, o.devices, o.measured, o.explain, o.output == "json"},
                     bundle);
    return;
  }
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
  for (const std::string& id : o.devices) {
    EdgePredictor predictor(law, devices.device(id), devices, o.processor, o.runtime);
    predictor.calibrate(timed);
    for (std::size_t i = 0; i < graphs.size(); ++i)
      lines.push_back({std::filesystem::path(o.networks[i]).filename().string(), id,
                       predictor.answer(graphs[i], precision_of(o.precision))});
  }
  if (o.output == "json") {
    Json all = Json::array();
    for (const EdgeLine& l : lines) all.push_back(json_of(l, o.explain));
    fmt::print("{}\n", Json{{"answers", all}}.dump(1));
    return;
  }
  print_lines(lines, o.explain);
}

}  // namespace

void add_edge(CLI::App& program, Context& context) {
  CLI::App* app = program.add_subcommand(
      "edge",
      "Predicts the latency of a network (ONNX, ncnn), or the rates of an LLM with llama.cpp, on "
      "phones, boards, laptops and PCs.");
  const auto o = std::make_shared<EdgeOptions>();
  app->add_option("NETWORK", o->networks,
                  "file.onnx, file.param, a bundled network (`orrery list networks`) or an LLM "
                  "(`orrery list models`)")
      ->required()
      ->delimiter(',');
  app->add_option("-d,--device", o->devices, "devices (`orrery list devices`), or all")
      ->required()
      ->delimiter(',');
  app->add_flag("--gpu", o->processor.gpu, "on the device's GPU")->group("processor");
  app->add_option("--threads", o->processor.threads, "cores that compute [all]")
      ->check(CLI::Range(1, 1024))
      ->group("processor");
  app->add_flag("--slow-cores", o->slow, "take the slow cores first")->group("processor");
  app->add_option("--precision", o->precision, "float or int8")
      ->check(CLI::IsMember({"float", "int8"}))
      ->capture_default_str();
  std::vector<std::string> runtimes;
  for (const FusionRules& r : fusion_rules()) runtimes.push_back(r.name);
  app->add_option("--runtime", o->runtime, "whose fusion makes kernels of nodes")
      ->check(CLI::IsMember(runtimes))
      ->capture_default_str();
  app->add_option("--batch", o->onnx.batch, "inputs at once, of an ONNX file")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 20))
      ->capture_default_str();
  app->add_option("--measured", o->measured,
                  "CSV of networks timed on the device, to calibrate: network,latency_ms; of LLMs: "
                  "model,format,prefill_tok_s,decode_tok_s")
      ->type_name("FILE");
  app->add_flag("--explain", o->explain, "also each kernel with its time")->group("output");
  app->add_option("-o,--output", o->output, "table or json")
      ->check(CLI::IsMember({"table", "json"}))
      ->capture_default_str()
      ->group("output");
  add_edge_llm_options(*app, o->llm);
  app->footer(
      "Examples:\n"
      "  orrery edge mobilenet_v2,resnet50 --device raspberry-pi-5,rk3588\n"
      "  orrery edge model.onnx --device snapdragon-8-gen-2 --threads 4 --explain\n"
      "  orrery edge model.onnx --device jetson-orin-nano --measured mine.csv\n"
      "  orrery edge llama-3.1-8b --device m4-max-40,rtx-4090 --format Q4_K_M,Q8_0");
  app->callback([o, &context] { answer(*o, context.bundle()); });
}

}  // namespace orrery::cli
