// The part of `orrery edge` that answers LLMs.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "orrery/base/bundle.h"

namespace orrery::cli {

struct EdgeLlmOptions {
  std::vector<std::string> formats = {"Q4_K_M"};
  std::string backend, memory, file_size, draft;
  double prompt = 512, generate = 128, depth = 0, ubatch = 512, acceptance = 0.7;
  int devices = 1, draft_tokens = 4;
  bool no_flash_attention = false;
};

void add_edge_llm_options(CLI::App& app, EdgeLlmOptions& options);

// Whether `name` is a model of the catalog (`orrery list models`), and no network of the edge room
// or file.
bool is_edge_llm(const std::string& name, const Bundle& bundle);

// The options of the verb that LLMs share with networks.
struct EdgeLlmAsked {
  std::vector<std::string> models, devices;
  std::string measured;  // CSV: model, format, prefill_tok_s, decode_tok_s; empty: none
  bool explain = false, json = false;
};

// Prints the answers. Infeasible, with what would fit: no answer fits into its device's memory.
void answer_edge_llms(const EdgeLlmOptions& options, const EdgeLlmAsked& asked,
                      const Bundle& bundle);

}  // namespace orrery::cli
