#include "apps/server/server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <utility>

#include "apps/server/asked.h"
#include "apps/server/connection.h"
#include "apps/server/http_reply.h"
#include "apps/server/pages.h"
#include "apps/server/workers.h"
#include "orrery/base/error.h"
#include "orrery/base/index.h"

namespace orrery::server {
namespace {

using std::chrono::seconds;

constexpr seconds kHeadTime(10), kBodyTime(30), kIdleTime(75), kSendTime(30), kEndTime(2);
constexpr std::size_t kMostHeld = 512u << 20;  // bytes for all connections
constexpr std::string_view kApi = "/api/v1/";

// A socket that listens on the address, and the port that it has.
int listen_on(const std::string& host, int& port) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_flags = AI_NUMERICSERV | AI_PASSIVE;
  hints.ai_socktype = SOCK_STREAM;
  const std::string service = std::to_string(port);
  if (getaddrinfo(host.c_str(), service.c_str(), &hints, &found) != 0)
    throw InputError(fmt::format("--host {}: no such address", host));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owned(found, freeaddrinfo);
  const int fd = socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (fd < 0 || bind(fd, found->ai_addr, found->ai_addrlen) != 0 || listen(fd, 4096) != 0) {
    const std::string why = std::strerror(errno);
    if (fd >= 0) close(fd);
    throw InputError(fmt::format("cannot listen on {} port {}: {}", host, port, why));
  }
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &size);
  port = ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&bound)->sin6_port
                                           : reinterpret_cast<sockaddr_in*>(&bound)->sin_port);
  return fd;
}

class Server : private Workers::Listener {
 public:
  Server(const Bundle& bundle, const ServeOptions& options)
      : options_(options),
        pages_(bundle, options.limits),
        poll_(epoll_create1(EPOLL_CLOEXEC)),
        workers_(bundle, options.overlaid, options_.limits, *this,
                 {[this](int fd, bool writes) { watch(fd, writes); },
                  [this](int fd) { epoll_ctl(poll_, EPOLL_CTL_DEL, fd, nullptr); }}) {}
  ~Server() override {
    for (const auto& [fd, c] : connections_) close(fd);
    if (listener_ >= 0) close(listener_);
    close(poll_);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  void run() {
    rlimit files{};
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigprocmask(SIG_BLOCK, &ends, nullptr);
    std::signal(SIGPIPE, SIG_IGN);
    int port = options_.port;
    listener_ = listen_on(options_.host, port);
    workers_.begin();
    const int signals = signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
    watch(signals, false);
    watch(listener_, false);
    const bool v6 = options_.host.find(':') != std::string::npos;
    fmt::print("orrery serves on http://{}{}{}:{}/\n", v6 ? "[" : "", options_.host, v6 ? "]" : "",
               port);
    std::fflush(stdout);
    std::array<epoll_event, 256> events;
    auto looked = ServeClock::now();
    for (bool ended = false; !ended;) {
      const int n = epoll_wait(poll_, events.data(), static_cast<int>(events.size()), 200);
      for (int i = 0; i < n; ++i) {
        const epoll_event& e = events[index(i)];
        if (e.data.fd == signals) {
          ended = true;
        } else if (e.data.fd == listener_) {
          accept_all();
        } else if (workers_.has(e.data.fd)) {
          workers_.serve(e.data.fd);
        } else {
          serve_client(e.data.fd, e.events);
        }
        flush();
      }
      if (const auto now = ServeClock::now(); now - looked > std::chrono::milliseconds(200)) {
        looked = now;
        look(now);
        flush();
      }
    }
    close(signals);
  }

 private:
  void watch(int fd, bool writes) {
    epoll_event event{};
    event.events = EPOLLIN | EPOLLRDHUP | (writes ? EPOLLOUT : 0u);
    event.data.fd = fd;
    if (epoll_ctl(poll_, EPOLL_CTL_MOD, fd, &event) != 0)
      epoll_ctl(poll_, EPOLL_CTL_ADD, fd, &event);
  }

  // ---- connections ----

  void accept_all() {
    for (int k = 0; k < 64; ++k) {
      const int fd = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (fd < 0) return;
      if (connections_.size() >= options_.limits.connections && !give_way()) {
        close(fd);
        continue;
      }
      const int on = 1;
      setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      auto c = std::make_unique<Connection>(fd, options_.limits.body);
      c->since = c->began = ServeClock::now();
      connections_[fd] = std::move(c);
      watch(fd, false);
    }
  }

  // Ends the connection that has waited longest without a question.
  bool give_way() {
    Connection* oldest = nullptr;
    for (const auto& [fd, c] : connections_) {
      if (c->state == Connection::State::kWaiting) continue;
      if (oldest == nullptr || c->since < oldest->since) oldest = c.get();
    }
    if (oldest == nullptr) return false;
    drop(*oldest);
    return true;
  }

  void drop(Connection& c) {
    if (c.ticket != 0) {
      clients_.erase(c.ticket);
      workers_.cancel(c.ticket);
    }
    epoll_ctl(poll_, EPOLL_CTL_DEL, c.fd, nullptr);
    close(c.fd);
    connections_.erase(c.fd);
  }

  void serve_client(int fd, std::uint32_t events) {
    const auto at = connections_.find(fd);
    if (at == connections_.end()) return;
    Connection& c = *at->second;
    if ((events & EPOLLOUT) != 0 && !send_some(c)) return;
    if ((events & EPOLLIN) != 0 && !receive(c)) return;
    if ((events & (EPOLLHUP | EPOLLERR)) != 0) return drop(c);
    if ((events & EPOLLRDHUP) != 0 && c.state != Connection::State::kEnding) drop(c);
  }

  // False: the connection is gone.
  bool receive(Connection& c) {
    std::array<char, 1 << 16> bytes;
    const ssize_t n = recv(c.fd, bytes.data(), bytes.size(), 0);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return true;
    if (n <= 0) {
      drop(c);
      return false;
    }
    if (c.state == Connection::State::kEnding) return true;  // thrown away
    if (!c.reader.begun()) c.began = ServeClock::now();
    c.since = ServeClock::now();
    c.reader.feed({bytes.data(), static_cast<std::size_t>(n)});
    // A client that sends on while it is answered is not read further than this.
    if (c.state == Connection::State::kWaiting) {
      if (c.reader.buffered() < options_.limits.body + (1u << 18)) return true;
      drop(c);
      return false;
    }
    return go_on(c);
  }

  // Answers the requests that have come. False: the connection is gone.
  bool go_on(Connection& c) {
    while (c.state == Connection::State::kReading && !c.sends()) {
      auto request = c.reader.next();
      if (request) {
        c.keep_alive = request->keep_alive;
        answer(c, *request);
        if (!send_some(c)) return false;
        continue;
      }
      if (const auto& refusal = c.reader.refusal()) {
        c.keep_alive = false;
        refuse(c, *refusal);
        return send_some(c);
      }
      if (c.reader.wants_continue()) {
        c.out += "HTTP/1.1 100 Continue\r\n\r\n";
        if (!send_some(c)) return false;
        continue;
      }
      break;
    }
    return true;
  }

  bool send_some(Connection& c) {
    while (c.sends()) {
      const ssize_t n = send(c.fd, c.out.data() + c.sent, c.out.size() - c.sent, MSG_NOSIGNAL);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
      if (n <= 0) {
        drop(c);
        return false;
      }
      c.since = ServeClock::now();
      c.sent += static_cast<std::size_t>(n);
    }
    const bool rest = c.sends();
    if (!rest) {
      c.out.clear();
      if (c.out.capacity() > (1u << 16)) c.out.shrink_to_fit();
      c.sent = 0;
      if (c.state == Connection::State::kEnding) shutdown(c.fd, SHUT_WR);
    }
    if (rest != c.watched_for_write) {
      c.watched_for_write = rest;
      watch(c.fd, rest);
      if (!rest) return go_on(c);
    }
    return true;
  }

  // ---- replies ----

  void reply(Connection& c, const HttpHead& head, std::string_view body) {
    HttpHead own = head;
    own.keep_alive = c.keep_alive;
    c.out += head_bytes(own, body.size());
    c.out += body;
    c.state = c.keep_alive ? Connection::State::kReading : Connection::State::kEnding;
  }

  void refuse(Connection& c, const Refusal& refusal) {
    HttpHead head;
    head.status = refusal.status;
    if (refusal.status == 503) head.headers.emplace_back("Retry-After", "5");
    reply(c, head, error_json(refusal.kind, refusal.message));
  }

  void answer(Connection& c, const HttpRequest& request) {
    Refusal store;
    if (const Refusal* refusal = find_refusal(request, options_.names, store)) {
      c.keep_alive = false;
      return refuse(c, *refusal);
    }
    if (request.method == "GET" || request.method == "HEAD") return answer_get(c, request);
    if (!request.path.starts_with(kApi) || !view_of(request.path.substr(kApi.size())))
      return refuse(c, {404, "not_found", "no such verb; /api/v1/openapi.json lists them"});
    if (request.method != "POST") return refuse(c, {405, "input", "a question is sent with POST"});
    const std::string_view type = request.header("content-type");
    const bool yaml = type.starts_with("application/yaml");
    if (!yaml && !type.starts_with("application/json"))
      return refuse(c, {415, "input", "a question is application/json or application/yaml"});
    ask(c, request, yaml);
  }

  void answer_get(Connection& c, const HttpRequest& request) {
    const StaticReply* page = pages_.find(request.path);
    if (page == nullptr) return refuse(c, {404, "not_found", "there is nothing here"});
    HttpHead head;
    head.type = page->type;
    if (page->forever)
      head.headers.emplace_back("Cache-Control", "public, max-age=31536000, immutable");
    const bool packed =
        page->gzip && request.header("accept-encoding").find("gzip") != std::string_view::npos;
    std::string plain;
    std::string_view bytes = page->bytes;
    if (packed) {
      head.headers.emplace_back("Content-Encoding", "gzip");
    } else if (page->gzip) {
      plain = unpacked(page->bytes);
      bytes = plain;
    }
    if (page->gzip) head.headers.emplace_back("Vary", "Accept-Encoding");
    reply(c, head, bytes);
    if (request.method == "HEAD") c.out.resize(c.out.size() - bytes.size());
  }

  void ask(Connection& c, const HttpRequest& request, bool yaml) {
    c.ticket = ++last_ticket_;
    c.state = Connection::State::kWaiting;
    c.streams = request.header("accept").starts_with("text/event-stream");
    clients_[c.ticket] = c.fd;
    if (c.streams) {
      HttpHead head;
      head.type = "text/event-stream";
      head.keep_alive = c.keep_alive;
      c.out += stream_head_bytes(head);
    }
    workers_.ask(c.ticket, encoded('Q', fmt::format("{}\n{}\n{}", request.path.substr(kApi.size()),
                                                    yaml ? "yaml" : "json", request.body)));
  }

  Connection* client(Ticket ticket) {
    const auto at = clients_.find(ticket);
    return at == clients_.end() ? nullptr : connections_.at(at->second).get();
  }

  void progressed(Ticket ticket, const std::string& json) override {
    Connection* c = client(ticket);
    // A client that does not read is told no more until it does.
    if (c == nullptr || !c->streams || c->out.size() - c->sent > (1u << 16)) return;
    c->out += chunk_bytes(event_bytes("progress", json));
    unsent_.push_back(c->fd);
  }

  void answered(Ticket ticket, int status, std::string body) override {
    Connection* c = client(ticket);
    if (c == nullptr) return;
    clients_.erase(ticket);
    c->ticket = 0;
    if (c->streams) {
      if (body.ends_with('\n')) body.pop_back();
      c->out += chunk_bytes(event_bytes(status == 200 ? "answer" : "error", body));
      c->out += "0\r\n\r\n";
      c->streams = false;
      c->state = c->keep_alive ? Connection::State::kReading : Connection::State::kEnding;
    } else {
      HttpHead head;
      head.status = status;
      if (status == 503) head.headers.emplace_back("Retry-After", "5");
      reply(*c, head, body);
    }
    unsent_.push_back(c->fd);
  }

  // Sends what workers have brought.
  void flush() {
    for (const int fd : std::exchange(unsent_, {})) {
      const auto at = connections_.find(fd);
      if (at != connections_.end() && send_some(*at->second)) {
        if (const auto still = connections_.find(fd); still != connections_.end())
          go_on(*still->second);
      }
    }
  }

  // Ends what takes too long, and makes room where clients hold too much memory.
  void look(ServeClock::time_point now) {
    workers_.look(now);
    std::vector<int> late;
    std::size_t held = 0;
    Connection* largest = nullptr;
    for (const auto& [fd, c] : connections_) {
      held += c->held();
      if (largest == nullptr || c->held() > largest->held()) largest = c.get();
      const auto still = now - c->since;
      const bool reads = c->state == Connection::State::kReading;
      if ((c->sends() && still > kSendTime) ||
          (c->state == Connection::State::kEnding && still > kEndTime) ||
          (reads && !c->sends() && still > kIdleTime)) {
        late.push_back(-fd);
      } else if (reads && c->reader.begun() &&
                 now - c->began > (c->reader.reads_body() ? kBodyTime : kHeadTime)) {
        late.push_back(fd);
      }
    }
    for (const int fd : late) {
      Connection& c = *connections_.at(fd < 0 ? -fd : fd);
      if (fd < 0) {
        drop(c);
        continue;
      }
      c.keep_alive = false;
      refuse(c, {408, "limit", "the request did not come in time"});
      send_some(c);
    }
    if (late.empty() && held > kMostHeld && largest != nullptr) drop(*largest);
  }

  const ServeOptions options_;
  Pages pages_;
  int poll_;
  int listener_ = -1;
  std::map<int, std::unique_ptr<Connection>> connections_;  // by descriptor
  std::map<Ticket, int> clients_;
  std::vector<int> unsent_;  // clients for which workers have sent something
  Ticket last_ticket_ = 0;
  Workers workers_;  // last: they end before what their listener uses
};

}  // namespace

void serve(const Bundle& bundle, const ServeOptions& options) { Server(bundle, options).run(); }

}  // namespace orrery::server
