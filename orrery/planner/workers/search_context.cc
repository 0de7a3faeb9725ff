#include "orrery/planner/workers/search_context.h"

#include "orrery/base/error.h"
#include "orrery/planner/store/point_bytes.h"

namespace orrery {

SearchContext::SearchContext(const With& with) : with_(with) {
  if (with_.ranks != nullptr && with_.ranks->size() == 1) with_.ranks = nullptr;
  if (!first()) {
    helper_.emplace(*with_.ranks);
    with_.store = nullptr, with_.watcher = nullptr;
  }
}

SearchContext::~SearchContext() {
  dealer_.reset();
  if (shared() && first()) end_search(*with_.ranks);
}

std::optional<std::string> SearchContext::find(const std::string& key) {
  const std::scoped_lock lock(mutex_);
  if (const auto it = known_.find(key); it != known_.end()) return it->second;
  if (with_.store == nullptr) return std::nullopt;
  auto found = with_.store->kept(key);
  if (found && shared()) {
    known_.emplace(key, *found);
    of_stage_.emplace_back(key, *found);
  }
  return found;
}

void SearchContext::keep(const std::string& key, const std::string& value) {
  const std::scoped_lock lock(mutex_);
  if (shared() && known_.emplace(key, value).second) of_stage_.emplace_back(key, value);
  if (with_.store != nullptr) with_.store->keep(key, value);
}

std::string SearchContext::value(const Text& key_of, const Text& compute) {
  check();
  if (dealer_) dealer_->look();
  if (!keeps()) {
    ++state_.computed;
    return compute();
  }
  const std::string key = key_of();
  auto known = find(key);
  const bool helps = helper_ && helper_->working();
  if (!known && helps) known = helper_->ask(key);
  if (known) {
    ++state_.known;
    return std::move(*known);
  }
  std::string value = compute();
  ++state_.computed;
  keep(key, value);
  if (helps) helper_->tell(key, value);
  show();
  return value;
}

Point SearchContext::point(const Text& key, const std::function<Point()>& compute) {
  if (!keeps()) {
    check();
    Point out = compute();
    ++state_.computed;
    show();
    return out;
  }
  const std::string value = this->value(key, [&] {
    ValueWriter out;
    try {
      const Point p = compute();
      out.text("");
      write(out, p);
    } catch (const Infeasible& e) {
      out.text(*e.what() == '\0' ? "infeasible" : e.what());
    }
    return out.take();
  });
  ValueReader in(value);
  if (const std::string why = in.text(); !why.empty()) throw Infeasible(why);
  return read_point(in);
}

void SearchContext::together(const std::string& stage, std::size_t tasks, const Task& task,
                             const std::function<void()>& through, Deal deal) {
  state_.stage = stage, state_.done = 0, state_.all = static_cast<std::int64_t>(tasks);
  show();
  if (!shared() || alone_) return through();
  ++stages_;
  if (helper_) {
    for (auto& [key, value] : helper_->work(stages_, task)) known_.emplace(key, std::move(value));
    return through();
  }
  of_stage_.clear();
  task_ = task;
  Dealer::Results& results = *this;
  dealer_ = std::make_unique<Dealer>(*with_.ranks, results, stages_, tasks, deal);
  try {
    through();
  } catch (...) {
    // Whatever it is, rank 0 goes on alone.
    dealer_->close({}, true);
    dealer_.reset();
    with_.ranks = nullptr;
    throw;
  }
  dealer_->close(of_stage_, stopped_);
  dealer_.reset();
  if (stopped_) with_.ranks = nullptr;
}

void SearchContext::reach(std::size_t task) {
  check();
  state_.done = static_cast<std::int64_t>(task);
  show();
  if (dealer_) dealer_->reach(task, task_, [this] { check(); });
}

void SearchContext::hint(double value) {
  if (dealer_) dealer_->hint(value);
}

void SearchContext::tell(std::int64_t survivors, const std::string& best) {
  state_.survivors = survivors;
  if (!best.empty()) state_.best = best;
}

void SearchContext::answer_alone() {
  if (!first()) throw SearchOver();
  alone_ = true;
}

void SearchContext::check() {
  if (finishing_ || with_.watcher == nullptr || !with_.watcher->stops()) return;
  stopped_ = true;
  throw Stopped();
}

void SearchContext::show() {
  if (with_.watcher != nullptr) with_.watcher->see(state_);
}

}  // namespace orrery
