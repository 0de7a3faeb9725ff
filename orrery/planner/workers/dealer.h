// Tasks that the ranks of a search share.
//
// A search is the same on every rank. Where it comes to a stage whose results can be computed in
// any order, rank 0 deals out its tasks in their order: a thread answers the other ranks, while
// rank 0 goes through the stage in its own order and works at the tasks that it reaches, or at the
// next ones while another rank still works at one of them. A task asks for results by their keys;
// each one that is computed goes to rank 0 at once. When rank 0 is through, the others get all
// results of the stage, and go through it in the same order without computing anything. The answer
// therefore depends on neither the number of ranks nor their speed: the ranks only decide who
// computes a result, and when.
//
// Neighbouring tasks may have work in common, such as the tables of a GPU. A stage without hints is
// therefore dealt from both ends: the others begin with its last tasks (Deal::kFromEnd).
//
// With each task goes a hint, the value that a candidate must beat as rank 0 knows it then. It
// decides which results a task asks for, and nothing else.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <limits>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "orrery/planner/workers/ranks.h"

namespace orrery {

using KeptResults = std::vector<std::pair<std::string, std::string>>;  // keys and values
using Task = std::function<void(std::size_t task, double hint)>;

// The end of a stage from which tasks are dealt to ranks other than 0.
enum class Deal { kInOrder, kFromEnd };

// Rank 0's side of a stage.
class Dealer {
 public:
  // The results that rank 0 has. The dealing thread calls it, too.
  class Results {
   public:
    virtual ~Results() = default;
    virtual std::optional<std::string> find(const std::string& key) = 0;
    virtual void keep(const std::string& key, const std::string& value) = 0;
    // Whether others should ask for a result before they compute it. They do where rank 0 has begun
    // the task.
    virtual bool asked() const = 0;
  };

  Dealer(Ranks& ranks, Results& results, std::uint64_t stage, std::size_t tasks, Deal deal);
  ~Dealer();

  // Returns when a task has been done, here or elsewhere. `wait` is called while another rank works
  // at it and no task is left; it may throw.
  void reach(std::size_t task, const Task& work, const std::function<void()>& wait);
  // Within a task that reach() has taken while another rank works at the one it is to reach: leaves
  // it if that one is done.
  void look();
  void hint(double value);
  // The stage is over: sends its results to all. `last`: so is the search.
  void close(const KeptResults& results, bool last);

 private:
  enum class Status { kFree, kTaken, kDone };
  struct Left {};  // leaves a task
  void answer();
  void answer(const Ranks::Message& message);
  std::optional<std::size_t> take_free();
  std::optional<std::size_t> take_last();

  Ranks& ranks_;
  Results& results_;
  const std::uint64_t stage_;
  const Deal deal_;
  std::mutex mutex_;
  std::condition_variable done_;
  std::vector<Status> tasks_;
  std::vector<bool> begun_;             // left by rank 0, which has some of their results
  std::size_t next_ = 0;                // all tasks before it are taken or done
  std::size_t last_;                    // and all from here on
  std::optional<std::size_t> awaited_;  // while rank 0 works at another one
  double hint_ = std::numeric_limits<double>::infinity();
  std::atomic<bool> closing_ = false;
  std::thread thread_;
};

// Sends all other ranks the end of the search.
void end_search(Ranks& ranks);

// The search is over for this rank, which is not rank 0.
class SearchOver : public std::runtime_error {
 public:
  SearchOver() : std::runtime_error("the search is over for this rank") {}
};

// The side of another rank.
class Helper {
 public:
  explicit Helper(Ranks& ranks) : ranks_(ranks) {}

  // Works at tasks of a stage until it is over. Returns all of its results. SearchOver: the search
  // is over.
  KeptResults work(std::uint64_t stage, const Task& task);
  // Within a task: what rank 0 knows of a key, and a result for it. Both leave the task when the
  // stage is over.
  std::optional<std::string> ask(const std::string& key);
  void tell(const std::string& key, const std::string& value);
  bool working() const { return working_; }

 private:
  struct Over {};  // leaves a task
  std::string wait();
  void look();

  Ranks& ranks_;
  std::uint64_t stage_ = 0;
  bool working_ = false, asks_ = false, ended_ = false;
  std::optional<std::string> over_;  // the message that ended the stage, read within a task
};

}  // namespace orrery
