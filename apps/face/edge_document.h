// A question about networks or LLMs at the edge, written as a document:
//
//   edge: {network: [mobilenet_v2, resnet50], device: raspberry-pi-5, threads: [1, 4]}
//   edge: {network: llama-3.1-8b, device: [m4-max-40, rtx-4090], format: [Q4_K_M, Q8_0]}
//
// A list in any key is a sweep. Python's keywords and `orrery run` are such documents.
#pragma once

#include <string>
#include <vector>

#include "apps/face/edge_llm_question.h"
#include "apps/face/edge_question.h"
#include "orrery/base/bundle.h"
#include "orrery/base/fields.h"
#include "orrery/base/node.h"

namespace orrery::face {

// The values of one point.
struct EdgeKeys {
  std::string network, device;
  bool gpu = false, slow_cores = false;
  int threads = 0;
  std::string precision = "float", runtime;  // empty: the device's usual one
  std::int64_t batch = 1;
  EdgeLlmQuestion llm;  // models and devices apart
  std::string format = "Q4_K_M", measured;

  void declare(Fields& fields);
};

struct EdgeAnswers {
  std::vector<EdgeLine> networks;
  std::vector<EdgeLlmLine> llms;
  // The keys that the sweep varies, and their values in the order of the lines.
  std::vector<std::string> swept;
  std::vector<std::vector<std::string>> values;
};

// Whether the document asks about the edge.
bool is_edge_document(const Node& document);

// Answers the document's `edge` section, each point once, in the order of its lists. InputError: an
// unknown key, value, network or device, or networks and LLMs in one document. Infeasible: no LLM
// fits into the memory of its device.
EdgeAnswers answer_edge(const Node& document, const Bundle& bundle);

// The JSON of the lines, each with the values of the keys that are swept.
std::string json_text(const EdgeAnswers& answers, bool explain);

}  // namespace orrery::face
