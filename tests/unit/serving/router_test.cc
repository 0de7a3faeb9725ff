#include "orrery/serving/routers/router.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>

#include "orrery/base/error.h"
#include "tests/unit/serving/service_fixture.h"

namespace orrery {
namespace router_test {

class Silent : public ReplicaObserver {
 public:
  void scheduled(std::uint32_t, SimTime, std::int32_t) override {}
  void evicted(std::uint32_t) override {}
  void stalled(std::uint32_t) override {}
  void token(std::uint32_t, SimTime, SimTime, bool) override {}
  void tokens(const Replica&, std::int64_t, SimTime, SimTime) override {}
  void finished(std::uint32_t, SimTime) override {}
  void prefilled(std::uint32_t, SimTime) override {}
  void allocated(std::uint32_t, SimTime, std::int32_t) override {}
};

// Engines with chosen queues.
class Engines {
 public:
  explicit Engines(std::vector<std::int64_t> kv_blocks, bool prefix_caching = false) {
    load_.id_tokens = 16;
    for (std::uint64_t i = 0; i < 8; ++i) load_.ids.push_back(i);
    for (int i = 0; i < 200; ++i) {
      Request r = request_at({}, 100, 2);
      r.first_id = 0;
      r.ids = i == 0 ? 0 : 6;  // all but the first share 96 tokens
      load_.requests.push_back(r);
    }
    for (std::int64_t blocks : kv_blocks) {
      ReplicaConfig& c = configs_.emplace_back(plain_service().replica);
      c.kv_blocks = blocks;
      c.engine.scheduler.prefix_caching = prefix_caching;
      engines_.push_back(std::make_unique<Engine>(c, load_, timer_, observer_));
      view_.emplace_back(*engines_.back());
    }
  }
  // So many requests join the queue of engine i, and wait.
  void queue(std::size_t i, int requests) {
    for (int n = 0; n < requests; ++n) engines_[i]->enter(1);
  }
  void finish_all(std::size_t i) {
    Engine& e = *engines_[i];
    for (e.dispatch({}); e.next() != kNever;) {
      const SimTime now = e.next();
      e.end_step();
      e.dispatch(now);
    }
  }
  Engine& at(std::size_t i) { return *engines_[i]; }
  std::size_t route(Router& router, std::uint32_t request = 0, std::int32_t session = -1) {
    load_.requests[request].session = session;
    return router.route({load_.requests[request], request, {}}, view_);
  }

 private:
  RequestLoad load_;
  PlainTimer timer_;
  Silent observer_;
  std::deque<ReplicaConfig> configs_;  // which the engines borrow
  std::vector<std::unique_ptr<Engine>> engines_;
  std::vector<EngineView> view_;
};

TEST(Router, RoundRobinGoesRound) {
  Engines e({100, 100, 100});
  const auto r = make_router("round-robin", 0);
  for (std::size_t i = 0; i < 7; ++i) EXPECT_EQ(e.route(*r), i % 3);
}

TEST(Router, RandomTakesAllEquallyOften) {
  Engines e({100, 100, 100, 100});
  const auto r = make_router("random", 5), same = make_router("random", 5);
  std::vector<int> hits(4);
  for (int i = 0; i < 4000; ++i) {
    const std::size_t to = e.route(*r);
    EXPECT_EQ(to, e.route(*same));
    ++hits[to];
  }
  for (int h : hits) EXPECT_NEAR(h, 1000, 5 * 27.4);  // five standard deviations
}

TEST(Router, LeastOutstandingTakesTheFirstOfTheLeast) {
  Engines e({100, 100, 100});
  const auto r = make_router("least-outstanding", 0);
  EXPECT_EQ(e.route(*r), 0u);
  e.queue(0, 2);
  e.queue(1, 1);
  EXPECT_EQ(e.route(*r), 2u);
  e.queue(2, 2);
  EXPECT_EQ(e.route(*r), 1u);
}

TEST(Router, PowerOfTwoTakesTheBusierOnlyIfBothDrawsFallOnIt) {
  Engines e({100, 100});
  e.queue(0, 5);
  const auto r = make_router("power-of-two", 3);
  int busier = 0;
  for (int i = 0; i < 4000; ++i) busier += e.route(*r) == 0;
  EXPECT_NEAR(busier, 1000, 5 * 27.4);
}

TEST(Router, SessionsStayTogether) {
  Engines e({100, 100, 100});
  const auto r = make_router("session", 0);
  for (std::int32_t session : {4, 7, 4, 4, 7})
    EXPECT_EQ(e.route(*r, 1, session), static_cast<std::size_t>(session) % 3);
  EXPECT_EQ(e.route(*r), 0u);  // those without one go round
  EXPECT_EQ(e.route(*r), 1u);
}

TEST(Router, PrefixTakesTheLongestCachedOne) {
  Engines e({100, 100, 100}, true);
  const auto r = make_router("prefix", 0);
  e.queue(2, 1);
  e.finish_all(2);
  EXPECT_EQ(e.at(2).cached_prompt(5), 96);
  EXPECT_EQ(e.at(1).cached_prompt(5), 0);
  EXPECT_EQ(e.route(*r, 5), 2u);
  EXPECT_EQ(e.route(*r, 0), 0u);  // a prompt that nobody knows
  e.queue(2, 33);                 // too busy beside the others
  EXPECT_EQ(e.route(*r, 5), 0u);
}

TEST(Router, SloTakesTheShortestQueueOfPrompts) {
  Engines e({100, 100});
  const auto r = make_router("slo", 0);
  e.queue(0, 2);  // 200 prompt tokens ahead
  e.queue(1, 1);
  EXPECT_EQ(e.route(*r), 1u);
  // A chunk of 2048 takes 2058 ms. 100 ahead and 100 of its own.
  EXPECT_NEAR(EngineView(e.at(1)).predicted_ttft(100, {}).seconds(), 0.2 * 2058 / 2048, 1e-9);
  e.at(1).dispatch({});  // its prompt is taken up: a step of 110 ms
  EXPECT_NEAR(EngineView(e.at(1)).predicted_ttft(100, ms(30)).seconds(), 0.080 + 0.1 * 2058 / 2048,
              1e-9);
}

// A request every 30 ms, each of 50 steps of 10 ms, for two engines that are looked at every 100
// ms. At 0 to 90 ms both look idle, at 120 to 180 they have 4 and 0, at 210 to 300 (an arrival goes
// before a look) 4 and 3, then 4 and 7.
TEST(Router, OldLoadsMakeRequestsHerd) {
  std::vector<Request> requests;
  for (int i = 0; i < 14; ++i) requests.push_back(request_at(ms(30 * i), 1, 50));
  const auto engines = [&](Seconds refresh) {
    SimulationConfig c = plain_service();
    c.replicas = 2;
    c.router = "least-outstanding";
    c.router_refresh = refresh;
    PlainTimer timer;
    std::string to;
    for (const RequestRecord& r : simulate(c, load_of(requests), timer).records)
      to += std::to_string(r.replica);
    return to;
  };
  EXPECT_EQ(engines({}), "01010101010101");
  EXPECT_EQ(engines(milliseconds(100)), "00001111111000");
}

// After a quiet time the loads are those of the last look before the next request.
TEST(Router, LooksGoOnAfterAQuietTime) {
  SimulationConfig c = plain_service();
  c.replicas = 2;
  c.router = "least-outstanding";
  c.router_refresh = milliseconds(100);
  PlainTimer timer;
  const Request brief = request_at({}, 1, 2);
  std::vector<Request> requests(6, brief);
  requests[1].arrival = ms(5000);
  for (int i = 2; i < 5; ++i) requests[static_cast<std::size_t>(i)] = request_at(ms(5010), 1, 50);
  requests[5] = request_at(ms(5130), 1, 2);
  const SimulationResult r = simulate(c, load_of(requests), timer);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(r.records[static_cast<std::size_t>(i)].replica, 0);
  EXPECT_EQ(r.records[5].replica, 1);
}

TEST(Router, WeightedLoadKnowsHowLargeEnginesAre) {
  Engines e({100, 400});
  const auto r = make_router("weighted", 0);
  EXPECT_EQ(e.route(*r), 1u);
  e.queue(1, 1);  // 5/400 against 1/100
  EXPECT_EQ(e.route(*r), 0u);
  e.at(1).dispatch({});  // it runs: 2/400
  EXPECT_EQ(e.route(*r), 1u);
}

TEST(Router, UnknownNamesTheNearest) {
  try {
    make_router("least-outstandin", 0);
    FAIL();
  } catch (const InputError& e) {
    EXPECT_NE(std::string(e.what()).find("least-outstanding"), std::string::npos);
  }
}

}  // namespace router_test
}  // namespace orrery
