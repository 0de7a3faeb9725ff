#include "apps/server/worker.h"

#include <fmt/format.h>
#include <malloc.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "apps/server/asked.h"
#include "apps/server/frames.h"
#include "orrery/base/data_folder.h"
#include "orrery/base/error.h"

namespace orrery::server {
namespace {

constexpr std::chrono::milliseconds kPause(150);  // between two messages of progress
constexpr int kRenewed = 2000;  // questions after which what a worker has read is forgotten

void set_limit(__rlimit_resource which, rlim_t value) {
  rlimit limit{value, value};
  setrlimit(which, &limit);
}

// Memory of one answer is kept for the next, which saves giving it back and asking for it again.
void keep_memory() {
  constexpr int kMiB = 1 << 20;
  mallopt(M_TRIM_THRESHOLD, 256 * kMiB);
  mallopt(M_TOP_PAD, 4 * kMiB);
  mallopt(M_MXFAST, 160);
}

void take_limits(bool overlaid, const ServeLimits& limits) {
  seal_files();
  set_limit(RLIMIT_FSIZE, 0);
  set_limit(RLIMIT_CORE, 0);
  if (!overlaid) set_limit(RLIMIT_NOFILE, 4);  // those that are open
#if !defined(__SANITIZE_ADDRESS__)
  set_limit(RLIMIT_AS, limits.memory);
#else
  (void)limits;
#endif
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

// Tells the server how far the work is, from a thread of its own.
class Teller : public SearchWatcher {
 public:
  explicit Teller(int socket) : socket_(socket), thread_([this] { tell(); }) {}
  ~Teller() override {
    done_ = true;
    thread_.join();
  }
  Teller(const Teller&) = delete;
  Teller& operator=(const Teller&) = delete;

  WorkMeter meter;

  void see(const SearchState& state) override {
    const std::lock_guard lock(mutex_);
    stage_ = state.stage, best_ = state.best;
    stage_done_ = state.done, stage_all_ = state.all;
  }
  bool stops() override { return false; }

 private:
  std::string text() {
    const std::lock_guard lock(mutex_);
    nlohmann::ordered_json j;
    const auto put = [&j](const char* what, std::int64_t done, std::int64_t all) {
      j["stage"] = what, j["done"] = done, j["all"] = all;
    };
    if (!stage_.empty()) {
      put(stage_.c_str(), stage_done_, stage_all_);
      if (!best_.empty()) j["best"] = best_;
    } else if (meter.points.all > 1) {
      put("points", meter.points.done, meter.points.all);
    } else {
      put("requests", meter.requests.done, meter.requests.all);
    }
    return j.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  }

  void tell() {
    std::string last;
    for (auto at = std::chrono::steady_clock::now(); !done_;
         std::this_thread::sleep_for(std::chrono::milliseconds(10))) {
      if (std::chrono::steady_clock::now() - at < kPause) continue;
      at = std::chrono::steady_clock::now();
      std::string now = text();
      if (now == last) continue;
      if (!write_frame(socket_, 'P', now)) return;
      last = std::move(now);
    }
  }

  int socket_;
  std::atomic<bool> done_ = false;
  std::mutex mutex_;
  std::string stage_, best_;
  std::int64_t stage_done_ = 0, stage_all_ = 0;
  std::thread thread_;  // last: it reads the others
};

AskedQuestion question_of(const std::string& bytes) {
  const std::size_t first = bytes.find('\n'), second = bytes.find('\n', first + 1);
  return {bytes.substr(0, first), bytes.substr(first + 1, second - first - 1),
          bytes.substr(second + 1)};
}

}  // namespace

void work(int socket, bool quick, const Bundle& bundle, bool overlaid, const ServeLimits& limits) {
  std::signal(SIGINT, SIG_IGN);  // the server ends its workers
  if (!quick) setpriority(PRIO_PROCESS, 0, 19);
  take_limits(overlaid, limits);
  keep_memory();
  FrameReader reader;
  auto runner = std::make_unique<Runner>(bundle);
  for (int answered = 0; auto frame = read_frame(socket, reader); ++answered) {
    if (answered > 0 && answered % kRenewed == 0) runner = std::make_unique<Runner>(bundle);
    const AskedQuestion asked = question_of(frame->bytes);
    Reply reply;
    if (quick) {
      reply = reply_to(asked, *runner, limits, {true, nullptr, nullptr});
    } else {
      Teller teller(socket);
      reply = reply_to(asked, *runner, limits, {false, &teller.meter, &teller});
    }
    if (reply.status == 0) {
      if (!write_frame(socket, 'L', "")) return;
      continue;
    }
    if (!write_frame(socket, 'A', fmt::format("{:03}", reply.status) + reply.body)) return;
  }
}

}  // namespace orrery::server
