#include "apps/cli/verbs/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>

namespace orrery::cli {
namespace {

constexpr std::chrono::milliseconds kFirstLine(1000), kNextLine(200);

}  // namespace

std::string progress_text(const std::string& what, std::size_t done, std::size_t all,
                          std::chrono::seconds time) {
  if (all == 0) return fmt::format("{}, {} s", what, time.count());
  constexpr std::size_t kBar = 20;
  const std::size_t full = std::min(kBar, done * kBar / all);
  return fmt::format("{} [{}{}] {}/{}, {} s", what, std::string(full, '#'),
                     std::string(kBar - full, '-'), done, all, time.count());
}

std::string progress_text(const std::string& what, const WorkMeter& meter,
                          std::chrono::seconds time) {
  const auto text = [&](const WorkMeter::Part& part, const char* unit) {
    constexpr std::int64_t kNone = 0;
    const std::int64_t all = std::max(kNone, part.all.load());
    const std::int64_t done = std::clamp(part.done.load(), kNone, all);
    std::string line =
        progress_text(what, static_cast<std::size_t>(done), static_cast<std::size_t>(all), time);
    return line.insert(line.rfind(", "), fmt::format(" {}", unit));
  };
  if (meter.points.all > 1) return text(meter.points, "points");
  if (meter.requests.all > 0) return text(meter.requests, "requests");
  return progress_text(what, 0, 0, time);
}

void Progress::begin(const std::string& what) {
  if (drawer_.joinable() || isatty(STDERR_FILENO) == 0) return;
  constexpr std::size_t kKept = std::size_t{1} << 20;
  static std::array<char, kKept> kept;  // glibc takes a size with a buffer alone
  std::setvbuf(stdout, kept.data(), _IOFBF, kept.size());
  what_ = what;
  began_ = Clock::now();
  drawer_ = std::thread([this] { draw(); });
}

void Progress::parts(std::size_t all) {
  const std::lock_guard lock(mutex_);
  all_ = all, done_ = 0;
}

void Progress::next() {
  const std::lock_guard lock(mutex_);
  ++done_;
}

void Progress::draw() {
  std::unique_lock lock(mutex_);
  auto pause = kFirstLine;
  while (!changed_.wait_for(lock, pause, [this] { return ended_; })) {
    pause = kNextLine;
    const auto time = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - began_);
    fmt::print(
        stderr, "\r\033[K{}",
        all_ > 0 ? progress_text(what_, done_, all_, time) : progress_text(what_, meter_, time));
    std::fflush(stderr);
    drawn_ = true;
  }
}

Progress::~Progress() {
  if (!drawer_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
  drawer_.join();
  if (drawn_) fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
  std::fflush(stdout);
}

}  // namespace orrery::cli
