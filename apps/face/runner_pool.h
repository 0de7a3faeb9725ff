// Runners for the calls of many threads, which keep the facts that they have read.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "orrery/scenario/runner/runner.h"

namespace orrery::face {

class RunnerPool {
 public:
  // A runner for one call. It goes back to the pool unless it has read files, which may change
  // before the next call, or has answered many calls, whose facts would fill the memory.
  class Lease {
   public:
    ~Lease();
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    Runner& runner() { return *runner_; }

   private:
    friend class RunnerPool;
    Lease(RunnerPool* pool, std::unique_ptr<Runner> runner, int calls)
        : pool_(pool), runner_(std::move(runner)), calls_(calls) {}
    RunnerPool* pool_;  // null: it does not go back
    std::unique_ptr<Runner> runner_;
    int calls_;
  };

  // `document`: the question. A text in it that is the path of a file is taken for one that will be
  // read.
  Lease take(const Node& document);
  // A runner with a folder of facts laid over the bundled ones.
  static Lease with_catalog(const std::string& folder);

 private:
  struct Kept {
    std::unique_ptr<Runner> runner;
    int calls = 0;
  };
  std::mutex mutex_;
  std::vector<Kept> kept_;
};

}  // namespace orrery::face
