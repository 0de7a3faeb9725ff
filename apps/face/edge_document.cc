#include "apps/face/edge_document.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "orrery/base/error.h"

namespace orrery::face {
namespace {

constexpr const char* kSection = "edge";
constexpr std::size_t kMostPoints = 100'000;

// A point of the sweep: the section with one value for each key, and the values of those swept.
struct EdgePoint {
  Node section;
  std::vector<std::string> values;
};

std::vector<EdgePoint> points_of(const Node& section, std::vector<std::string>& swept) {
  std::vector<EdgePoint> points(1);
  for (std::size_t k = 0; k < section.keys().size(); ++k) {
    const std::string& key = section.keys()[k];
    const Node& value = section.items()[k];
    const bool many = value.is_list();
    if (many && value.items().empty()) value.fail("expected a value or a list of values");
    if (many && value.items().size() > 1) swept.push_back(key);
    const std::size_t choices = many ? value.items().size() : 1;
    if (points.size() * choices > kMostPoints)
      value.fail(fmt::format("a sweep of more than {} points", kMostPoints));
    std::vector<EdgePoint> next;
    for (const EdgePoint& p : points) {
      for (std::size_t c = 0; c < choices; ++c) {
        EdgePoint one = p;
        const Node& chosen = many ? value.items()[c] : value;
        set_path(one.section, key, chosen);
        if (choices > 1) one.values.push_back(chosen.text());
        next.push_back(std::move(one));
      }
    }
    points = std::move(next);
  }
  return points;
}

EdgeKeys read_keys(const Node& section) {
  EdgeKeys keys;
  Fields fields;
  keys.declare(fields);
  fields.read(section);
  return keys;
}

EdgeQuestion network_question(const EdgeKeys& k) {
  EdgeQuestion q;
  q.networks = {k.network}, q.devices = {k.device};
  q.processor.gpu = k.gpu, q.processor.threads = k.threads, q.slow = k.slow_cores;
  q.precision = k.precision, q.runtime = k.runtime, q.measured = k.measured;
  q.onnx.batch = k.batch;
  return q;
}

EdgeLlmQuestion llm_question(const EdgeKeys& k) {
  EdgeLlmQuestion q = k.llm;
  q.models = {k.network}, q.devices = {k.device}, q.formats = {k.format};
  q.measured = k.measured;
  return q;
}

}  // namespace

void EdgeKeys::declare(Fields& f) {
  f.add("network", network,
        "file.onnx, file.param, a bundled network (`orrery list networks`) or an LLM (`orrery list "
        "models`)")
      .required();
  f.add("device", device, "a device (`orrery list devices`), a GPU of the catalog, or all")
      .required();
  f.add("gpu", gpu, "on the device's GPU");
  f.add("threads", threads, "cores that compute; 0: all").range(0, 1024);
  f.add("slow_cores", slow_cores, "take the slow cores first");
  f.add("precision", precision, "float, half or int8").one_of({"float", "half", "int8"});
  f.add("runtime", runtime, "whose fusion makes kernels of nodes; empty: the device's usual one");
  f.add("batch", batch, "inputs at once, of an ONNX file or on a GPU of the catalog")
      .range(1, 1 << 20);
  f.add("measured", measured, "CSV of what was timed on the device, to calibrate");
  f.add("format", format, "of an LLM: its GGUF format");
  f.add("backend", llm.backend, "of an LLM: cuda, metal, rocm, vulkan, opencl, cpu");
  f.add("prompt", llm.prompt, "of an LLM: tokens of the prompt");
  f.add("generate", llm.generate, "of an LLM: tokens of the answer");
  f.add("depth", llm.depth, "of an LLM: tokens already in the cache");
  f.add("ubatch", llm.ubatch, "of an LLM: tokens of a pass");
  f.add("devices", llm.count, "of an LLM: equal devices, layers one after the other").range(1, 64);
  f.add("memory", llm.memory, "of an LLM: the memory of a device, such as 16GiB");
  f.add("file_size", llm.file_size,
        "of an LLM: the size of its file, where its mixture is another");
  f.add("flash_attention", llm.flash_attention, "of an LLM: attention in one kernel");
  f.add("draft", llm.draft, "of an LLM: the model that proposes tokens, in the same format");
  f.add("draft_tokens", llm.draft_tokens, "proposed at a time").range(1, 64);
  f.add("acceptance", llm.acceptance, "probability that a proposal is accepted").range(0, 0.999);
}

bool is_edge_document(const Node& document) { return document.find(kSection) != nullptr; }

EdgeAnswers answer_edge(const Node& document, const Bundle& bundle) {
  for (const std::string& key : document.keys()) {
    if (key != kSection && key != "name" && key != "orrery")
      document.at(key).fail("a question about the edge has its keys in `edge` alone");
  }
  EdgeAnswers answers;
  std::string refusal;
  std::size_t refused = 0;
  const std::vector<EdgePoint> points = points_of(document.at(kSection), answers.swept);
  for (const EdgePoint& p : points) {
    const EdgeKeys keys = read_keys(p.section);
    const bool llm = is_edge_llm(keys.network, bundle);
    if (llm ? !answers.networks.empty() : !answers.llms.empty())
      throw InputError("edge: ask for networks and for LLMs one at a time");
    const std::size_t before = answers.networks.size() + answers.llms.size();
    if (llm) {
      try {
        for (EdgeLlmLine& l : answer(llm_question(keys), bundle))
          answers.llms.push_back(std::move(l));
      } catch (const Infeasible& e) {
        if (refused++ == 0) refusal = e.what();
      }
    } else {
      for (EdgeLine& l : answer(network_question(keys), bundle))
        answers.networks.push_back(std::move(l));
    }
    const std::size_t after = answers.networks.size() + answers.llms.size();
    answers.values.insert(answers.values.end(), after - before, p.values);
  }
  if (refused == points.size()) throw Infeasible(refusal);
  return answers;
}

std::string json_text(const EdgeAnswers& a, bool explain) {
  using Json = nlohmann::ordered_json;
  Json all =
      Json::parse(a.llms.empty() ? json_text(a.networks, explain) : json_text(a.llms, explain));
  for (std::size_t i = 0; i < all["answers"].size(); ++i) {
    for (std::size_t k = 0; k < a.swept.size(); ++k) {
      if (!all["answers"][i].contains(a.swept[k])) all["answers"][i][a.swept[k]] = a.values[i][k];
    }
  }
  return all.dump(1) + "\n";
}

}  // namespace orrery::face
