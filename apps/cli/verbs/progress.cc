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

std::string progress_text(const std::string& what, const PartMeter& parts, const std::string& unit,
                          std::chrono::seconds time) {
  const std::int64_t all = parts.all;
  if (all <= 0) return fmt::format("{}, {} s", what, time.count());
  constexpr std::int64_t kBar = 20;
  const std::int64_t done = std::clamp<std::int64_t>(parts.done, 0, all);
  const auto full = static_cast<std::size_t>(done * kBar / all);
  return fmt::format("{} [{}{}] {}/{}{}{}, {} s", what, std::string(full, '#'),
                     std::string(kBar - full, '-'), done, all, unit.empty() ? "" : " ", unit,
                     time.count());
}

std::string progress_text(const std::string& what, const WorkMeter& meter,
                          std::chrono::seconds time) {
  if (meter.points.all > 1) return progress_text(what, meter.points, "points", time);
  return progress_text(what, meter.requests, "requests", time);
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

void Progress::draw() {
  std::unique_lock lock(mutex_);
  auto pause = kFirstLine;
  while (!changed_.wait_for(lock, pause, [this] { return ended_; })) {
    pause = kNextLine;
    const auto time = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - began_);
    fmt::print(stderr, "\r\033[K{}",
               parts_.all > 0 ? progress_text(what_, parts_, "", time)
                              : progress_text(what_, meter_, time));
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
