// Keys of the results of one plan's question (store/result_key.h).
//
// The document of the question is made once for each type of GPU, without what its results differ
// in: the rate, the number and the seed of requests of a service, and the lists from which GPUs,
// formats and layouts are chosen. Plans that differ in these alone share results.
#pragma once

#include <map>
#include <string>

#include "orrery/scenario/question/scenario.h"

namespace orrery {

class QuestionKeys {
 public:
  // Borrows it. REQUIRES a PlanQuestion.
  explicit QuestionKeys(const Scenario& question) : question_(question) {}

  // `what` says what the document does not.
  std::string key(const std::string& what, const std::string& gpu);

 private:
  const Scenario& question_;
  std::map<std::string, std::string> documents_;  // by GPU
};

}  // namespace orrery
