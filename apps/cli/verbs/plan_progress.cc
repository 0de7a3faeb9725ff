#include "apps/cli/verbs/plan_progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>

namespace orrery::cli {
namespace {

constexpr std::chrono::milliseconds kPause(100);  // between two lines
constexpr std::size_t kBar = 20;

volatile std::sig_atomic_t interrupted = 0;

void interrupt(int signal) {
  interrupted = 1;
  std::signal(signal, SIG_DFL);
}

std::size_t columns_of_messages() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

PlanProgress::PlanProgress()
    : terminal_(isatty(STDERR_FILENO) != 0), began_(Clock::now()), last_(began_) {
  interrupted = 0;
  // A program in the background of a shell script ignores Ctrl-C, and goes on doing so.
  if (std::signal(SIGINT, interrupt) == SIG_IGN) std::signal(SIGINT, SIG_IGN);
}

PlanProgress::~PlanProgress() {
  clear();
  std::signal(SIGINT, SIG_DFL);
}

void PlanProgress::see(const SearchState& state) {
  const auto now = Clock::now();
  if (!terminal_ || now - last_ < kPause) return;
  last_ = now, shown_ = true;
  const std::chrono::duration<double> since = now - began_;
  fmt::print(stderr, "\r\033[K{}", progress_line(state, since.count(), columns_of_messages() - 1));
  std::fflush(stderr);
}

bool PlanProgress::stops() { return interrupted != 0; }

void PlanProgress::clear() {
  if (!shown_) return;
  shown_ = false;
  fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
}

std::string progress_line(const SearchState& s, double seconds, std::size_t columns) {
  const std::int64_t all = std::max<std::int64_t>(1, s.all);
  const auto full = static_cast<std::size_t>(std::clamp<std::int64_t>(
      s.done * static_cast<std::int64_t>(kBar) / all, 0, static_cast<std::int64_t>(kBar)));
  std::string out = fmt::format("{} [{}{}] {}/{}", s.stage, std::string(full, '#'),
                                std::string(kBar - full, '-'), s.done, s.all);
  if (s.survivors > 0) out += fmt::format(", {} left", s.survivors);
  const std::int64_t results = s.computed + s.known;
  if (seconds > 0) out += fmt::format(", {:.0f} results/s", static_cast<double>(results) / seconds);
  if (s.known > 0) out += fmt::format(", {} kept ones", s.known);
  if (!s.best.empty()) out += ", best " + s.best;
  return out.substr(0, columns);
}

}  // namespace orrery::cli
