// VIDUR's published case (Llama-2-7B, one A100, Poisson 2/s): its figures within 10 %.
//
// The load is VIDUR's own, random numbers included: Python's generator seeded with 42 gives,
// request after request, a gap of -ln(1-u)/rate clipped at 3/rate and a length 128 + 384 u, of
// which one in 21 tokens (rounded up) is output. VIDUR leaves host time out and divides TPOT by n,
// not n - 1. Its "preempted" are requests that waited, decoding, while a step of prompts alone ran
// (stalls here); none lost its KV cache (evictions).
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <random>

#include "orrery/base/quantile.h"
#include "orrery/scenario/kinds/service/service_detail.h"
#include "orrery/scenario/kinds/service/service_question.h"
#include "orrery/scenario/runner/runner.h"

namespace orrery {
namespace vidur_test {

// Seeds std::mt19937 as Python's random.seed(n) does: init_by_array of Matsumoto and Nishimura with
// the key {n}.
class PythonSeed {
 public:
  using result_type = std::uint32_t;
  explicit PythonSeed(std::uint32_t key) : key_(key) {}
  template <class Iterator>
  void generate(Iterator begin, Iterator end) const {
    const auto n = static_cast<std::size_t>(end - begin);
    std::vector<std::uint32_t> s(n);
    s[0] = 19650218;
    for (std::uint32_t i = 1; i < n; ++i) s[i] = 1812433253u * (s[i - 1] ^ (s[i - 1] >> 30)) + i;
    std::size_t i = 1;
    const auto next = [&] {
      if (++i >= n) s[0] = s[n - 1], i = 1;
    };
    for (std::size_t k = 0; k < n; ++k, next())
      s[i] = (s[i] ^ ((s[i - 1] ^ (s[i - 1] >> 30)) * 1664525u)) + key_;
    for (std::size_t k = 1; k < n; ++k, next())
      s[i] = (s[i] ^ ((s[i - 1] ^ (s[i - 1] >> 30)) * 1566083941u)) - static_cast<std::uint32_t>(i);
    s[0] = 0x80000000u;
    std::copy(s.begin(), s.end(), begin);
  }

 private:
  std::uint32_t key_;
};

class PythonRandom {
 public:
  double operator()() {  // random.random()
    const double a = static_cast<double>(engine_() >> 5), b = static_cast<double>(engine_() >> 6);
    return (a * 67108864 + b) / 9007199254740992.0;
  }

 private:
  PythonSeed seed_{42};
  std::mt19937 engine_{seed_};
};

// First numbers of Python's random.seed(42).
TEST(PythonRandom, IsPythons) {
  PythonRandom random;
  EXPECT_DOUBLE_EQ(random(), 0.6394267984578837);
  EXPECT_DOUBLE_EQ(random(), 0.025010755222666936);
}

std::string trace_of(int requests) {
  const std::string path = ::testing::TempDir() + "vidur.csv";
  std::ofstream out(path);
  out << "arrived_at,num_prefill_tokens,num_decode_tokens\n";
  out.precision(12);
  PythonRandom random;
  constexpr double kRate = 2;
  double time = 0;
  for (int i = 0; i < requests; ++i) {
    time += std::min(-std::log(1 - random()) / kRate, 3 / kRate);
    const double total = 128 + 384 * random(), decode = std::ceil(total / 21);
    out << time << ',' << static_cast<int>(total - decode) << ',' << static_cast<int>(decode)
        << '\n';
  }
  return path;
}

struct Figures {
  double e2e = 0, e2e_p99 = 0, ttft = 0, tpot = 0;  // s
  int stalled = 0, evicted = 0;                     // requests
};

Figures run(int requests, const char* scheduler, int budget) {
  Scenario s;
  s.name = "vidur";
  s.model = "llama-2-7b";
  s.hardware.gpu = "a100-80g-sxm";
  s.engine.profile = "vllm";
  s.ask<ServiceQuestion>().trace = trace_of(requests);
  s.ask<ServiceQuestion>().requests = 0;
  const auto set = [&](const char* key, const std::string& value) {
    set_path(s.engine.overrides, key, scalar_node(value, key));
  };
  set("scheduler.policy", scheduler);
  set("scheduler.max_num_seqs", "128");
  set("scheduler.max_num_batched_tokens", std::to_string(budget));
  set("scheduler.async_scheduling", "false");
  for (const char* host :
       {"execution.host_per_step", "execution.launch", "execution.overhead_per_prompt_token"})
    set(host, "0 us");
  set("execution.fused", "true");
  RunOptions options;
  options.intervals = false;
  options.requests = true;
  Runner runner{Bundle()};
  const Answer answer = runner.run(s, options);
  Figures f;
  std::vector<double> e2e;
  for (const RequestRow& r : service_detail(answer.points.at(0)).requests) {
    e2e.push_back(r.e2e.value());
    f.e2e += r.e2e.value() / requests;
    f.ttft += r.ttft.value() / requests;
    f.tpot += (r.e2e - r.ttft).value() / static_cast<double>(r.output) / requests;
    f.stalled += r.stalls > 0;
    f.evicted += r.evictions > 0;
  }
  f.e2e_p99 = quantile(e2e, 0.99);
  return f;
}

void expect_within_a_tenth(double predicted, double published) {
  EXPECT_NEAR(predicted, published, 0.1 * published);
}

TEST(Vidur, VllmBeforeV1) {
  const Figures f = run(200, "vllm-v0", 4096);
  expect_within_a_tenth(f.e2e, 0.177);
  expect_within_a_tenth(f.e2e_p99, 0.314);
  expect_within_a_tenth(f.ttft, 0.027);
  expect_within_a_tenth(f.tpot, 0.0093);
  expect_within_a_tenth(f.stalled, 53);
  EXPECT_EQ(f.evicted, 0);
}

TEST(Vidur, Sarathi) {
  const Figures f = run(50, "sarathi", 512);
  expect_within_a_tenth(f.e2e, 0.158);
  expect_within_a_tenth(f.e2e_p99, 0.262);
  expect_within_a_tenth(f.ttft, 0.025);
  expect_within_a_tenth(f.tpot, 0.0090);
  EXPECT_EQ(f.stalled, 0);
  EXPECT_EQ(f.evicted, 0);
}

}  // namespace vidur_test
}  // namespace orrery
