#include "bindings/python/interruptible.h"

#include <pybind11/pybind11.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace orrery::python {
namespace {

struct Job {
  std::mutex mutex;
  std::condition_variable ended;
  Abandoned abandoned = false;
  std::optional<Answer> answer;
  std::exception_ptr error;
  bool done = false;
};

std::atomic<int>& running() {
  static std::atomic<int> jobs = 0;
  return jobs;
}

// Destructors of statics would take away what an abandoned thread reads.
void exit_at_once(int status, void*) {
  if (running() == 0) return;
  std::fflush(nullptr);
  _exit(status);
}

void abandon(Job& job) {
  job.abandoned = true;
  static const int registered = on_exit(exit_at_once, nullptr);
  (void)registered;
}

}  // namespace

Answer interruptible(std::function<Answer(const Abandoned&)> work) {
  constexpr std::chrono::milliseconds kPause(50);
  const auto job = std::make_shared<Job>();
  ++running();
  std::thread([job, work = std::move(work)] {
    std::optional<Answer> answer;
    std::exception_ptr error;
    try {
      answer = work(job->abandoned);
    } catch (...) {
      error = std::current_exception();
    }
    {
      const std::lock_guard lock(job->mutex);
      job->answer = std::move(answer), job->error = error, job->done = true;
    }
    job->ended.notify_all();
    --running();
  }).detach();
  std::unique_lock lock(job->mutex);
  while (!job->ended.wait_for(lock, kPause, [&] { return job->done; })) {
    lock.unlock();
    {
      const pybind11::gil_scoped_acquire held;
      if (PyErr_CheckSignals() != 0) {
        abandon(*job);
        throw pybind11::error_already_set();
      }
    }
    lock.lock();
  }
  if (job->error) std::rethrow_exception(job->error);
  return std::move(*job->answer);
}

}  // namespace orrery::python
