// The requests of a load that are counted, and the service levels that they must meet (SLO).
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "orrery/serving/requests/request.h"

namespace orrery {

struct TimeLimits {
  Seconds ttft, tpot, e2e;  // 0: none

  static bool kept(Seconds limit, Seconds time) { return limit <= Seconds(0) || time <= limit; }
  bool kept_by(const RequestRecord& q) const {
    return kept(ttft, q.ttft()) && kept(e2e, q.e2e()) && (q.output < 2 || kept(tpot, q.tpot()));
  }
};

// Requests with limits of their own: those of at most so many tokens, or of a priority, that are in
// no class before this one.
struct SloClass : TimeLimits {
  std::string name;
  std::int64_t isl = 0, osl = 0;         // longest prompt and output; 0: any
  std::optional<std::int64_t> priority;  // none: any
  double percentile = 99;                // share of the class that must meet each limit

  bool has(const RequestRecord& q) const {
    return (isl == 0 || q.input <= isl) && (osl == 0 || q.output <= osl) &&
           (!priority || *priority == q.priority);
  }
};

struct ServiceLevels : TimeLimits {
  double percentile = 99;  // share of requests that must meet each limit, unless it has its own
  std::optional<double> ttft_percentile, tpot_percentile, e2e_percentile;
  std::vector<SloClass> classes;  // with limits besides these

  bool any() const {
    return ttft > Seconds(0) || tpot > Seconds(0) || e2e > Seconds(0) || !classes.empty();
  }
};

// Requests at the start and at the end of a load that are not counted.
struct Margins {
  std::int64_t warmup = 0, cooldown = 0;

  std::span<const RequestRecord> counted(std::span<const RequestRecord> all) const {
    const std::size_t first = std::min(static_cast<std::size_t>(warmup), all.size());
    return all.subspan(
        first,
        all.size() - std::min(static_cast<std::size_t>(cooldown), all.size() - first) - first);
  }
};

}  // namespace orrery
