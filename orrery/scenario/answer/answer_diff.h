// What changed between two answers, and which term caused it.
//
// The answers are JSON as `orrery run -o json` writes it, with a breakdown. Points are paired by
// where they are (their swept values); the rows of the breakdown by phase, name and part.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace orrery {

struct ValueChange {
  std::string name, unit;
  double before = 0, after = 0;  // 0: absent
  bool beyond = false;           // the 90 % intervals do not touch
  double relative() const { return before != 0 ? after / before - 1 : 0; }
};

struct PointChange {
  std::string at;  // "isl=1024 batch=8"; "only in the first", "only in the second" where unpaired
  std::vector<ValueChange> metrics;  // those that differ
  std::vector<ValueChange> terms;    // rows of the breakdown (us) and of memory (GB), largest first
  std::string feasibility;           // "fits -> does not fit"; empty: as before
};

struct AnswerDiff {
  std::vector<std::string> configuration;  // "engine.profile: vllm -> sglang"
  std::vector<PointChange> points;         // those that differ
  std::size_t same = 0;                    // points that do not
};

// InputError: no answers of this format (`first` and `second` name them in messages).
AnswerDiff diff_answers(const nlohmann::ordered_json& before, const nlohmann::ordered_json& after,
                        const std::string& first, const std::string& second);
nlohmann::ordered_json to_json(const AnswerDiff& diff);

}  // namespace orrery
