// How many parts of a long work are done, for a face that shows it. Threads that work add to it
// while another one looks.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace orrery {

struct PartMeter {
  std::atomic<std::int64_t> done = 0, all = 0;
};

// Adds to a meter that nobody may look at, which is null then.
inline void expect_parts(PartMeter* meter, std::size_t parts) {
  if (meter != nullptr) meter->all += static_cast<std::int64_t>(parts);
}
inline void finish_parts(PartMeter* meter, std::size_t parts = 1) {
  if (meter != nullptr) meter->done += static_cast<std::int64_t>(parts);
}

}  // namespace orrery
