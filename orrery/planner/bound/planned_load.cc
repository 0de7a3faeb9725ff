#include "orrery/planner/bound/planned_load.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "orrery/base/error.h"
#include "orrery/scenario/kinds/service/service_question.h"

namespace orrery {

namespace {

// Whether two prompts have their first id in common.
bool repeats_prompts(const RequestLoad& load) {
  std::unordered_set<std::uint64_t> first;
  for (const Request& r : load.requests)
    if (r.ids > 0 && !first.insert(load.ids[r.first_id]).second) return true;
  return false;
}

}  // namespace

PlannedLoad planned_load(const ServiceQuestion& service, std::vector<std::string>& notes) {
  if (service.max_concurrency > 0)
    throw InputError("plan: a load with max_concurrency has no rate of arrivals to plan for");
  bool rated = false;
  const RequestLoad load = load_of(service, service.rate, notes, &rated);
  PlannedLoad out;
  const auto n = static_cast<double>(load.requests.size());
  double input = 0, output = 0;
  SimTime last;
  out.equal = true;
  for (const Request& r : load.requests) {
    input += r.input, output += r.output;
    out.longest = std::max<std::int64_t>(out.longest, r.input + r.output);
    last = std::max(last, r.arrival);
    const Request& first = load.requests.front();
    out.equal &= r.input == first.input && r.output == first.output;
  }
  out.requests = static_cast<std::int64_t>(load.requests.size());
  out.isl = input / n, out.osl = output / n;
  if (rated) {
    out.rate = service.rate;
  } else if (last.seconds() > 0) {
    out.rate = (n - 1) / last.seconds();
  }
  out.shares_prompts = !service.trace.empty() || service.shared_prefix > 0 || service.samples > 1 ||
                       service.turns != "1";
  out.repeats_prompts = repeats_prompts(load);
  if (service.trace.empty() || out.rate <= 0) return out;
  if (std::optional<ThinnedLoad> part = thinned(load)) {
    notes.push_back(fmt::format(
        "of the {} requests of {} fleets are first tried with {}, in {} stretches from all of it",
        out.requests, service.trace, part->load.requests.size(), part->stretches));
    out.part = std::make_shared<RequestLoad>(std::move(part->load));
  }
  return out;
}

}  // namespace orrery
