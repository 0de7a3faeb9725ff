// `orrery fit attention`: how much longer a library of attention takes than another one
// (AttentionBackend::against) whose times are those of the kernel room, from a sweep that times
// both on the same calls.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "orrery/base/bundle.h"

namespace orrery {

struct FittedAttention {
  std::string yaml;  // text of catalog/training/attention-fitted.yaml
  struct Row {
    std::string backend, architecture;
    int head_dim = 0, calls = 0;
    double forward = 1, backward = 1, error = 0;
  };
  std::vector<Row> rows;
};

// Reads attention_prefill and attention_backward in `dir`. A ratio is the geometric mean over calls
// of 1,024 tokens and more with causal masks and without windows, one for each library,
// architecture and head size. Its error is their deviation. InputError: a table is absent, or no
// two libraries timed the same call.
FittedAttention fit_attention(const std::filesystem::path& dir, const std::string& date,
                              const Bundle& bundle);

}  // namespace orrery
