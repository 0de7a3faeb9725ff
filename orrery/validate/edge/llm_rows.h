// Rates of LLMs on consumer devices: the table llm_edge.csv of the measured edge tables
// (docs/data.md).
//
// A row has the rate of a prompt, of an answer, or both. LocalScore's figures are the mean over
// nine mixes of prompt and answer (kLocalScoreMixes); such a row is the mean of as many cases.
// Left out, with a count: rows that the table doubts (SUSPECT), batches of several sequences,
// engines that are not of llama.cpp's family, models or devices that the catalog lacks.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "orrery/edge/llm/llm_law.h"
#include "orrery/edge/llm/llm_memory.h"
#include "orrery/validate/report/report.h"

namespace orrery {

struct LlmRow {
  bool prefill = false;
  LlmSetting setting;
  std::string model;            // id
  std::string device;           // as the table calls it
  std::string group;            // device and model as the table calls them
  std::vector<LlmTimes> cases;  // of a token each; the rate is the mean of theirs
  TokensPerSecond measured;
  LlmFit fit;  // whether it should fit
  std::string name, source, what;
};

// The rows of `dir`/llm_edge.csv. They point to `chips`.
std::vector<LlmRow> read_llm_rows(const std::filesystem::path& dir, const LlmChips& chips,
                                  const Bundle& bundle, ValidationReport& report);

}  // namespace orrery
