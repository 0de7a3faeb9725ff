// The load of a plan in numbers: its rate, and the mean lengths of its requests.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "orrery/planner/bound/thinned_load.h"
#include "orrery/planner/question/plan_question.h"
#include "orrery/scenario/kinds/service/service_question.h"

namespace orrery {

struct PlannedLoad {
  double rate = 0;          // requests/s; 0: the question seeks it, or all requests come at once
  double isl = 1, osl = 1;  // mean tokens of a prompt, of an output
  std::int64_t requests = 0, longest = 0;  // tokens of the longest request, prompt and output
  bool equal = false;                      // all requests have these lengths
  bool shares_prompts = false;   // prompts may repeat others, so that caches may shorten prefill
  bool repeats_prompts = false;  // some prompts do begin as others
  // The part of a long trace with which fleets are tried; null: all of the load is.
  std::shared_ptr<const RequestLoad> part = nullptr;
};

// Reads or generates the load. Adds what a trace leaves out, and its part, to `notes`. InputError:
// as load_of().
PlannedLoad planned_load(const ServiceQuestion& service, std::vector<std::string>& notes);

}  // namespace orrery
