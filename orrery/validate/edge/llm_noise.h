// The noise of the table of LLMs on consumer devices (llm_rows.h): how far another reading of the
// same question misses a reading.
//
// A question is a chip, a backend, a model, a format, a number of devices, attention in one kernel
// or in several, and the tokens of prompt, answer and cache. Boards, hosts, drivers and versions of
// llama.cpp differ between its readings. A reading is predicted by the geometric mean of the
// others.
#pragma once

#include <string>
#include <vector>

#include "orrery/validate/edge/llm_rows.h"

namespace orrery {

struct LlmReadings {
  std::size_t questions = 0, readings = 0;  // of questions with more than one
  double mean = 0, median = 0;              // of |predicted / read - 1|
};

// `one_source`: readings of different sources are of different questions.
LlmReadings other_readings(const std::vector<LlmRow>& rows, bool prefill, bool one_source);

// A sentence with all four.
std::string note_of_llm_noise(const std::vector<LlmRow>& rows);

}  // namespace orrery
