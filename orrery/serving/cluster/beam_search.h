// Beam search as vLLM V1 does it: outside of the engine (entrypoints: beam_search).
//
// A request of beam width w and n output tokens takes n rounds. In the first, its prompt goes to
// the engine as a request for one token. From then on w beams are kept: each proposes its 2 w
// likeliest tokens, the w best of all go on, and each of these is one more request for one token,
// whose prompt is all of the beam so far. A round ends with its last beam; the next requests are
// formed one after the other (`overhead` each), for all searches of the service, in one process.
//
// Beams that end early are put aside and cost nothing more; as 2 w candidates a beam always leave w
// that go on, the search runs for all n rounds (vLLM's loop does). An answer is out at its end.
//
// The engine knows nothing of this. Whole blocks that a beam shares with its ancestors are found in
// the prefix cache, as long as it holds them; what is in the last, partly filled block is computed
// again in each round. Without prefix caching everything is.
//
// Which beams go on: parents are drawn, each beam alike (random genealogy: w beams have their last
// common ancestor about 2 w rounds back). Blocks saved by sharing, against beams that share
// nothing, on prompts of 19 and answers of 58 tokens: 35 to 56 % for w = 2 to 6 so, 38 to 55 %
// measured with vLLM's own beam search of 2023 (Kwon et al., SOSP'23, figure 15).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "orrery/base/random.h"
#include "orrery/serving/requests/request.h"

namespace orrery {

struct Beams {
  std::int32_t width = 1;  // 1: no beam search
  SimTime overhead;        // the front end's, for each request of a round after the first
  bool on() const { return width > 1; }
};

// The searches of a load. Requests of rounds have numbers behind those of the load's own.
class BeamSearch {
 public:
  // REQUIRES beams.on(). InputError: more tokens than can be told apart.
  BeamSearch(const RequestLoad& load, const Beams& beams, std::int32_t block_size,
             std::uint64_t seed);

  // The load's requests, and behind them those of rounds under way.
  const RequestLoad& load() const { return load_; }
  // Whose beam it is.
  std::uint32_t search_of(std::uint32_t beam) const { return groups_[group_of(beam)].request; }

  // The first round of a request: its beam.
  std::uint32_t start(std::uint32_t request);
  // A beam of the round has its token. Whether all have: the round ends.
  bool ended(std::uint32_t beam);
  // Rounds that have ended.
  std::int32_t rounds(std::uint32_t beam) const { return groups_[group_of(beam)].rounds; }
  // When the round before the present one ended. REQUIRES there was one.
  SimTime last_end(std::uint32_t beam) const { return groups_[group_of(beam)].last_end; }
  // The round ended now. Beams of the next one; none if it was the last. Valid until the next call.
  std::span<const std::uint32_t> next_round(std::uint32_t beam, SimTime now);

 private:
  struct Group {
    std::uint32_t request = 0;
    std::int32_t rounds = 0;
    std::int32_t under_way = 0;  // beams of this round
    std::int32_t size = 1;       // beams kept
    SimTime last_end;            // of a round
  };
  std::size_t group_of(std::uint32_t beam) const {
    return (beam - own_) / static_cast<std::uint32_t>(beams_.width);
  }
  std::size_t new_group(std::uint32_t blocks);
  std::uint64_t prompt_id(const Request& r, std::uint32_t request, std::uint32_t block) const;

  Beams beams_;
  std::uint32_t own_;  // requests of the load itself
  std::int32_t block_;
  std::int32_t load_id_tokens_;
  RequestLoad load_;  // ids of the load, then room for those of each group's beams
  RandomStream parents_;
  std::vector<Group> groups_;
  std::vector<std::uint32_t> room_;  // blocks of a beam, by group
  std::vector<std::size_t> unused_;  // groups whose search has ended
  std::vector<std::uint64_t> histories_;
  std::vector<std::uint32_t> next_;
  std::uint64_t fresh_ = 0;  // blocks that were made so far
};

}  // namespace orrery
