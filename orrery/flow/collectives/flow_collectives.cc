#include "orrery/flow/collectives/flow_collectives.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "orrery/base/error.h"
#include "orrery/base/index.h"
#include "orrery/flow/collectives/flow_algorithm.h"

namespace orrery {
namespace {

constexpr int kMostChunks = 64;

}  // namespace

CollectiveAlgorithm parse_flow_algorithm(std::string_view text) {
  if (const auto known = parse_collective_algorithm(text, AlgorithmModel::kFlow)) return *known;
  const auto& names = collective_algorithm_names(AlgorithmModel::kFlow);
  throw InputError(fmt::format("unknown algorithm '{}'{}; at flow level: {}", text,
                               did_you_mean(text, names), fmt::join(names, ", ")));
}

std::vector<std::vector<int>> strided_groups(int ranks, int stride, int gpus) {
  if (ranks < 1 || stride < 1 || gpus < 1 || stride > gpus / ranks ||
      gpus % (ranks * stride) != 0) {
    throw InputError(
        fmt::format("groups of {} ranks {} apart do not divide {} GPUs", ranks, stride, gpus));
  }
  std::vector<std::vector<int>> groups;
  for (int base = 0; base < gpus; base += ranks * stride) {
    for (int first = base; first < base + stride; ++first) {
      groups.emplace_back();
      for (int k = 0; k < ranks; ++k) groups.back().push_back(first + k * stride);
    }
  }
  return groups;
}

int FlowCollectives::groups(std::vector<std::vector<int>> groups) {
  std::vector<int> all;
  for (const auto& g : groups) {
    if (g.empty()) throw InputError("a group needs at least one rank");
    all.insert(all.end(), g.begin(), g.end());
  }
  std::sort(all.begin(), all.end());
  const auto twice = std::adjacent_find(all.begin(), all.end());
  if (twice != all.end()) throw InputError(fmt::format("gpu{} is in a group twice", *twice));
  groups_.push_back(std::move(groups));
  return static_cast<int>(groups_.size()) - 1;
}

std::pair<int, int> FlowCollectives::split(int groups, int inner) {
  const auto [it, fresh] = split_.try_emplace({groups, inner});
  if (!fresh) return it->second;
  std::vector<std::vector<int>> inside, between;
  const auto run = static_cast<std::size_t>(inner);
  for (const auto& ranks : groups_[index(groups)]) {
    for (std::size_t base = 0; base < ranks.size(); base += run) {
      const auto first = ranks.begin() + static_cast<std::ptrdiff_t>(base);
      inside.emplace_back(first, first + inner);
    }
    for (std::size_t place = 0; place < run; ++place) {
      between.emplace_back();
      for (std::size_t r = place; r < ranks.size(); r += run) between.back().push_back(ranks[r]);
    }
  }
  const int in = this->groups(std::move(inside));
  const int out = this->groups(std::move(between));
  return it->second = {in, out};
}

int FlowCollectives::append(const FlowCollective& c, int pattern, std::vector<int> after) {
  FlowOp op;
  op.name = c.name.empty() ? std::string(to_text(c.kind)) : c.name;
  op.pattern = pattern;
  op.scale = c.bytes.value();
  op.after = std::move(after);
  program_.ops.push_back(std::move(op));
  return static_cast<int>(program_.ops.size()) - 1;
}

void FlowCollectives::check(const FlowCollective& c, int groups) const {
  if (!(c.bytes >= Bytes(0)) || !std::isfinite(c.bytes.value()))
    throw InputError(fmt::format("a collective cannot have {} bytes", c.bytes.value()));
  if (c.channels < 1 || c.inner < 1 || c.channels > c.inner || c.chunks < 0) {
    throw InputError(
        fmt::format("{} channels of {} inner ranks, {} chunks: channels are 1 to inner, "
                    "chunks not negative",
                    c.channels, c.inner, c.chunks));
  }
  const FlowAlgorithmEntry* algorithm = flow_algorithm(c.algorithm);
  for (const auto& ranks : groups_[index(groups)]) {
    const auto n = ranks.size();
    if (algorithm != nullptr && (algorithm->needs_runs || c.channels > 1) &&
        n % static_cast<std::size_t>(c.inner) != 0)
      throw InputError(fmt::format("a group of {} ranks is not made of runs of {}", n, c.inner));
    if (algorithm != nullptr && algorithm->needs_power_of_two && !std::has_single_bit(n)) {
      throw InputError(
          fmt::format("{} needs a power of two ranks, the group has {}", to_text(c.algorithm), n));
    }
    if (c.kind == Collective::Kind::kSend && n > 2)
      throw InputError(fmt::format("a send is between two ranks, the group has {}", n));
  }
  if (algorithm == nullptr || !algorithm->offers(c.kind)) {
    throw InputError(
        fmt::format("no {} algorithm for {} at flow level", to_text(c.algorithm), to_text(c.kind)));
  }
}

std::vector<int> FlowCollectives::add(const FlowCollective& c, int groups,
                                      const std::vector<int>& after) {
  check(c, groups);
  const FlowAlgorithmEntry& algorithm = *flow_algorithm(c.algorithm);
  if (algorithm.compose != nullptr) return algorithm.compose(*this, c, groups, after);
  int chunks = 1;
  if (algorithm.in_chunks != nullptr && algorithm.in_chunks(c.kind))
    chunks = c.chunks > 0 ? c.chunks : default_chunks(c.bytes / c.channels, kMostChunks);
  const Key key{groups, static_cast<int>(c.kind), static_cast<int>(c.algorithm), chunks,
                c.inner * 100'000 + c.channels};
  const auto [it, fresh] = patterns_.try_emplace(key, static_cast<int>(program_.patterns.size()));
  if (fresh) {
    FlowPattern p;
    for (const auto& ranks : groups_[index(groups)]) {
      for (int r : ranks) p.include(r);
      if (ranks.size() > 1) algorithm.messages(p, c, ranks, chunks);
    }
    program_.patterns.push_back(std::move(p));
  }
  std::vector<int> done = after;
  const int phases = algorithm.phases == nullptr ? 1 : algorithm.phases(c.kind);
  for (int k = 0; k < phases; ++k) done = {append(c, it->second, done)};
  return done;
}

}  // namespace orrery
