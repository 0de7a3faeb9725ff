// A question about the edge: the latency of a network on a phone, a board, a laptop or a GPU, or
// the rates of an LLM there with llama.cpp.
//
//   edge: {network: [mobilenet_v2, resnet50], device: raspberry-pi-5, threads: [1, 4]}
//   edge: {network: llama-3.1-8b, device: [m4-max-40, rtx-4090], format: [Q4_K_M, Q8_0]}
//
// The answer has a point for each network on each device; `device: all` asks for every device. A
// name is an LLM where the catalog has a model of that name and no network. An ONNX file with the
// matrices of a language model of the catalog is that LLM, unless a key of networks asks for one
// pass over the graph.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "orrery/base/fields.h"
#include "orrery/base/units.h"

namespace orrery {

struct QuestionKind;

struct EdgeQuestion {
  // file.onnx, file.param, a bundled network or an LLM; a device, a GPU of the catalog, or "all".
  std::string network, device;
  bool sustained = false;  // a load of minutes, in which heat may lower the clocks
  std::string measured;    // a table of what was timed on the device, to calibrate; empty: none

  // Keys of networks.
  bool gpu = false, slow_cores = false;
  int threads = 0;                           // cores that compute; 0: all
  std::string precision = "float", runtime;  // empty: the usual one of the device
  std::int64_t batch = 1;                    // inputs at once

  // Keys of LLMs.
  std::string format = "Q4_K_M", backend, draft;  // empty: the usual one of the chip; no draft
  std::int64_t prompt = 512, generate = 128;      // tokens
  std::int64_t depth = 0;                         // tokens already in the cache
  std::int64_t ubatch = 512;                      // tokens of a pass
  int devices = 1;                                // equal ones, layers one after the other
  std::optional<Bytes> memory, file_size;  // absent: the largest configuration; the format's size
  bool flash_attention = true;
  int draft_tokens = 4;
  double acceptance = 0.7;  // probability that a proposed token is accepted

  // Whether a key of networks is given. The file of a language model is answered as a network then.
  bool asks_pass() const {
    return gpu || slow_cores || threads > 0 || precision != "float" || !runtime.empty() ||
           batch > 1;
  }
};

// Defined by the kind (edge_kind.cc).
const QuestionKind& kind_of(const EdgeQuestion& question);

// A key of one of the two kinds needs a question of that kind, which the name of the network
// decides.
inline constexpr const char* kNeedsNetwork = "a network, no LLM";
inline constexpr const char* kNeedsLlm = "an LLM";

void declare(Fields& fields, EdgeQuestion& question);

}  // namespace orrery
