// Users of equal lengths, one request after the other: the closed form against the simulation of
// the same question.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "orrery/base/quantile.h"
#include "orrery/scenario/kinds/service/service_question.h"
#include "orrery/scenario/runner/runner.h"

namespace orrery {
namespace closed_loop_law_test {

struct Times {
  double ttft = 0, e2e = 0;
};

class ClosedLoopLaw : public testing::Test {
 protected:
  Scenario question(const std::string& model, const std::string& gpu, const std::string& engine) {
    Scenario s;
    s.model = model;
    s.hardware.gpu = gpu;
    s.engine.profile = engine;
    s.engine.setup = "tuned";  // every batch is replayed: a plain TensorRT-LLM's time jumps
    return s;
  }
  Times ask(const Scenario& s) {
    RunOptions options;
    options.breakdown = options.intervals = false;
    const Answer answer = runner.run(s, options);
    const Point& p = answer.points.at(0);
    EXPECT_TRUE(p.feasibility.fits) << p.feasibility.reason;
    return {p.find("ttft")->value, p.find("e2e")->value};
  }
  Times closed_form(Scenario s, std::int64_t isl, std::int64_t osl, std::int64_t users) {
    SteadyQuestion& load = s.ask<SteadyQuestion>();
    load.isl = isl, load.osl = osl, load.batch = users;
    load.closed_loop = true;
    return ask(s);
  }
  Times simulation(Scenario s, std::int64_t isl, std::int64_t osl, std::int64_t users) {
    ServiceQuestion& load = s.ask<ServiceQuestion>();
    load.isl = std::to_string(isl), load.osl = std::to_string(osl);
    load.arrivals = "at-once";
    load.max_concurrency = users;
    load.requests = users * SteadyQuestion().requests_per_user;
    return ask(s);
  }

  Runner runner{Bundle()};
};

// Once five times too early: 16 users of 1,024 + 128 tokens wait for each other in every wave, 64
// are never again all together.
TEST_F(ClosedLoopLaw, UsersInStepWaitForEachOther) {
  const Scenario s = question("llama-3-8b", "h100-sxm", "vllm");
  for (const std::int64_t users : {4, 16, 64}) {
    const Times form = closed_form(s, 1024, 128, users), run = simulation(s, 1024, 128, users);
    EXPECT_NEAR(form.ttft / run.ttft, 1, 0.1) << users;
    EXPECT_NEAR(form.e2e / run.e2e, 1, 0.03) << users;
  }
}

TEST_F(ClosedLoopLaw, AgreesWithTheSimulation) {
  std::mt19937_64 random(13);
  const auto draw = [&](double least, double most) {
    const double u = static_cast<double>(random() >> 11) * 0x1p-53;
    return static_cast<std::int64_t>(std::exp2(least + (most - least) * u));
  };
  std::vector<double> ttft, e2e;
  for (const char* engine : {"vllm", "vllm-2025", "vllm-2023", "sglang", "trtllm"}) {
    for (const char* gpu : {"h100-sxm", "l40s"}) {
      const Scenario s = question("llama-3-8b", gpu, engine);
      for (int i = 0; i < 4; ++i) {
        const std::int64_t isl = draw(6, 12), osl = draw(3, 9), users = draw(1, 6);
        const Times form = closed_form(s, isl, osl, users), run = simulation(s, isl, osl, users);
        ttft.push_back(std::abs(std::log(form.ttft / run.ttft)));
        e2e.push_back(std::abs(std::log(form.e2e / run.e2e)));
        EXPECT_LT(ttft.back(), std::log(1.7))
            << engine << ' ' << gpu << ' ' << isl << ' ' << osl << ' ' << users << ": " << form.ttft
            << ' ' << run.ttft;
      }
    }
  }
  EXPECT_LT(quantile(ttft, 0.5), 0.1);
  EXPECT_LT(quantile(ttft, 0.9), 0.3);
  EXPECT_LT(quantile(e2e, 0.5), 0.02);
  EXPECT_LT(quantile(e2e, 0.9), 0.2);
}

// Lengths that scatter by a third: nobody meets the others' prompts but by chance.
TEST_F(ClosedLoopLaw, UsersOfMixedLengthsDriftApart) {
  Scenario s = question("llama-3-8b", "h100-sxm", "vllm");
  const Times in_step = closed_form(s, 1024, 512, 16);
  s.ask<SteadyQuestion>().equal_lengths = false;
  const Times scattered = closed_form(s, 1024, 512, 16);
  ServiceQuestion& load = s.ask<ServiceQuestion>();
  load.isl = "uniform(683, 1365)", load.osl = "uniform(341, 683)";
  load.arrivals = "at-once";
  load.max_concurrency = 16;
  load.requests = 160;
  const Times run = ask(s);
  EXPECT_LT(scattered.ttft, in_step.ttft / 3);
  EXPECT_NEAR(scattered.ttft / run.ttft, 1, 0.25);
  EXPECT_NEAR(scattered.e2e / run.e2e, 1, 0.05);
}

}  // namespace closed_loop_law_test
}  // namespace orrery
