// orrery edge: networks and LLMs on phones, boards and laptops.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "apps/cli/output/output.h"
#include "apps/cli/verbs/edge_llm.h"
#include "apps/cli/verbs/verbs.h"
#include "apps/face/edge_question.h"
#include "orrery/base/error.h"
#include "orrery/edge/fusion/fuse.h"

namespace orrery::cli {
namespace {

using face::EdgeLine, face::shape_text, face::window_text;

struct EdgeOptions : face::EdgeQuestion {
  bool explain = false;
  std::string output = "table";
  face::EdgeLlmQuestion llm;
};

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
  const auto is_llm = [&](const std::string& n) { return face::is_edge_llm(n, bundle); };
  const auto llms = std::count_if(o.networks.begin(), o.networks.end(), is_llm);
  if (llms > 0 && std::size_t(llms) < o.networks.size())
    throw InputError("edge: ask for networks and for LLMs one at a time");
  return llms > 0;
}

void answer(const EdgeOptions& o, const Bundle& bundle) {
  if (asks_llms(o, bundle)) {
    face::EdgeLlmQuestion q = o.llm;
    q.models = o.networks, q.devices = o.devices, q.measured = o.measured;
    const std::vector<face::EdgeLlmLine> lines = face::answer(q, bundle);
    if (o.output == "json") return fmt::print("{}", face::json_text(lines, o.explain));
    return print_edge_llms(lines, o.explain);
  }
  const std::vector<EdgeLine> lines =
      face::answer(static_cast<const face::EdgeQuestion&>(o), bundle);
  if (o.output == "json") return fmt::print("{}", face::json_text(lines, o.explain));
  print_lines(lines, o.explain);
}

// A line for each point that a sweep asks, with the values of the keys that it varies.
void print_swept(const face::EdgeAnswers& a) {
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    std::vector<std::string> words;
    for (std::size_t k = 0; k < a.swept.size(); ++k)
      words.push_back(fmt::format("{}={}", a.swept[k], a.values[i][k]));
    fmt::print("line {}: {}\n", i + 1, fmt::join(words, ", "));
  }
}

}  // namespace

void print_edge(const face::EdgeAnswers& a, bool json) {
  if (json) return fmt::print("{}", face::json_text(a, false));
  if (a.llms.empty()) {
    print_lines(a.networks, false);
  } else {
    print_edge_llms(a.llms, false);
  }
  const auto shown = [](const std::string& key) {
    return key == "network" || key == "device" || key == "format";
  };
  if (!std::all_of(a.swept.begin(), a.swept.end(), shown)) print_swept(a);
}

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
  app->add_option("-d,--device", o->devices,
                  "devices (`orrery list devices`), GPUs (`orrery list gpus`), or all")
      ->required()
      ->delimiter(',');
  app->add_flag("--gpu", o->processor.gpu, "on the device's GPU")->group("processor");
  app->add_option("--threads", o->processor.threads, "cores that compute [all]")
      ->check(CLI::Range(1, 1024))
      ->group("processor");
  app->add_flag("--slow-cores", o->slow, "take the slow cores first")->group("processor");
  app->add_option("--precision", o->precision, "float, half or int8")
      ->check(CLI::IsMember({"float", "half", "int8"}))
      ->capture_default_str();
  std::vector<std::string> runtimes;
  for (const FusionRules& r : fusion_rules()) runtimes.push_back(r.name);
  app->add_option("--runtime", o->runtime,
                  "whose fusion makes kernels of nodes [ncnn; tensorrt, "
                  "openvino on GPUs of the catalog]")
      ->check(CLI::IsMember(runtimes));
  app->add_option("--batch", o->onnx.batch,
                  "inputs at once, of an ONNX file or on a GPU of the catalog")
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
      "  orrery edge llama-3.1-8b --device m4-max-40,rtx-4090 --format Q4_K_M,Q8_0\n"
      "  orrery edge model.onnx --device snapdragon-8-gen-2 --threads 4 --explain\n"
      "  orrery edge model.onnx --device jetson-orin-nano --measured mine.csv");
  app->callback([o, &context] { answer(*o, context.bundle()); });
}

}  // namespace orrery::cli
