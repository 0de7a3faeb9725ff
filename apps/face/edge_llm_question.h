// LLMs on phones, boards, laptops and PCs: the part of the question of `orrery edge` that llama.cpp
// answers, and its answer.
#pragma once

#include <string>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/edge/llm/llm_answer.h"

namespace orrery::face {

struct EdgeLlmQuestion {
  std::vector<std::string> models, devices;  // devices: or "all"
  std::vector<std::string> formats = {"Q4_K_M"};
  std::string backend, memory, file_size, draft;  // empty: the chip's usual ones; no draft
  double prompt = 512, generate = 128, depth = 0, ubatch = 512, acceptance = 0.7;
  int count = 1;  // of devices that share a model
  int draft_tokens = 4;
  bool flash_attention = true;
  // A CSV of rates measured on the device, to calibrate: model, format, prefill_tok_s,
  // decode_tok_s; empty: none.
  std::string measured;
};

struct EdgeLlmLine {
  std::string model, format, device;
  LlmAnswer answer;
};

// Whether `name` is a model of the catalog (`orrery list models`), and no network of the edge room
// or file.
bool is_edge_llm(const std::string& name, const Bundle& bundle);

// A line for each model in each format on each device. InputError: an unknown device, format or
// model. Infeasible, with what would fit: no answer fits into its device's memory.
std::vector<EdgeLlmLine> answer(const EdgeLlmQuestion& question, const Bundle& bundle);

// The JSON that -o json prints. `explain`: with the terms of a prompt and of a token.
std::string json_text(const std::vector<EdgeLlmLine>& lines, bool explain);

}  // namespace orrery::face
