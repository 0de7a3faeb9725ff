#include "orrery/serving/cluster/rounds.h"

#include <algorithm>
#include <utility>

namespace orrery {
namespace {

class SingleRounds : public Rounds {
 public:
  SingleRounds(const RequestLoad& load, ReplicaObserver& simulation)
      : load_(load), simulation_(simulation) {}

  const RequestLoad& load() const override { return load_; }
  std::uint32_t start(std::uint32_t request) override { return request; }
  std::uint32_t of_load(std::uint32_t sent) const override { return sent; }
  bool several() const override { return false; }
  ReplicaObserver& observer() override { return simulation_; }

 private:
  const RequestLoad& load_;
  ReplicaObserver& simulation_;
};

class BeamRounds : public Rounds, private ReplicaObserver {
 public:
  BeamRounds(BeamSearch search, SimTime overhead, ReplicaObserver& simulation,
             std::function<void(SimTime, std::uint32_t)> send)
      : search_(std::move(search)),
        overhead_(overhead),
        simulation_(simulation),
        send_(std::move(send)) {}

  const RequestLoad& load() const override { return search_.load(); }
  std::uint32_t start(std::uint32_t request) override { return search_.start(request); }
  std::uint32_t of_load(std::uint32_t beam) const override { return search_.search_of(beam); }
  bool several() const override { return true; }
  ReplicaObserver& observer() override { return *this; }

 private:
  void scheduled(std::uint32_t beam, SimTime now, std::int32_t cached) override {
    if (search_.rounds(beam) == 0) simulation_.scheduled(of_load(beam), now, cached);
  }
  void evicted(std::uint32_t beam) override { simulation_.evicted(of_load(beam)); }
  void stalled(std::uint32_t beam) override { simulation_.stalled(of_load(beam)); }
  // A request for one token ends with it, so that finished() tells of the token.
  void token(std::uint32_t, SimTime, SimTime, bool) override {}
  void tokens(const Replica&, std::int64_t, SimTime, SimTime) override {}
  void finished(std::uint32_t beam, SimTime now) override {
    if (!search_.ended(beam)) return;
    const std::uint32_t request = of_load(beam);
    const bool first = search_.rounds(beam) == 1;
    simulation_.token(request, now, first ? SimTime{} : search_.last_end(beam), first);
    const std::span<const std::uint32_t> next = search_.next_round(beam, now);
    for (std::uint32_t b : next) {
      formed_ = std::max(now, formed_) + overhead_;
      send_(formed_, b);
    }
    if (next.empty()) simulation_.finished(request, now);
  }
  void prefilled(std::uint32_t, SimTime) override {}
  void allocated(std::uint32_t, SimTime, std::int32_t) override {}

  BeamSearch search_;
  SimTime overhead_;
  ReplicaObserver& simulation_;
  std::function<void(SimTime, std::uint32_t)> send_;
  SimTime formed_;  // when the front end formed the last request of a round
};

}  // namespace

std::unique_ptr<Rounds> single_rounds(const RequestLoad& load, ReplicaObserver& simulation) {
  return std::make_unique<SingleRounds>(load, simulation);
}

std::unique_ptr<Rounds> beam_rounds(BeamSearch search, SimTime overhead,
                                    ReplicaObserver& simulation,
                                    std::function<void(SimTime, std::uint32_t)> send) {
  return std::make_unique<BeamRounds>(std::move(search), overhead, simulation, std::move(send));
}

}  // namespace orrery
