// A small machine of threads and streams with known rules, which runs a program and writes the
// trace that PyTorch's profiler would. Run again with other durations it is the truth that a
// what-if is held against: it shares no code with the graph or the replay.
//
// Rules, in microseconds: a launch takes 4 of its thread, its kernel begins no sooner than 6 after
// the call's begin, 1.2 after the work before it in its stream, and 1.2 after the work that the
// stream was told to wait for; who waits for the GPU returns 5 after it is done.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace orrery {

class TracedMachine {
 public:
  // Factors: of kernels whose name contains the key, and of what threads do.
  std::map<std::string, double> scale;
  double cpu = 1;
  bool sync_events = false;  // writes cuda_sync
  double jitter = 0;         // relative, of every duration, by a fixed sequence
  int queue = 1024;          // launches that may wait for a stream

  struct Event {
    double at = 0;  // when the work before it is done
    int stream = 0, correlation = 0;
  };

  void work(int thread, double us) { now_[thread] += us * cpu * jittered(); }

  void launch(int thread, int stream, const std::string& kernel, double us,
              const std::string& args = "") {
    for (const auto& [part, factor] : scale) {
      if (kernel.find(part) != kernel.npos) us *= factor;
    }
    const double begin = now_[thread];
    double end = begin + 4 * cpu * jittered();
    auto& ends = ends_[stream];
    if (static_cast<int>(ends.size()) > queue)  // full: until one is done
      end = std::max(end, ends[ends.size() - static_cast<std::size_t>(queue) - 1] + 1);
    const int id = ++correlation_;
    call(thread, "cudaLaunchKernel", begin, end, id);
    double start = std::max(begin + 6, waits_[stream] > 0 ? waits_[stream] + 1.2 : 0);
    if (!ends.empty()) start = std::max(start, ends.back() + 1.2 * jittered());
    waits_[stream] = 0;
    gpu("kernel", kernel, stream, start, us * jittered(), id, args);
  }

  Event record(int thread, int stream) {
    const int id = ++correlation_;
    call(thread, "cudaEventRecord", now_[thread], now_[thread] + 1, id);
    return {done(stream), stream, id};
  }
  void wait(int thread, int stream, const Event& e) {
    const int id = ++correlation_;
    const double begin = now_[thread];
    call(thread, "cudaStreamWaitEvent", begin, begin + 1, id);
    waits_[stream] = std::max(waits_[stream], e.at);
    if (!sync_events) return;
    add(R"("cat": "cuda_sync", "name": "Stream Wait Event")", "0", std::to_string(stream), begin, 1,
        fmt::format(R"("cuda_sync_kind": "Stream Wait Event", "wait_on_stream": {}, )"
                    R"("wait_on_cuda_event_record_corr_id": {}, "stream": {}, "correlation": {}, )"
                    R"("device": 0)",
                    e.stream, e.correlation, stream, id));
  }
  void device_sync(int thread) {
    double last = 0;
    for (const auto& [stream, ends] : ends_) last = std::max(last, done(stream));
    block(thread, "cudaDeviceSynchronize", last);
  }
  // A CUDA graph of two branches: `a`, then `b` on another stream beside `c` on the same one.
  void launch_graph(int thread, int stream, int other, double a, double b, double c) {
    const int id = ++correlation_;
    const double begin = now_[thread];
    call(thread, "cudaGraphLaunch", begin, begin + 9, id);
    const double start = std::max(begin + 12, done(stream) + 1.2), end = start + a;
    gpu("kernel", "nvjet_a", stream, start, a, id, "");
    gpu("kernel", "nccl_b", other, end + 1.2, b, id, "");
    gpu("kernel", "flash_c", stream, end + 1.2, c, id, "");
  }
  // loss.item(): a copy to pageable memory, which waits for itself.
  void copy_back(int thread, int stream, double us) {
    const int id = ++correlation_;
    const double begin = now_[thread];
    const double start = std::max(begin + 6, done(stream) + 1.2);
    gpu("gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", stream, start, us, id, "");
    call(thread, "cudaMemcpyAsync", begin, start + us + 5, id);
    call(thread, "cudaStreamSynchronize", now_[thread], now_[thread] + 2, ++correlation_);
  }
  // `to` goes on when `from` has come here.
  void hand_over(int from, int to) { now_[to] = std::max(now_[to], now_[from] + 8 * cpu); }

  void inside(int thread, const std::string& category, const std::string& name,
              const std::string& args, const std::function<void()>& body) {
    const double begin = now_[thread];
    body();
    add(fmt::format(R"("cat": "{}", "name": "{}")", category, name), "100", std::to_string(thread),
        begin, now_[thread] - begin, args);
  }

  double now(int thread) { return now_[thread]; }
  // From the first event to the end of the last.
  double makespan() const { return last_ - first_; }

  std::string json() const {
    return R"({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3"}],)"
           R"( "distributedInfo": {"world_size": 8}, "traceEvents": [)" +
           events_ + "\n]}";
  }

 private:
  double jittered() {
    if (jitter == 0) return 1;
    seed_ = seed_ * 6364136223846793005u + 1442695040888963407u;
    return 1 + jitter * (static_cast<double>(seed_ >> 40) / (1 << 23) - 1);
  }
  double done(int stream) {
    const auto& ends = ends_[stream];
    return ends.empty() ? 0 : ends.back();
  }
  void block(int thread, const char* name, double until) {
    const double begin = now_[thread];
    call(thread, name, begin, std::max(begin + 3, until + 5), ++correlation_);
  }
  void call(int thread, const char* name, double begin, double end, int correlation) {
    add(fmt::format(R"("cat": "cuda_runtime", "name": "{}")", name), "100", std::to_string(thread),
        begin, end - begin, fmt::format(R"("cbid": 211, "correlation": {})", correlation));
    now_[thread] = end;
  }
  void gpu(const char* category, const std::string& name, int stream, double start, double us,
           int correlation, const std::string& args) {
    add(fmt::format(R"("cat": "{}", "name": "{}")", category, name), "0", std::to_string(stream),
        start, us,
        fmt::format(R"("device": 0, "stream": {}, "correlation": {}{}{})", stream, correlation,
                    args.empty() ? "" : ", ", args));
    ends_[stream].push_back(start + us);
  }
  void add(const std::string& what, const std::string& pid, const std::string& tid, double begin,
           double us, const std::string& args) {
    events_ += fmt::format(
        "{}\n{{\"ph\": \"X\", {}, \"pid\": {}, \"tid\": {}, \"ts\": {:.3f}, \"dur\": {:.3f}, "
        "\"args\": {{{}}}}}",
        events_.empty() ? "" : ",", what, pid, tid, kOrigin + begin, us, args);
    first_ = events_count_++ == 0 ? begin : std::min(first_, begin);
    last_ = std::max(last_, begin + us);
  }

  static constexpr double kOrigin = 8851138000;  // what a profiler counts from
  std::string events_;
  std::size_t events_count_ = 0;
  double first_ = 0, last_ = 0;
  std::map<int, double> now_, waits_;
  std::map<int, std::vector<double>> ends_;
  int correlation_ = 0;
  std::uint64_t seed_ = 1;
};

// Data-parallel training of a small model: forward on thread 1, backward on autograd's thread 2
// with an all-reduce on stream 20 after every second layer, then the optimizer and loss.item().
// `host`: what a thread does before each launch, in microseconds.
inline void train(TracedMachine& m, double host, int steps = 2, int layers = 8) {
  constexpr int kMain = 1, kAutograd = 2, kCompute = 7, kNccl = 20;
  const std::string mm = R"("Input Dims": [[4096, 1024], [1024, 4096]], )"
                         R"("Input type": ["c10::BFloat16", "c10::BFloat16"])";
  const std::string all_reduce =
      R"("Collective name": "allreduce", "In msg nelems": 8388608, "Out msg nelems": 8388608, )"
      R"("Group size": 8, "dtype": "BFloat16", "Process Group Description": "default_pg")";
  const auto gemm = [&](int thread, double us) {
    m.inside(thread, "cpu_op", "aten::mm", mm, [&] {
      m.work(thread, host);
      m.launch(thread, kCompute, "nvjet_hsh_128x256_64x4_2x1_v_bz_coopA_TNT", us);
    });
  };
  const auto kernel = [&](int thread, const char* name, double us) {
    m.work(thread, host);
    m.launch(thread, kCompute, name, us);
  };
  const char* flash = "void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128>>";
  const char* norm = "void at::native::vectorized_layer_norm_kernel<c10::BFloat16, float>";
  const char* add =
      "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add>";
  for (int step = 0; step < steps; ++step) {
    m.inside(kMain, "user_annotation", fmt::format("ProfilerStep#{}", step + 3), "", [&] {
      m.work(kMain, 30);
      for (int layer = 0; layer < layers; ++layer) {
        kernel(kMain, norm, 15);
        gemm(kMain, 120);
        kernel(kMain, flash, 70);
        gemm(kMain, 60);
        kernel(kMain, add, 25);
      }
      m.hand_over(kMain, kAutograd);
      TracedMachine::Event reduced;
      for (int layer = 0; layer < layers; ++layer) {
        kernel(kAutograd, add, 25);
        gemm(kAutograd, 60);
        gemm(kAutograd, 60);
        kernel(kAutograd, flash, 150);
        gemm(kAutograd, 120);
        gemm(kAutograd, 120);
        if (layer % 2 == 1) {
          const auto ready = m.record(kAutograd, kCompute);
          m.wait(kAutograd, kNccl, ready);
          m.work(kAutograd, host);
          m.launch(kAutograd, kNccl, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(args)", 900,
                   all_reduce);
          reduced = m.record(kAutograd, kNccl);
        }
      }
      m.wait(kAutograd, kCompute, reduced);
      kernel(kAutograd, "void at::native::unrolled_elementwise_kernel<copy>", 20);
      m.hand_over(kAutograd, kMain);
      m.inside(kMain, "user_annotation", "Optimizer.step#AdamW.step", "", [&] {
        for (int i = 0; i < 4; ++i)
          kernel(kMain, "void at::native::multi_tensor_apply_kernel<FusedAdamMathFunctor>", 60);
      });
      m.copy_back(kMain, kCompute, 2);
      m.work(kMain, 20);
    });
  }
}

}  // namespace orrery
