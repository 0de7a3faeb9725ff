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
}

void StepWindows::cover(SimTime end) {
  constexpr auto kMost = static_cast<std::int64_t>(kMostWindows);
  while ((end.ps - 1) / width_.ps >= kMost) widen();
  const auto needed = static_cast<std::size_t>((end.ps - 1) / width_.ps + 1);
  if (needed > windows_.size()) windows_.resize(needed);
}

void StepWindows::spread(SimTime from, SimTime to, std::int64_t by,
                         std::int64_t StepWindow::* sum) {
  auto i = static_cast<std::size_t>(from.ps / width_.ps);
  for (std::int64_t at = from.ps; at < to.ps; ++i) {
    const std::int64_t next = std::min(to.ps, (static_cast<std::int64_t>(i) + 1) * width_.ps);
    windows_[i].*sum += (next - at) * by;
    at = next;
  }
}

void StepWindows::add(const StepCounts& step, SimTime start, SimTime duration) {
  cover(std::max(start + duration, start + SimTime{1}));
  StepWindow& window = windows_[static_cast<std::size_t>(start.ps / width_.ps)];
  window.started += duration.ps;
  (step.prompts > 0 ? window.prefilling : window.decoding) += step;
  spread(start, start + duration, 1, &StepWindow::busy);
}

void StepWindows::add_decodes(std::int64_t sequences, std::int64_t past, SimTime start,
                              std::span<const SimTime> durations) {
  SimTime end = start;
  for (const SimTime d : durations) end += d;
  const SimTime last = end - durations.back();  // start of the last step
  cover(std::max(end, last + SimTime{1}));
  spread(start, end, 1, &StepWindow::busy);
  for (std::size_t i = 0; i < durations.size();) {
    // The steps that start in one window.
    const std::int64_t window = start.ps / width_.ps, next = (window + 1) * width_.ps;
    const SimTime from = start;
    const std::size_t first = i;
    if (last.ps < next) {
      i = durations.size();
      start = end;
    } else {
      for (; start.ps < next; ++i) start += durations[i];
    }
    const auto n = static_cast<std::int64_t>(i - first);
    StepWindow& in = windows_[static_cast<std::size_t>(window)];
    in.started += (start - from).ps;
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
