#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "orrery/base/random.h"
#include "orrery/workload/ops/op.h"

namespace orrery {
namespace routing_test {

// The model simulated: loads drawn once an experiment, every token picks top_k different experts
// one after the other with the odds of their loads.
struct Simulated {
  double active = 0, imbalance = 0;
};

Simulated simulate(int tokens, int experts, int top_k, int ep, double skew, int runs) {
  RandomStream random(7, "routing");
  Simulated mean;
  for (int run = 0; run < runs; ++run) {
    std::vector<double> load(static_cast<std::size_t>(experts), 1.0);
    const double most = 1 + 0.8 * tokens;
    if (skew != 0) {
      for (double& x : load) {
        const double u = random.uniform(), a = 1 - skew;
        x = std::pow(1 + u * (std::pow(most, a) - 1), 1 / a);
      }
    }
    std::vector<int> picks(load.size(), 0);
    for (int t = 0; t < tokens; ++t) {
      std::vector<double> odds = load;
      double sum = 0;
      for (double x : odds) sum += x;
      for (int k = 0; k < top_k; ++k) {
        double at = random.uniform() * sum;
        std::size_t e = 0;
        while (e + 1 < odds.size() && (odds[e] == 0 || at >= odds[e])) at -= odds[e++];
        ++picks[e];
        sum -= odds[e];
        odds[e] = 0;
      }
    }
    int busiest = 0;
    for (int g = 0; g < ep; ++g) {
      int slots = 0;
      for (int e = g * experts / ep; e < (g + 1) * experts / ep; ++e)
        slots += picks[static_cast<std::size_t>(e)];
      busiest = std::max(busiest, slots);
    }
    mean.active += static_cast<double>(
                       std::count_if(picks.begin(), picks.end(), [](int n) { return n > 0; })) /
                   runs;
    mean.imbalance += 1.0 * busiest * ep / (tokens * top_k) / runs;
  }
  return mean;
}

TEST(Routing, OneTokenActivatesTopK) {
  for (double skew : {0.0, 0.6, 1.0, 1.2, 2.0}) {
    EXPECT_NEAR(expected_active_experts(1, 256, 8, skew), 8, 1e-9) << skew;
    EXPECT_NEAR(expected_active_experts(1, 8, 2, skew), 2, 1e-9) << skew;
  }
}

TEST(Routing, UniformLoadsFollowTheClosedForm) {
  // Each of 4 experts is missed by a token with chance 1/2, by two tokens with 1/4: 4 * 3/4.
  EXPECT_NEAR(expected_active_experts(2, 4, 2, 0), 3, 1e-12);
  // 16 experts, one of them a token: 16 * (1 - (15/16)^16) = 10.30.
  EXPECT_NEAR(expected_active_experts(16, 16, 1, 0), 10.30, 0.005);
}

TEST(Routing, ManyTokensActivateAllExperts) {
  EXPECT_NEAR(expected_active_experts(100000, 256, 8, 0), 256, 1e-6);
  EXPECT_GT(expected_active_experts(1000000, 64, 8, 1.2), 63);
  EXPECT_EQ(expected_active_experts(5, 4, 4, 1.2), 4);
}

TEST(Routing, SkewActivatesFewerExperts) {
  EXPECT_LT(expected_active_experts(64, 256, 8, 1.2),
            0.95 * expected_active_experts(64, 256, 8, 0));
}

TEST(Routing, MoreTokensActivateMoreExpertsAndLoadTheBusiestGroupMore) {
  for (double skew : {0.0, 1.01, 1.2}) {
    for (int ep : {2, 16, 128}) {
      double active = 0, slots = 0;
      for (std::int64_t n = 1; n <= 1 << 20; n += 1 + n / 7) {
        const double a = expected_active_experts(n, 256, 8, skew);
        const double s = expert_imbalance(n, 256, 8, ep, skew) * static_cast<double>(n) * 8 / ep;
        EXPECT_GE(a, active) << n;
        EXPECT_GE(s, slots * (1 - 1e-9)) << n << " " << skew << " " << ep;
        active = a;
        slots = s;
      }
    }
  }
}

TEST(Routing, ImbalanceIsOneWithoutGroupsAndForManyBalancedTokens) {
  EXPECT_EQ(expert_imbalance(100, 256, 8, 1, 1.2), 1);
  EXPECT_NEAR(expert_imbalance(100000000, 256, 8, 32, 0), 1, 0.003);
}

TEST(Routing, ImbalanceStaysWithinItsBounds) {
  // One pick of one token goes to one of ep groups: exactly ep times the mean.
  EXPECT_NEAR(expert_imbalance(1, 128, 1, 16, 1.2), 16, 1e-9);
  // Two experts in two groups, both picked by every token: never any imbalance.
  EXPECT_NEAR(expert_imbalance(1000, 2, 2, 2, 1.2), 1, 1e-9);
  for (int n : {1, 3, 50, 4000}) {
    for (int ep : {2, 8, 64}) {
      const double i = expert_imbalance(n, 64, 4, ep, 1.5);
      EXPECT_GE(i, 1);
      EXPECT_LE(i, ep);
      EXPECT_GE(i * n * 4 / ep, 1 - 1e-9) << "at least one pick lands somewhere";
    }
  }
}

TEST(Routing, AgreesWithSimulation) {
  struct Case {
    int tokens, experts, top_k, ep;
    double skew;
  };
  for (const Case& c : {Case{16, 64, 4, 8, 0}, Case{64, 128, 8, 4, 1.01}, Case{16, 128, 8, 16, 1.2},
                        Case{300, 64, 4, 8, 1.2}, Case{200, 32, 2, 32, 1.01}}) {
    const Simulated s = simulate(c.tokens, c.experts, c.top_k, c.ep, c.skew, 60);
    EXPECT_NEAR(expected_active_experts(c.tokens, c.experts, c.top_k, c.skew) / s.active, 1, 0.08)
        << c.tokens << " " << c.experts;
    EXPECT_NEAR(expert_imbalance(c.tokens, c.experts, c.top_k, c.ep, c.skew) / s.imbalance, 1, 0.25)
        << c.tokens << " " << c.experts;
  }
}

// A load balancer, step by step: loads of the law at equal steps of their rank, copies one by one
// for the busiest, and every copy to the least busy rank that has a free place.
double placed_imbalance(int tokens, int experts, int redundant, int top_k, int ep, double skew) {
  std::vector<double> load;
  const double most = 1 + 0.8 * tokens, a = 1 - skew;
  double sum = 0;
  for (int i = 0; i < experts; ++i) {
    const double u = (i + 0.5) / experts;
    load.push_back(std::pow(1 + u * (std::pow(most, a) - 1), 1 / a));
    sum += load.back();
  }
  // An expert is picked by every token at most once; what is cut is left to the others.
  for (double& x : load) x = std::min(1.0, x / sum * top_k);
  std::vector<int> copies(load.size(), 1);
  const auto each = [&](std::size_t i) { return load[i] / copies[i]; };
  for (int r = 0; r < redundant; ++r) {
    std::size_t busiest = 0;
    for (std::size_t i = 1; i < load.size(); ++i)
      if (each(i) > each(busiest)) busiest = i;
    ++copies[busiest];
  }
  std::vector<double> placed;
  for (std::size_t i = 0; i < load.size(); ++i)
    for (int c = 0; c < copies[i]; ++c) placed.push_back(each(i));
  std::sort(placed.rbegin(), placed.rend());
  std::vector<double> rank(static_cast<std::size_t>(ep), 0.0);
  std::vector<int> held(rank.size(), 0);
  for (double x : placed) {
    std::size_t best = rank.size();
    for (std::size_t r = 0; r < rank.size(); ++r)
      if (held[r] < (experts + redundant) / ep && (best == rank.size() || rank[r] < rank[best]))
        best = r;
    rank[best] += x;
    ++held[best];
  }
  double total = 0;
  for (double x : placed) total += x;
  return *std::max_element(rank.begin(), rank.end()) * ep / total;
}

TEST(Routing, ABalancerComesCloseToItsPlacementStepByStep) {
  struct Case {
    int tokens, experts, redundant, top_k, ep;
    double skew;
  };
  // Many tokens, so that their draw is even.
  for (const Case& c : {Case{20000, 256, 0, 8, 8, 1.01}, Case{20000, 256, 0, 8, 64, 1.01},
                        Case{20000, 256, 32, 8, 72, 1.01}, Case{50000, 256, 32, 8, 144, 1.01},
                        Case{50000, 256, 0, 8, 128, 1.01}, Case{20000, 128, 16, 4, 48, 0.6}}) {
    const double placed = placed_imbalance(c.tokens, c.experts, c.redundant, c.top_k, c.ep, c.skew);
    const double here = eplb_imbalance(c.tokens, {c.experts, c.top_k, c.skew}, c.redundant, c.ep);
    EXPECT_NEAR(here / placed, 1, 0.12)
        << c.ep << " ranks, " << c.redundant << " redundant: " << here << " for " << placed;
  }
}

TEST(Routing, ABalancerNeverAddsImbalanceAndCopiesNeverDo) {
  for (double skew : {0.0, 0.6, 1.01, 1.2}) {
    for (int ep : {1, 8, 32, 64, 128}) {
      for (int tokens : {1, 40, 1000, 50000}) {
        double before = expert_imbalance(tokens, 256, 8, ep, skew);
        for (int redundant = 0; redundant <= 512; redundant += 64) {
          const double now = eplb_imbalance(tokens, {256, 8, skew}, redundant, ep);
          EXPECT_LE(now, before * (1 + 1e-9)) << skew << " " << ep << " " << tokens;
          EXPECT_GE(now, 1);
          before = now;
        }
      }
    }
  }
}

}  // namespace routing_test
}  // namespace orrery
