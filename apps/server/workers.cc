#include "apps/server/workers.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/close_range.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <stdexcept>

#include "apps/server/asked.h"
#include "apps/server/worker.h"

namespace orrery::server {
namespace {

constexpr std::size_t kMostQuick = 8192;  // quick questions that wait

// The worker's side, from the fork on: it has its socket as descriptor 3, and no other of the
// server's.
[[noreturn]] void become_worker(int socket, bool quick, const Bundle& bundle, bool overlaid,
                                const ServeLimits& limits) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  std::signal(SIGTERM, SIG_DFL);
  dup2(socket, 3);
  close_range(4, ~0U, 0);
  work(3, quick, bundle, overlaid, limits);
  _exit(0);
}

}  // namespace

Workers::Workers(Bundle bundle, bool overlaid, const ServeLimits& limits, Listener& listener,
                 Poll poll)
    : bundle_(std::move(bundle)),
      overlaid_(overlaid),
      limits_(limits),
      listener_(listener),
      poll_(std::move(poll)),
      workers_(limits.quick + limits.parallel) {
  for (std::size_t i = limits.quick; i < workers_.size(); ++i) workers_[i].quick = false;
}

Workers::~Workers() {
  for (Worker& w : workers_) end(w);
}

void Workers::begin() {
  for (Worker& w : workers_) start(w);
}

void Workers::start(Worker& w) {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    throw std::runtime_error("a worker cannot be started: no socket");
  const pid_t pid = fork();
  if (pid < 0) throw std::runtime_error("a worker cannot be started: no process");
  if (pid == 0) become_worker(ends[1], w.quick, bundle_, overlaid_, limits_);
  close(ends[1]);
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  w.pid = pid, w.fd = ends[0];
  w.reader = FrameReader();
  w.sent = 0, w.busy = false;
  w.question = {};
  poll_.watch(w.fd, false);
}

void Workers::end(Worker& w) {
  if (w.pid == 0) return;
  poll_.forget(w.fd);
  close(w.fd);
  kill(w.pid, SIGKILL);
  waitpid(w.pid, nullptr, 0);
  w.pid = 0, w.fd = -1;
}

void Workers::restart(Worker& w) {
  end(w);
  start(w);
}

bool Workers::has(int fd) const {
  return std::any_of(workers_.begin(), workers_.end(),
                     [fd](const Worker& w) { return w.fd == fd; });
}

void Workers::ask(Ticket ticket, std::string frame) {
  if (quick_.size() >= kMostQuick)
    return listener_.answered(ticket, 503,
                              error_json("busy", "too many questions wait; ask again"));
  quick_.push_back({ticket, std::move(frame)});
  deal();
}

void Workers::cancel(Ticket ticket) {
  const auto is = [ticket](const Question& q) { return q.ticket == ticket; };
  std::erase_if(quick_, is);
  std::erase_if(long_, is);
  for (Worker& w : workers_) {
    if (!w.busy || w.question.ticket != ticket) continue;
    if (w.quick) {  // it is done at once anyhow
      w.question.ticket = 0;
    } else {
      restart(w);
    }
  }
  deal();
}

void Workers::queue_long(Question question) {
  if (long_.size() >= limits_.waiting) {
    return listener_.answered(
        question.ticket, 503,
        error_json("busy",
                   fmt::format("{} long questions wait already; ask again later", long_.size())));
  }
  listener_.progressed(
      question.ticket,
      fmt::format("{{\"stage\":\"waiting\",\"done\":0,\"all\":{}}}", long_.size()));
  long_.push_back(std::move(question));
}

void Workers::deal() {
  for (Worker& w : workers_) {
    auto& queue = w.quick ? quick_ : long_;
    if (w.busy || queue.empty()) continue;
    w.question = std::move(queue.front());
    queue.pop_front();
    w.busy = true, w.sent = 0;
    w.since = ServeClock::now();
    send(w);
  }
}

void Workers::send(Worker& w) {
  const std::string& bytes = w.question.frame;
  while (w.sent < bytes.size()) {
    const ssize_t n = ::send(w.fd, bytes.data() + w.sent, bytes.size() - w.sent, MSG_NOSIGNAL);
    if (n <= 0) break;  // full for now; that it is closed is seen by read()
    w.sent += static_cast<std::size_t>(n);
  }
  poll_.watch(w.fd, w.sent < bytes.size());
}

void Workers::serve(int fd) {
  for (Worker& w : workers_) {
    if (w.fd != fd) continue;
    if (w.busy && w.sent < w.question.frame.size()) send(w);
    if (!read(w)) failed(w);
    deal();
    return;
  }
}

bool Workers::read(Worker& w) {
  std::array<char, 1 << 16> bytes;
  while (true) {
    const ssize_t n = recv(w.fd, bytes.data(), bytes.size(), 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return true;
    if (n <= 0) return false;
    w.reader.feed({bytes.data(), static_cast<std::size_t>(n)});
    while (auto frame = w.reader.next()) take(w, std::move(*frame));
    if (w.reader.broken()) return false;
    if (static_cast<std::size_t>(n) < bytes.size()) return true;
  }
}

void Workers::take(Worker& w, Frame frame) {
  const Ticket ticket = w.question.ticket;
  if (frame.kind == 'P') {
    if (ticket != 0) listener_.progressed(ticket, frame.bytes);
    return;
  }
  Question question = std::move(w.question);
  w.question = {};
  w.busy = false;
  if (ticket == 0) return;
  if (frame.kind == 'L') return queue_long(std::move(question));
  const std::string status = frame.bytes.substr(0, 3);
  frame.bytes.erase(0, 3);
  listener_.answered(ticket, std::atoi(status.c_str()), std::move(frame.bytes));
}

// The worker is gone by itself: it ran out of memory, or it has a fault.
void Workers::failed(Worker& w) {
  const Ticket ticket = w.busy ? w.question.ticket : 0;
  restart(w);
  if (ticket != 0)
    listener_.answered(ticket, 500,
                       error_json("internal",
                                  "the question ended its worker: it may need more "
                                  "memory than the server gives one"));
}

void Workers::look(ServeClock::time_point now) {
  for (Worker& w : workers_) {
    if (!w.busy) continue;
    if (w.quick && now - w.since > kQuickTime) {
      Question question = std::move(w.question);
      restart(w);
      if (question.ticket != 0) queue_long(std::move(question));
    } else if (!w.quick && now - w.since > limits_.seconds) {
      const Ticket ticket = w.question.ticket;
      restart(w);
      listener_.answered(
          ticket, 504,
          error_json("limit", fmt::format("ended after {} s; ask for less, or start the server "
                                          "with --max-seconds",
                                          limits_.seconds.count())));
    }
  }
  deal();
}

}  // namespace orrery::server
