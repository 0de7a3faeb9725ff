// The answers of questions about the edge as tables, and the flags of LLMs.
#pragma once

#include <CLI/CLI.hpp>
#include <vector>

#include "apps/face/edge_document.h"
#include "apps/face/edge_llm_question.h"

namespace orrery::cli {

void add_edge_llm_options(CLI::App& app, face::EdgeLlmQuestion& question);

void print_edge_llms(const std::vector<face::EdgeLlmLine>& lines, bool explain);

// The answers of a scenario file (verb_edge.cc).
void print_edge(const face::EdgeAnswers& answers, bool json);

}  // namespace orrery::cli
