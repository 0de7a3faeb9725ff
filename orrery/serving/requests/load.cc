#include "orrery/serving/requests/load.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "orrery/base/error.h"

namespace orrery {
namespace {

constexpr std::int32_t kIdTokens = 16;

// Repeats every request `samples` times, with ids for all whole blocks of its prompt.
void sample_each(std::int32_t samples, RandomStream& outputs, const Lengths& output,
                 RequestLoad& load) {
  constexpr std::uint64_t kOwn = std::uint64_t{1} << 63;
  std::vector<Request> all;
  all.reserve(load.requests.size() * static_cast<std::size_t>(samples));
  std::vector<std::uint64_t> ids;
  for (std::size_t i = 0; i < load.requests.size(); ++i) {
    Request r = load.requests[i];
    const auto first = ids.size();
    for (std::uint32_t b = 0; b < static_cast<std::uint32_t>(r.input / kIdTokens); ++b)
      ids.push_back(b < r.ids ? load.ids[r.first_id + b] : kOwn | std::uint64_t{i} << 32 | b);
    if (ids.size() > UINT32_MAX)
      throw InputError("load.samples: the prompts have too many tokens to identify all of them");
    r.first_id = static_cast<std::uint32_t>(first);
    r.ids = static_cast<std::uint32_t>(ids.size() - first);
    for (std::int32_t k = 0; k < samples; ++k) {
      if (k > 0) r.output = output.at(outputs.uniform());
      all.push_back(r);
    }
  }
  load.requests = std::move(all);
  load.ids = std::move(ids);
}

// Ids of the blocks of a conversation: those of its shared prefix, then its own.
void name_blocks(std::int32_t tokens, std::uint64_t conversation, std::int32_t shared_blocks,
                 std::uint64_t group, std::vector<std::uint64_t>& ids) {
  constexpr std::uint64_t kOwn = std::uint64_t{1} << 63;
  for (std::int32_t b = 0; b * kIdTokens < tokens; ++b)
    ids.push_back(b < shared_blocks ? group << 32 | static_cast<std::uint32_t>(b)
                                    : kOwn | conversation << 32 | static_cast<std::uint32_t>(b));
  if (ids.size() > UINT32_MAX)
    throw InputError("load.turns: the conversations have too many tokens to identify all of them");
}

RequestLoad make_conversations(const LoadSpec& spec) {
  constexpr std::int64_t kLongest = 1 << 24;
  if (spec.samples > 1) throw InputError("load.turns: not supported with load.samples");
  RequestLoad load;
  load.id_tokens = kIdTokens;
  load.names_outputs = true;
  RandomStream inputs(spec.seed, "input"), outputs(spec.seed, "output"),
      groups(spec.seed, "prefix"), turns(spec.seed, "turns"), tools(spec.seed, "tool_time");
  const std::int32_t shared = spec.shared_prefix / kIdTokens;
  for (std::int32_t c = 0; static_cast<std::int64_t>(load.requests.size()) < spec.requests; ++c) {
    const auto first = load.requests.size();
    const std::int64_t room = spec.requests - static_cast<std::int64_t>(first);
    const std::int64_t n = std::min<std::int64_t>(spec.turns.at(turns.uniform()), room);
    std::int64_t said = 0;  // tokens of all turns so far
    for (std::int64_t k = 0; k < n; ++k) {
      Request r;
      std::int64_t added = spec.input.at(inputs.uniform());
      if (k == 0) added = std::max<std::int64_t>(added, spec.shared_prefix + 1);
      r.output = spec.output.at(outputs.uniform());
      if (said + added + r.output > kLongest)
        throw InputError(fmt::format(
            "load.turns: a conversation exceeds {} tokens; fewer turns or shorter ones", kLongest));
      r.input = static_cast<std::int32_t>(said + added);
      said = r.input + r.output;
      r.session = c;
      load.requests.push_back(r);
      if (k == 0) continue;
      const double ms = spec.tool_time ? spec.tool_time->at(tools.uniform()) : 0;
      load.follow(load.requests.size() - 2, load.requests.size() - 1, sim_seconds(ms * 1e-3));
    }
    const std::uint64_t group = groups.below(static_cast<std::uint64_t>(spec.prefix_groups));
    const auto ids = static_cast<std::uint32_t>(load.ids.size());
    name_blocks(static_cast<std::int32_t>(said), static_cast<std::uint64_t>(c), shared, group,
                load.ids);
    for (auto i = first; i < load.requests.size(); ++i) {
      Request& r = load.requests[i];
      r.first_id = ids;
      r.ids = static_cast<std::uint32_t>((r.input + r.output + kIdTokens - 1) / kIdTokens);
    }
  }
  if (!load.follow_ups.empty()) load.follow_ups.resize(load.requests.size());
  set_arrivals(spec, load);
  return load;
}

}  // namespace

void set_arrivals(const LoadSpec& spec, RequestLoad& load) {
  const auto process = make_arrivals(spec.arrivals, spec.parameters);
  RandomStream random(spec.seed, "arrivals");
  constexpr double kLatest = 100 * 86400.0;
  double now = 0;
  for (std::size_t i = 0; i < load.requests.size(); ++i) {
    Request& r = load.requests[i];
    if (!load.waits(i)) now = process->next(now, random);
    if (!(now <= kLatest))
      throw InputError(
          "load: the last request would arrive after 100 days; raise rate or ask for fewer");
    r.arrival = sim_seconds(now);
  }
}

RequestLoad make_load(const LoadSpec& spec) {
  if (spec.converses()) return make_conversations(spec);
  RequestLoad load;
  load.id_tokens = kIdTokens;
  load.requests.resize(static_cast<std::size_t>(spec.requests));
  RandomStream inputs(spec.seed, "input"), outputs(spec.seed, "output"),
      groups(spec.seed, "prefix");
  const std::int32_t blocks = spec.shared_prefix / kIdTokens;
  for (std::int64_t g = 0; blocks > 0 && g < spec.prefix_groups; ++g) {
    for (std::int32_t b = 0; b < blocks; ++b)
      load.ids.push_back((static_cast<std::uint64_t>(g) << 32) | static_cast<std::uint32_t>(b));
  }
  for (Request& r : load.requests) {
    r.input = std::max(spec.input.at(inputs.uniform()), spec.shared_prefix + 1);
    r.output = spec.output.at(outputs.uniform());
    if (blocks == 0) continue;
    const auto group = groups.below(static_cast<std::uint64_t>(spec.prefix_groups));
    r.first_id = static_cast<std::uint32_t>(group * static_cast<std::uint64_t>(blocks));
    r.ids = static_cast<std::uint32_t>(blocks);
  }
  set_arrivals(spec, load);
  RandomStream samples(spec.seed, "samples");
  if (spec.samples > 1) sample_each(spec.samples, samples, spec.output, load);
  return load;
}

void assign_priorities(RequestLoad& load, const std::vector<double>& shares, std::uint64_t seed) {
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  if (!(sum > 0)) throw InputError("load.priorities: expected shares of which one is above 0");
  RandomStream random(seed, "priority");
  std::map<std::int32_t, std::int32_t> of_session;
  for (Request& r : load.requests) {
    double left = random.uniform() * sum;
    std::int32_t priority = 0;
    for (double share : shares) {
      left -= share;
      if (left < 0) break;
      ++priority;
    }
    r.priority = std::min(priority, static_cast<std::int32_t>(shares.size()) - 1);
    if (r.session >= 0) r.priority = of_session.try_emplace(r.session, r.priority).first->second;
  }
}

}  // namespace orrery
