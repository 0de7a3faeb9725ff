#include "orrery/planner/space/question_keys.h"

#include "orrery/planner/question/plan_question.h"
#include "orrery/planner/store/result_key.h"

namespace orrery {

std::string QuestionKeys::key(const std::string& what, const std::string& gpu) {
  std::string& document = documents_[gpu];
  if (document.empty()) {
    Scenario s = question_;
    auto& q = planned(s);
    const PlanChoice none;
    if (q.training) {
      q.choice.gpus = 0;
      q.choice.gpu_counts.clear();
      q.choice.formats = none.formats;
      for (auto* sizes : {&q.choice.tp, &q.choice.cp, &q.choice.pp}) sizes->clear();
    } else {
      q.choice = none;
      q.service.rate = 1, q.service.time_scale = 1;
      q.service.seed = 0;
      q.service.requests.reset();
    }
    q.choice.gpu = {gpu};
    document = canonical_text(s);
  }
  return what + "\n" + document;
}

}  // namespace orrery
