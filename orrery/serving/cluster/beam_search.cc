#include "orrery/serving/cluster/beam_search.h"

#include <algorithm>

#include "orrery/base/error.h"

namespace orrery {
namespace {

// Ids of the load have neither bit (load.cc).
constexpr std::uint64_t kOwn = std::uint64_t{3} << 62, kMade = std::uint64_t{1} << 62;

}  // namespace

BeamSearch::BeamSearch(const RequestLoad& load, const Beams& beams, std::int32_t block_size,
                       std::uint64_t seed)
    : beams_(beams),
      own_(static_cast<std::uint32_t>(load.requests.size())),
      block_(block_size),
      load_id_tokens_(load.id_tokens),
      load_(load),
      parents_(seed, "beams") {
  load_.id_tokens = block_size;
}

std::size_t BeamSearch::new_group(std::uint32_t blocks) {
  const auto at = std::find_if(unused_.begin(), unused_.end(),
                               [&](std::size_t g) { return room_[g] >= blocks; });
  if (at != unused_.end()) {
    const std::size_t group = *at;
    unused_.erase(at);
    return group;
  }
  const auto width = static_cast<std::size_t>(beams_.width);
  const std::size_t first = load_.ids.size();
  if (first + width * blocks > UINT32_MAX || load_.requests.size() + width > UINT32_MAX)
    throw InputError("load.beam_width: the beams have too many tokens to identify all of them");
  load_.ids.resize(first + width * blocks);
  for (std::size_t b = 0; b < width; ++b) {
    Request& r = load_.requests.emplace_back();
    r.first_id = static_cast<std::uint32_t>(first + b * blocks);
  }
  groups_.emplace_back();
  room_.push_back(blocks);
  return groups_.size() - 1;
}

// The id of a whole block of the prompt, from the ids of the load where it has any.
std::uint64_t BeamSearch::prompt_id(const Request& r, std::uint32_t request,
                                    std::uint32_t block) const {
  const auto last = (block + 1) * static_cast<std::uint32_t>(block_) - 1;
  const std::uint32_t id = last / static_cast<std::uint32_t>(load_id_tokens_);
  return id < r.ids ? load_.ids[r.first_id + id]
                    : kOwn | std::uint64_t{request} << 24 | std::uint64_t{block};
}

std::uint32_t BeamSearch::start(std::uint32_t request) {
  const std::int32_t longest = load_.requests[request].input + load_.requests[request].output;
  const std::size_t group = new_group(static_cast<std::uint32_t>(longest / block_ + 1));
  groups_[group] = {request, 0, 1, 1, {}};
  const auto beam =
      own_ + static_cast<std::uint32_t>(group) * static_cast<std::uint32_t>(beams_.width);
  const Request& own = load_.requests[request];
  for (std::uint32_t b = beam; b < beam + static_cast<std::uint32_t>(beams_.width); ++b) {
    Request& r = load_.requests[b];
    const std::uint32_t first = r.first_id;
    r = own;
    r.first_id = first;
    r.output = 1;
    r.ids = static_cast<std::uint32_t>(own.input / block_);
  }
  for (std::uint32_t i = 0; i < load_.requests[beam].ids; ++i)
    load_.ids[load_.requests[beam].first_id + i] = prompt_id(own, request, i);
  return beam;
}

bool BeamSearch::ended(std::uint32_t beam) {
  Group& g = groups_[group_of(beam)];
  if (--g.under_way > 0) return false;
  ++g.rounds;
  return true;
}

std::span<const std::uint32_t> BeamSearch::next_round(std::uint32_t beam, SimTime now) {
  const std::size_t group = group_of(beam);
  Group& g = groups_[group];
  g.last_end = now;
  next_.clear();
  if (g.rounds == load_.requests[g.request].output) {
    unused_.push_back(group);
    return next_;
  }
  const auto width = static_cast<std::uint32_t>(beams_.width);
  const std::uint32_t first = own_ + static_cast<std::uint32_t>(group) * width;
  const std::uint32_t known = load_.requests[first].ids;  // the same for all beams
  histories_.clear();
  for (std::uint32_t b = 0; b < static_cast<std::uint32_t>(g.size); ++b) {
    const auto ids = load_.ids.begin() + load_.requests[first + b].first_id;
    histories_.insert(histories_.end(), ids, ids + known);
  }
  parents_.seek(std::uint64_t{g.request} << 32 | static_cast<std::uint32_t>(g.rounds) * width);
  for (std::uint32_t b = 0; b < width; ++b) {
    Request& r = load_.requests[first + b];
    const auto parent =
        static_cast<std::ptrdiff_t>(parents_.below(static_cast<std::uint64_t>(g.size)));
    std::copy_n(histories_.begin() + parent * static_cast<std::ptrdiff_t>(known), known,
                load_.ids.begin() + r.first_id);
    ++r.input;
    if (r.input % block_ == 0) load_.ids[r.first_id + r.ids++] = kMade | fresh_++;
    next_.push_back(first + b);
  }
  g.size = g.under_way = beams_.width;
  return next_;
}

}  // namespace orrery
