// The context of a search: the store of results that are already known, the other ranks that
// compute results, and the watcher that follows and may stop the search.
//
// A search asks the context for each result, by a key (store/result_key.h) and a function that
// computes it. Where the value comes from changes nothing: the answer has the same bytes with and
// without a store, on any number of ranks.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "orrery/planner/store/result_store.h"
#include "orrery/planner/workers/dealer.h"
#include "orrery/scenario/answer/answer.h"
#include "orrery/scenario/answer/search_watcher.h"

namespace orrery {

class SearchContext : private Dealer::Results {
 public:
  // Any of them may be absent, and all outlive the context. The store is rank 0's.
  struct With {
    ResultStore* store = nullptr;
    SearchWatcher* watcher = nullptr;
    Ranks* ranks = nullptr;
  };
  SearchContext() = default;
  explicit SearchContext(const With& with);
  // Tells other ranks that the search is over.
  ~SearchContext() override;
  SearchContext(const SearchContext&) = delete;
  SearchContext& operator=(const SearchContext&) = delete;

  // Uses a store from now on; null: none.
  void keep_in(ResultStore* store) { with_.store = store; }

  using Text = std::function<std::string()>;
  // The value of a key. Stopped: the watcher ends the search.
  std::string value(const Text& key, const Text& compute);
  // The same for a point; an Infeasible of `compute` is a result, too.
  Point point(const Text& key, const std::function<Point()>& compute);
  // Whether values are kept or shared. Otherwise every call computes, and no key is made.
  bool keeps() const { return with_.store != nullptr || shared(); }

  // A stage of the search: `through` goes through its tasks in order, and calls reach(i) before it
  // asks for results of task i. Where there are other ranks, `task` asks for results that task i
  // probably needs; it changes nothing else.
  void together(const std::string& stage, std::size_t tasks, const Task& task,
                const std::function<void()>& through, Deal deal = Deal::kInOrder);
  void reach(std::size_t task);
  // The value that candidates must beat, for tasks that are dealt from now on.
  void hint(double value);
  // Tells the watcher how many candidates are left, and the best plan so far.
  void tell(std::int64_t survivors, const std::string& best);

  // A search begins, on all ranks.
  void begin() { alone_ = false; }
  // Only rank 0 goes on with this search. SearchOver: this is another one.
  void answer_alone();
  // Whether the watcher has ended the search. After finish() it is no longer asked, so that what is
  // left of the search ends with what it has.
  bool stopped() const { return stopped_; }
  void finish() { finishing_ = true; }
  // Throws Stopped if the watcher ends the search.
  void check();

 private:
  bool shared() const { return with_.ranks != nullptr; }
  bool first() const { return !shared() || with_.ranks->rank() == 0; }
  std::optional<std::string> find(const std::string& key) override;
  void keep(const std::string& key, const std::string& value) override;
  bool asked() const override { return with_.store != nullptr; }
  void show();

  With with_;
  std::mutex mutex_;  // guards what follows on rank 0, where the dealing thread uses it
  std::unordered_map<std::string, std::string> known_;
  KeptResults of_stage_;
  std::uint64_t stages_ = 0;
  Task task_;                       // of the stage that is gone through
  std::unique_ptr<Dealer> dealer_;  // of the stage, on rank 0
  std::optional<Helper> helper_;    // on other ranks
  SearchState state_;
  bool alone_ = false, stopped_ = false, finishing_ = false;
};

}  // namespace orrery
