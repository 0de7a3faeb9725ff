// The worker processes of a server. Some answer quick questions, the others long ones, so that a
// quick question never waits for a long one.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "apps/server/frames.h"
#include "apps/server/limits.h"
#include "orrery/base/bundle.h"

namespace orrery::server {

using Ticket = std::uint64_t;  // of a question that was handed in
using ServeClock = std::chrono::steady_clock;

class Workers {
 public:
  // Receives the progress and the answers of questions.
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void progressed(Ticket ticket, const std::string& json) = 0;
    virtual void answered(Ticket ticket, int status, std::string body) = 0;
  };
  // Watches and forgets descriptors of workers; the key comes back with an event.
  struct Poll {
    std::function<void(int fd, bool writes)> watch;
    std::function<void(int fd)> forget;
  };

  // The listener and the poll outlive the workers.
  Workers(Bundle bundle, bool overlaid, const ServeLimits& limits, Listener& listener, Poll poll);
  ~Workers();  // ends all workers
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // Starts the workers.
  void begin();
  // Hands a question in; `frame` is the bytes of a 'Q'.
  void ask(Ticket ticket, std::string frame);
  // The question is no longer of interest. A worker that has it is ended.
  void cancel(Ticket ticket);
  // A descriptor of a worker has bytes, takes bytes, or is closed.
  void serve(int fd);
  // Ends workers whose questions take too long.
  void look(ServeClock::time_point now);
  bool has(int fd) const;

 private:
  struct Question {
    Ticket ticket = 0;
    std::string frame;
  };
  struct Worker {
    pid_t pid = 0;
    int fd = -1;
    bool quick = true, busy = false;
    Question question;
    ServeClock::time_point since;
    FrameReader reader;
    std::size_t sent = 0;  // of the question's frame
  };
  void start(Worker& worker);
  void end(Worker& worker);
  void restart(Worker& worker);
  void deal();
  void send(Worker& worker);
  void queue_long(Question question);
  bool read(Worker& worker);
  void take(Worker& worker, Frame frame);
  void failed(Worker& worker);

  Bundle bundle_;
  bool overlaid_;
  const ServeLimits& limits_;
  Listener& listener_;
  Poll poll_;
  std::vector<Worker> workers_;
  std::deque<Question> quick_, long_;
};

}  // namespace orrery::server
