#include <deque>
#include <mutex>

#include "orrery/planner/workers/ranks.h"

namespace orrery {
namespace {

// The messages to one rank.
struct Inbox {
  std::mutex mutex;
  std::deque<Ranks::Message> messages;
};
using Inboxes = std::vector<Inbox>;

class ThreadRank : public Ranks {
 public:
  ThreadRank(int rank, std::shared_ptr<Inboxes> all) : rank_(rank), all_(std::move(all)) {}

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(all_->size()); }
  void send(int to, std::string text) override {
    Inbox& box = all_->at(static_cast<std::size_t>(to));
    const std::scoped_lock lock(box.mutex);
    box.messages.push_back({rank_, std::move(text)});
  }
  std::optional<Message> receive() override {
    Inbox& box = all_->at(static_cast<std::size_t>(rank_));
    const std::scoped_lock lock(box.mutex);
    if (box.messages.empty()) return std::nullopt;
    Message out = std::move(box.messages.front());
    box.messages.pop_front();
    return out;
  }

 private:
  int rank_;
  std::shared_ptr<Inboxes> all_;
};

}  // namespace

std::vector<std::unique_ptr<Ranks>> thread_ranks(int size) {
  const auto all = std::make_shared<Inboxes>(static_cast<std::size_t>(size));
  std::vector<std::unique_ptr<Ranks>> out;
  for (int rank = 0; rank < size; ++rank) out.push_back(std::make_unique<ThreadRank>(rank, all));
  return out;
}

}  // namespace orrery
