// The changes between two answers, and the terms of the breakdown that caused them.
//
// The answers are JSON that `orrery run -o json` wrote. Points are paired by their swept values,
// and rows of the breakdown by phase, name and part.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace orrery {

struct ValueChange {
  std::string name, unit;
  double before = 0, after = 0;  // 0: the answer does not have it
  bool beyond = false;           // the 90 % intervals do not touch
  double relative() const { return before != 0 ? after / before - 1 : 0; }
};

struct PointChange {
  std::string
      at;  // "isl=1024 batch=8"; with "only in the first" or "only in the second" if unpaired
  std::vector<ValueChange> metrics;  // metrics that differ
  std::vector<ValueChange> terms;    // rows of the breakdown (us) and of memory (GB), largest first
  std::string feasibility;           // "fits -> does not fit"; empty: as before
};

struct AnswerDiff {
  std::vector<std::string> configuration;  // "engine.profile: vllm -> sglang"
  std::vector<PointChange> points;         // points that differ
  std::size_t same = 0;                    // number of points that do not differ
};

// InputError: no answers of this format (`first` and `second` name them in messages).
AnswerDiff diff_answers(const nlohmann::ordered_json& before, const nlohmann::ordered_json& after,
                        const std::string& first, const std::string& second);
nlohmann::ordered_json to_json(const AnswerDiff& diff);

}  // namespace orrery
