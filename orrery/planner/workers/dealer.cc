#include "orrery/planner/workers/dealer.h"

#include <algorithm>
#include <chrono>

#include "orrery/base/error.h"
#include "orrery/planner/store/value_bytes.h"

namespace orrery {
namespace {

// The first number of a message.
enum Kind : std::uint64_t {
  // To rank 0, each with the number of its stage.
  kWant,    // a task; with the number of the one that was done, plus one
  kResult,  // a key and a value
  kAsk,     // a key
  // From rank 0.
  kTask,   // its number, a hint, and whether to ask for results
  kFound,  // the value of what was asked, or nothing
  kOver,   // the stage; with its results
  kEnd,    // the search
};

// Time between two looks for messages: of the thread that deals, beside which rank 0 works on the
// same core, and of another rank, whose core has nothing else to do.
constexpr std::chrono::microseconds kDealersNap(500), kNap(100);

ValueWriter message(Kind kind) {
  ValueWriter out;
  out.number(kind);
  return out;
}

}  // namespace

Dealer::Dealer(Ranks& ranks, Results& results, std::uint64_t stage, std::size_t tasks, Deal deal)
    : ranks_(ranks),
      results_(results),
      stage_(stage),
      deal_(deal),
      tasks_(tasks, Status::kFree),
      begun_(tasks, false),
      last_(tasks) {
  thread_ = std::thread([this] { answer(); });
}

Dealer::~Dealer() {
  closing_ = true;
  if (thread_.joinable()) thread_.join();
}

std::optional<std::size_t> Dealer::take_free() {
  while (next_ < tasks_.size() && tasks_[next_] != Status::kFree) ++next_;
  if (next_ == tasks_.size()) return std::nullopt;
  tasks_[next_] = Status::kTaken;
  return next_++;
}

std::optional<std::size_t> Dealer::take_last() {
  while (last_ > 0 && tasks_[last_ - 1] != Status::kFree) --last_;
  if (last_ == 0) return std::nullopt;
  tasks_[--last_] = Status::kTaken;
  return last_;
}

void Dealer::answer() {
  while (!closing_) {
    const auto message = ranks_.receive();
    message ? answer(*message) : std::this_thread::sleep_for(kDealersNap);
  }
}

void Dealer::answer(const Ranks::Message& got) {
  ValueReader in(got.text);
  const std::uint64_t kind = in.number();
  const bool of_this = in.number() == stage_;
  if (kind == kResult) {
    const std::string key = in.text();
    results_.keep(key, in.text());
  } else if (kind == kAsk && of_this) {
    const auto value = results_.find(in.text());
    ValueWriter out = message(kFound);
    out.number(value ? 1 : 0);
    out.text(value.value_or(""));
    ranks_.send(got.from, out.take());
  } else if (kind == kWant && of_this) {
    ValueWriter out = message(kTask);
    const std::scoped_lock lock(mutex_);
    if (const std::uint64_t before = in.number(); before > 0) {
      tasks_.at(before - 1) = Status::kDone;
      done_.notify_all();
    }
    const auto task = deal_ == Deal::kFromEnd ? take_last() : take_free();
    if (!task) return;  // it waits until the stage is over
    out.number(*task);
    out.real(hint_);
    out.number(results_.asked() || begun_[*task] ? 1 : 0);
    ranks_.send(got.from, out.take());
  }
}

void Dealer::reach(std::size_t task, const Task& work, const std::function<void()>& wait) {
  std::unique_lock lock(mutex_);
  while (tasks_.at(task) != Status::kDone) {
    std::size_t own = task;
    if (tasks_[task] == Status::kFree) {
      tasks_[task] = Status::kTaken;
    } else if (const auto next = take_free()) {
      own = *next;
    } else {
      done_.wait_for(lock, std::chrono::milliseconds(20));
      lock.unlock();
      wait();
      lock.lock();
      continue;
    }
    const double hint = hint_;
    if (own != task) awaited_ = task;
    lock.unlock();
    bool left = false;
    try {
      work(own, hint);
    } catch (const Left&) {
      left = true;
    } catch (const InputError&) {  // so will the search where it comes to the task
    } catch (const Infeasible&) {
    } catch (const NoData&) {
    }
    lock.lock();
    awaited_.reset();
    tasks_[own] = left ? Status::kFree : Status::kDone;
    if (!left) continue;
    begun_[own] = true;
    next_ = std::min(next_, own), last_ = std::max(last_, own + 1);
  }
}

void Dealer::look() {
  const std::scoped_lock lock(mutex_);
  if (awaited_ && tasks_[*awaited_] == Status::kDone) throw Left();
}

void Dealer::hint(double value) {
  const std::scoped_lock lock(mutex_);
  hint_ = value;
}

void Dealer::close(const KeptResults& results, bool last) {
  closing_ = true;
  thread_.join();
  if (last) return end_search(ranks_);
  ValueWriter out = message(kOver);
  out.number(results.size());
  for (const auto& [key, value] : results) out.text(key), out.text(value);
  const std::string text = out.take();
  for (int to = 1; to < ranks_.size(); ++to) ranks_.send(to, text);
}

void end_search(Ranks& ranks) {
  for (int to = 1; to < ranks.size(); ++to) ranks.send(to, message(kEnd).take());
}

std::string Helper::wait() {
  for (;;) {
    if (auto got = ranks_.receive()) return std::move(got->text);
    std::this_thread::sleep_for(kNap);
  }
}

void Helper::look() {
  if (const auto got = ranks_.receive()) {
    over_ = got->text;
    throw Over();
  }
}

std::optional<std::string> Helper::ask(const std::string& key) {
  look();
  if (!asks_) return std::nullopt;
  ValueWriter out = message(kAsk);
  out.number(stage_);
  out.text(key);
  ranks_.send(0, out.take());
  const std::string got = wait();
  ValueReader in(got);
  if (in.number() != kFound) {
    over_ = got;
    throw Over();
  }
  const bool known = in.number() != 0;
  return known ? std::optional(in.text()) : std::nullopt;
}

void Helper::tell(const std::string& key, const std::string& value) {
  look();
  ValueWriter out = message(kResult);
  out.number(stage_);
  out.text(key), out.text(value);
  ranks_.send(0, out.take());
}

KeptResults Helper::work(std::uint64_t stage, const Task& task) {
  if (ended_) throw SearchOver();
  stage_ = stage;
  over_.reset();
  std::uint64_t done = 0;
  bool wants = true;
  for (;;) {
    if (wants) {
      ValueWriter out = message(kWant);
      out.number(stage), out.number(done);
      ranks_.send(0, out.take());
    }
    const std::string got = over_ ? *std::exchange(over_, std::nullopt) : wait();
    ValueReader in(got);
    const std::uint64_t kind = in.number();
    wants = kind == kTask;
    ended_ = kind == kEnd;
    if (ended_) throw SearchOver();
    if (kind == kOver) {
      KeptResults out;
      for (std::uint64_t n = in.number(); n > 0; --n) {
        std::string key = in.text();
        out.emplace_back(std::move(key), in.text());
      }
      return out;
    }
    if (kind != kTask) continue;
    const std::uint64_t number = in.number();
    const double hint = in.real();
    asks_ = in.number() != 0;
    working_ = true;
    try {
      task(number, hint);
    } catch (const Over&) {
      wants = false;
    } catch (const std::exception&) {  // rank 0 meets it where it comes to the task
    }
    working_ = false;
    done = number + 1;
  }
}

}  // namespace orrery
