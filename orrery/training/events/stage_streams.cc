#include "orrery/training/events/stage_streams.h"

#include <algorithm>

namespace orrery {
namespace {

std::size_t index_of(int i) { return static_cast<std::size_t>(i); }

}  // namespace

StageStreams::StageStreams(int stages, double slowdown)
    : stages_(stages),
      slowdown_(slowdown),
      all_(index_of(2 * stages)),
      out_(index_of(stages)),
      in_(index_of(stages)),
      others_(index_of(stages), 1) {}

void StageStreams::post(std::size_t id, Seconds when) {
  events_.push({when, posted_++, id, ++all_[id].generation});
}

// Changes the pace of an activity from `now` on.
void StageStreams::set(std::size_t id, Seconds now, double slow) {
  Activity& a = all_[id];
  if (a.slow == slow) return;
  a.left = std::max(Seconds(0), a.left - (now - a.since) / a.slow);
  a.since = now, a.slow = slow;
  post(id, now + a.left * slow);
}

void StageStreams::share(int s, Seconds now) {
  Activity& pass = all_[index_of(s)];
  const std::vector<std::size_t>&out = out_[index_of(s)], &in = in_[index_of(s)];
  const double n = static_cast<double>(std::max(out.size(), in.size()));
  others_[index_of(s)] = 1;
  if (pass.on) {
    const double slow = (all_[index_of(stages_ + s)].on ? slowdown_ : 1) + n * pass.contended;
    set(index_of(s), now, slow);
    others_[index_of(s)] = 1 / (1 - std::min(pass.density / slow, 1 / (n + 1)));
  }
  const auto pace = [&](std::size_t id) {
    const std::size_t from = index_of(all_[id].from), to = index_of(all_[id].to);
    set(id, now,
        std::max(static_cast<double>(out_[from].size()) * others_[from],
                 static_cast<double>(in_[to].size()) * others_[to]));
  };
  for (const std::size_t id : out) pace(id);
  for (const std::size_t id : in) pace(id);
}

void StageStreams::wire(std::size_t id, Seconds now, bool starts) {
  const Activity a = all_[id];
  std::vector<std::size_t>&out = out_[index_of(a.from)], &in = in_[index_of(a.to)];
  if (starts) {
    out.push_back(id), in.push_back(id);
  } else {
    out.erase(std::find(out.begin(), out.end(), id));
    in.erase(std::find(in.begin(), in.end(), id));
  }
  share(a.from, now);
  if (a.to != a.from) share(a.to, now);
}

void StageStreams::start_pass(int stage, Seconds now, const PassLoad& load) {
  Activity& a = all_[index_of(stage)];
  a.on = true;
  a.left = load.time, a.since = now, a.slow = 1;
  a.contended = load.time > Seconds(0) ? load.contended / load.time : 0;
  a.density = load.time > Seconds(0) ? load.on_port / load.time : 0;
  post(index_of(stage), now + load.time);
  share(stage, now);
}

void StageStreams::start_transfer(std::size_t id, Seconds now, Seconds time, Seconds on_port) {
  Activity& a = all_[id];
  const Seconds wired = std::min(on_port, time);
  a.on = true, a.wired = wired > Seconds(0);
  a.left = a.wired ? wired : time, a.rest = time - wired;
  a.since = now, a.slow = 1;
  post(id, now + a.left);
  if (a.wired) wire(id, now, true);
}

void StageStreams::start_data(int stage, Seconds now, Seconds time, Seconds on_port) {
  Activity& a = all_[index_of(stages_ + stage)];
  a.from = a.to = stage;
  start_transfer(index_of(stages_ + stage), now, time, on_port);
  if (all_[index_of(stage)].on) share(stage, now);
}

void StageStreams::start_send(int from, int to, Seconds now, Seconds time, Seconds on_port,
                              std::size_t tag) {
  if (free_sends_.empty()) {
    free_sends_.push_back(all_.size());
    all_.emplace_back();
  }
  const std::size_t id = free_sends_.back();
  free_sends_.pop_back();
  all_[id].from = from, all_[id].to = to, all_[id].tag = tag;
  start_transfer(id, now, time, on_port);
}

bool StageStreams::next(End& end) {
  while (!events_.empty()) {
    const Event e = events_.top();
    events_.pop();
    Activity& a = all_[e.activity];
    if (!a.on || e.generation != a.generation) continue;
    const bool transfer = e.activity >= index_of(stages_);
    if (a.wired) {
      a.wired = false;
      wire(e.activity, e.at, false);
      if (a.rest > Seconds(0)) {
        post(e.activity, e.at + a.rest);
        continue;
      }
    }
    a.on = false;
    if (!transfer) {
      const int s = static_cast<int>(e.activity);
      end = {What::kPass, s, 0, e.at};
      if (!out_[e.activity].empty() || !in_[e.activity].empty()) share(s, e.at);
    } else if (e.activity < index_of(2 * stages_)) {
      const int s = a.from;
      end = {What::kData, s, 0, e.at};
      if (all_[index_of(s)].on) share(s, e.at);
    } else {
      end = {What::kSend, a.from, a.tag, e.at};
      free_sends_.push_back(e.activity);
    }
    return true;
  }
  return false;
}

}  // namespace orrery
