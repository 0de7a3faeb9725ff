#include "orrery/scenario/kinds/edge/edge_question.h"

#include <string>
#include <vector>

#include "orrery/edge/fusion/fuse.h"
#include "orrery/edge/llm/llm_memory.h"

namespace orrery {
namespace {

constexpr std::int64_t kMostInputs = 1 << 20;
constexpr std::int64_t kMostEdgeTokens = 100'000'000;

void declare_network(Fields& f, EdgeQuestion& q) {
  f.add("gpu", q.gpu, "on the device's GPU").needs(kNeedsNetwork);
  f.add("threads", q.threads, "cores that compute; 0: all").range(0, 1024).needs(kNeedsNetwork);
  f.add("slow_cores", q.slow_cores, "takes the slow cores first").needs(kNeedsNetwork);
  f.add("precision", q.precision, "number format of the network; half on GPUs of the catalog alone")
      .one_of({"float", "half", "int8"})
      .needs(kNeedsNetwork);
  std::vector<std::string> runtimes = {""};
  for (const FusionRules& r : fusion_rules()) runtimes.push_back(r.name);
  f.add("runtime", q.runtime,
        "whose fusion makes kernels of nodes; empty: ncnn, and on GPUs of the catalog tensorrt, "
        "openvino or onnxruntime by their vendor")
      .one_of(std::move(runtimes))
      .needs(kNeedsNetwork);
  f.add("batch", q.batch, "inputs at once, of an ONNX file or on a GPU of the catalog")
      .unit("inputs")
      .range(1, kMostInputs)
      .needs(kNeedsNetwork);
}

void declare_llm(Fields& f, EdgeQuestion& q) {
  std::vector<std::string> formats;
  for (const GgufFormat& g : gguf_formats()) formats.emplace_back(g.name);
  f.add("format", q.format, "format of llama.cpp's file (GGUF)")
      .one_of(std::move(formats))
      .needs(kNeedsLlm);
  f.add("backend", q.backend, "backend of llama.cpp; empty: the usual one of the chip")
      .one_of({"", "cuda", "metal", "rocm", "vulkan", "vulkan-amdvlk", "opencl", "hexagon", "cpu"})
      .needs(kNeedsLlm);
  f.add("prompt", q.prompt, "tokens of the prompt")
      .unit("tokens")
      .range(1, kMostEdgeTokens)
      .needs(kNeedsLlm);
  f.add("generate", q.generate, "tokens of the answer")
      .unit("tokens")
      .range(1, kMostEdgeTokens)
      .needs(kNeedsLlm);
  f.add("depth", q.depth, "tokens already in the cache")
      .unit("tokens")
      .range(0, kMostEdgeTokens)
      .needs(kNeedsLlm);
  f.add("ubatch", q.ubatch, "tokens of a pass over the prompt")
      .unit("tokens")
      .range(1, kMostEdgeTokens)
      .needs(kNeedsLlm);
  f.add("devices", q.devices, "equal devices, on which the layers lie one after the other")
      .range(1, 64)
      .needs(kNeedsLlm);
  f.add("memory", q.memory, "memory of a device; default: its largest configuration")
      .needs(kNeedsLlm);
  f.add("file_size", q.file_size, "size of the file, where its mixture of formats is another")
      .needs(kNeedsLlm);
  f.add("flash_attention", q.flash_attention, "attention is one kernel").needs(kNeedsLlm);
  f.add("draft", q.draft, "model that proposes tokens, in the same format; empty: none")
      .needs(kNeedsLlm);
  const auto drafts = [&q] { return !q.draft.empty(); };
  f.add("draft_tokens", q.draft_tokens, "tokens that the draft proposes at a time")
      .range(1, 64)
      .needs("edge.draft", drafts);
  f.add("acceptance", q.acceptance, "probability that a proposed token is accepted")
      .range(0, 0.999)
      .needs("edge.draft", drafts);
}

}  // namespace

void declare(Fields& f, EdgeQuestion& q) {
  f.add("network", q.network,
        "file.onnx, file.param, a bundled network (`orrery list networks`) or an LLM (`orrery list "
        "models`); the file of such an LLM is answered as the LLM where no key of networks is "
        "given")
      .alias("model");
  f.add("device", q.device,
        "device (`orrery list devices`), GPU (`orrery list gpus`), or all for every device");
  f.add("measured", q.measured,
        "CSV of what was timed on the device, to calibrate: network,latency_ms; of LLMs "
        "model,format,prefill_tok_s,decode_tok_s")
      .verbatim();
  f.add("sustained", q.sustained,
        "a load of minutes: intervals reach from the speed of a short load to what heat leaves");
  declare_network(f, q);
  declare_llm(f, q);
}

}  // namespace orrery
