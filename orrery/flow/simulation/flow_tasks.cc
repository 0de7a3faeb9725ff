#include "orrery/flow/simulation/flow_tasks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "orrery/base/error.h"
#include "orrery/base/index.h"

namespace orrery {
namespace {

constexpr std::size_t kMostTasks = 50'000'000;

// Lists of numbers, one after another: the beginning of each list and the end of the last one.
struct Lists {
  std::vector<std::size_t> begin;
  std::vector<std::int32_t> items;
};

Lists lists(std::vector<std::pair<std::int32_t, std::int32_t>> pairs, std::size_t count) {
  std::sort(pairs.begin(), pairs.end());
  Lists l{std::vector<std::size_t>(count + 1, 0), {}};
  for (const auto& [from, to] : pairs) {
    ++l.begin[index(from) + 1];
    l.items.push_back(to);
  }
  for (std::size_t i = 0; i < count; ++i) l.begin[i + 1] += l.begin[i];
  return l;
}

}  // namespace

FlowTasks::FlowTasks(const FlowProgram& program, const FoldedFlows& folded,
                     Seconds message_overhead)
    : folded_(folded) {
  for (std::size_t o = 0; o < program.ops.size(); ++o) {
    const FlowOp& op = program.ops[o];
    const auto number = static_cast<std::int32_t>(o);
    if (!(op.scale >= 0) || !std::isfinite(op.scale)) {
      throw InputError(fmt::format("operation {} ('{}') has a scale of {}", o, op.name, op.scale));
    }
    add_parts(number, op);
    if (op.pattern >= 0) add_tasks(number, op, message_overhead);
    first_task_.push_back(static_cast<std::int32_t>(tasks.size()));
  }
  order(program);
  connect_streams();
}

void FlowTasks::add_parts(std::int32_t number, const FlowOp& op) {
  std::vector<std::pair<std::int32_t, double>> at;  // class of GPUs, time of computing
  if (op.pattern >= 0) {
    for (std::int32_t g : folded_.members[index(op.pattern)]) at.emplace_back(g, 0);
  } else if (op.gpus.empty()) {
    for (std::size_t g = 0; g < folded_.gpu_sample.size(); ++g)
      at.emplace_back(static_cast<std::int32_t>(g), op.time.value());
  } else {
    for (std::size_t k = 0; k < op.gpus.size(); ++k) {
      const Seconds t = op.times.empty() ? op.time : op.times[k];
      at.emplace_back(folded_.gpu_class[index(op.gpus[k])], t.value());
    }
    std::sort(at.begin(), at.end());
    at.erase(std::unique(at.begin(), at.end()), at.end());
  }
  for (const auto& [gpu, time] : at) {
    if (!(time >= 0) || !std::isfinite(time)) {
      throw InputError(fmt::format("operation {} ('{}') takes {} s", number, op.name, time));
    }
    parts.push_back({number, gpu, 0, 0, time, false});
  }
  first_part_.push_back(static_cast<std::int32_t>(parts.size()));
}

void FlowTasks::add_tasks(std::int32_t number, const FlowOp& op, Seconds message_overhead) {
  const auto p = static_cast<std::size_t>(op.pattern);
  const auto first = folded_.first_stream[p];
  for (auto s = first; s < folded_.first_stream[p + 1]; ++s) {
    const FoldedFlows::StreamClass& stream = folded_.streams[index(s)];
    FlowTask t;
    t.op = number;
    t.stream = s;
    t.first_task = first_task_.back() - first;
    t.unstarted = stream.from == stream.to ? 1 : 2;
    t.bytes = stream.bytes.value() * op.scale;
    t.count = stream.count;
    t.wired = t.bytes > 0 && !stream.uses.empty();
    t.latency = stream.uses.empty() ? 0 : (stream.latency + message_overhead).value();
    ++part(part_of(number, stream.from)).open;
    if (stream.from != stream.to) ++part(part_of(number, stream.to)).open;
    tasks.push_back(t);
    if (tasks.size() > kMostTasks) {
      throw InputError("the program is too large for the flow level; take fewer operations");
    }
  }
}

// The part, or -1 if the GPUs take no part in the operation. The parts of an operation are sorted
// by class.
std::int32_t FlowTasks::find_part(std::int32_t op, std::int32_t gpu) const {
  const auto o = static_cast<std::size_t>(op);
  const auto begin = parts.begin() + first_part_[o], end = parts.begin() + first_part_[o + 1];
  const auto it = std::lower_bound(begin, end, gpu,
                                   [](const FlowPart& p, std::int32_t g) { return p.gpu < g; });
  return it == end || it->gpu != gpu ? -1 : static_cast<std::int32_t>(it - parts.begin());
}

std::int32_t FlowTasks::part_of(std::int32_t op, std::int32_t gpu) const {
  const std::int32_t p = find_part(op, gpu);
  if (p < 0) throw std::logic_error("a stream's GPUs take no part in its operation");
  return p;
}

void FlowTasks::order(const FlowProgram& program) {
  std::vector<std::pair<std::int32_t, std::int32_t>> edges;
  for (std::size_t o = 0; o < program.ops.size(); ++o) {
    for (int before : program.ops[o].after) {
      if (before < 0 || before >= static_cast<int>(program.ops.size())) {
        throw InputError(
            fmt::format("operation {} comes after operation {}, which is not there", o, before));
      }
      for (auto p = first_part_[o]; p < first_part_[o + 1]; ++p) {
        const std::int32_t q = find_part(before, part(p).gpu);
        if (q < 0) continue;
        edges.emplace_back(q, p);
        ++part(p).waits;
      }
    }
  }
  Lists l = lists(std::move(edges), parts.size());
  after_begin_ = std::move(l.begin);
  after_ = std::move(l.items);
}

void FlowTasks::connect_streams() {
  std::vector<std::pair<std::int32_t, std::int32_t>> edges;
  wait_begin_.push_back(0);
  for (std::size_t s = 0; s < folded_.streams.size(); ++s) {
    for (const FoldedFlows::Wait& w : folded_.streams[s].waits) {
      waits_.push_back(w);
      edges.emplace_back(w.other, static_cast<std::int32_t>(s));
      most_lag_ = std::max(most_lag_, w.lag);
    }
    wait_begin_.push_back(waits_.size());
  }
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  Lists l = lists(std::move(edges), folded_.streams.size());
  follower_begin_ = std::move(l.begin);
  followers_ = std::move(l.items);
}

}  // namespace orrery
