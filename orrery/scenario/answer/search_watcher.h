// Who looks at a search while it works, and may end it.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace orrery {

// How far a search is.
struct SearchState {
  std::string stage;           // "bounds of engines", "fleets", "layouts", "proof"
  std::int64_t done = 0;       // parts of the stage that have been looked at
  std::int64_t all = 0;        // parts of the stage
  std::int64_t computed = 0;   // results so far, of all stages
  std::int64_t known = 0;      // results that need not be computed, because they are kept
  std::int64_t survivors = 0;  // candidates that are not left out yet
  std::string best;            // the best plan so far; empty: none
};

class SearchWatcher {
 public:
  virtual ~SearchWatcher() = default;
  // Called often, from the thread that searches.
  virtual void see(const SearchState& state) = 0;
  // Whether to end with the best plan so far. Asked before each result.
  virtual bool stops() = 0;
};

// A search was ended before it had a plan.
class Stopped : public std::runtime_error {
 public:
  Stopped() : std::runtime_error("ended before a plan was found") {}
};

}  // namespace orrery
