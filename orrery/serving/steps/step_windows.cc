#include "orrery/serving/steps/step_windows.h"

#include <algorithm>

namespace orrery {

StepCounts& StepCounts::operator+=(const StepCounts& more) {
  steps += more.steps, decodes += more.decodes, decode_past += more.decode_past;
  prompts += more.prompts, prompt_tokens += more.prompt_tokens, prompt_past += more.prompt_past;
  return *this;
}

StepWindow& StepWindow::operator+=(const StepWindow& more) {
  busy += more.busy, present += more.present, started += more.started;
  decoding += more.decoding, prefilling += more.prefilling;
  return *this;
}

void StepWindows::widen() {
  for (std::size_t i = 0; i < windows_.size(); ++i) {
    if (i % 2 == 1) {
      windows_[i / 2] += windows_[i];
    } else if (i > 0) {
      windows_[i / 2] = windows_[i];
    }
  }
  windows_.resize((windows_.size() + 1) / 2);
  width_ = width_ * 2;
  known_ = {};
  known_at_ = 0;
}

void StepWindows::cover(SimTime end) {
  if (end <= covered_) return;
  constexpr auto kMost = static_cast<std::int64_t>(kMostWindows);
  while ((end.ps - 1) / width_.ps >= kMost) widen();
  const auto needed = static_cast<std::size_t>((end.ps - 1) / width_.ps + 1);
  if (needed > windows_.size()) windows_.resize(needed);
  // The end of the last window may be beyond the range of times.
  if (__builtin_mul_overflow(width_.ps, static_cast<std::int64_t>(windows_.size()), &covered_.ps))
    covered_ = end;
}

void StepWindows::spread(SimTime from, SimTime to, std::int64_t by,
                         std::int64_t StepWindow::* sum) {
  std::size_t i = at(from);
  for (std::int64_t at = from.ps; at < to.ps; ++i) {
    const std::int64_t next = std::min(to.ps, (static_cast<std::int64_t>(i) + 1) * width_.ps);
    windows_[i].*sum += (next - at) * by;
    at = next;
  }
}

void StepWindows::add(const StepCounts& step, SimTime start, SimTime duration) {
  cover(std::max(start + duration, start + SimTime{1}));
  StepWindow& window = windows_[at(start)];
  window.started += duration.ps;
  (step.prompts > 0 ? window.prefilling : window.decoding) += step;
  spread(start, start + duration, 1, &StepWindow::busy);
}

void StepWindows::add_decodes(std::int64_t sequences, std::int64_t past,
                              std::span<const SimTime> times) {
  const std::size_t steps = times.size() - 1;
  const SimTime last = times[steps - 1], end = times[steps];
  cover(std::max(end, last + SimTime{1}));
  spread(times.front(), end, 1, &StepWindow::busy);
  for (std::size_t i = 0; i < steps;) {
    // The steps that start in one window.
    const std::size_t window = at(times[i]), first = i;
    if (last - known_ < width_) {
      i = steps;
    } else {
      while (times[i] - known_ < width_) ++i;
    }
    const auto n = static_cast<std::int64_t>(i - first);
    StepWindow& in = windows_[window];
    in.started += (times[i] - times[first]).ps;
    in.decoding += {n, sequences * n, past * n + sequences * (n * (n - 1) / 2)};
    past += sequences * n;
  }
}

void StepWindows::add_present(SimTime from, SimTime to, std::int64_t engines) {
  if (to <= from) return;
  cover(to);
  spread(from, to, engines, &StepWindow::present);
}

void StepWindows::add(const StepWindows& other) {
  StepWindows more = other;
  while (more.width_ < width_) more.widen();
  while (width_ < more.width_) widen();
  if (more.windows_.size() > windows_.size()) windows_.resize(more.windows_.size());
  for (std::size_t i = 0; i < more.windows_.size(); ++i) windows_[i] += more.windows_[i];
}

}  // namespace orrery
