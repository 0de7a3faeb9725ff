#include "orrery/scenario/kinds/service/side_by_side.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <vector>

namespace orrery {

void side_by_side(std::span<const Job> jobs, std::int64_t requests) {
  constexpr std::int64_t kRequestsAtOnce = 4'000'000;
  const auto most = static_cast<std::size_t>(
      std::max<std::int64_t>(1, kRequestsAtOnce / std::max<std::int64_t>(1, requests)));
  std::vector<std::exception_ptr> thrown(jobs.size());
  std::atomic<std::size_t> next = 0;
  tbb::parallel_for(std::size_t{0}, std::min(most, jobs.size()), [&](std::size_t) {
    for (std::size_t i; (i = next++) < jobs.size();) {
      try {
        jobs[i]();
      } catch (...) {
        thrown[i] = std::current_exception();
      }
    }
  });
  for (const std::exception_ptr& e : thrown) {
    if (e) std::rethrow_exception(e);
  }
}

}  // namespace orrery
