// Traces of PyTorch's profiler (Kineto), in Chrome's trace-event form: what one rank did on its
// threads and streams.
//
//   torch.profiler.profile(...).export_chrome_trace("rank0.json.gz")
//
// The file is JSON, plain or gzip: an object with a list "traceEvents", or that list alone. It is
// read as a stream; of an event 40 bytes are kept, names and shapes once each. Kept are complete
// events (ph "X") of these categories:
//   cpu_op (also "Operator"), user_annotation   what the threads were in
//   cuda_runtime, cuda_driver (also "Runtime")  calls to the GPU's driver
//   kernel, gpu_memcpy, gpu_memset              work on the GPU (also "Memcpy", "Memset")
//   cuda_sync                                   waits, with the event that each waits for; only
//   there
//                                               if the profiler was asked (enable_cuda_sync_events)
// Passed over, and counted: Python frames, flow arrows (a launch and its kernel have the same
// correlation), counters, metadata and all else.
//
// Times are in microseconds in the file, as numbers or texts, and here whole nanoseconds: since
// baseTimeNanoseconds where the file has that, else since whatever the profiler counted from.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/replay/json_stream.h"

namespace orrery {

using Nanoseconds = std::chrono::nanoseconds;
// Beyond any time of a trace; sums and replays that would pass it stay there.
inline constexpr Nanoseconds kEndOfTime{4'000'000'000'000'000'000};

struct KinetoEvent {
  enum class Kind : std::uint8_t { kCpuOp, kAnnotation, kCall, kKernel, kMemcpy, kMemset, kSync };
  Nanoseconds start{0}, duration{0};
  std::int64_t correlation = -1;  // of a call and the GPU work that it launched; -1: none
  std::uint32_t name = 0;         // in KinetoTrace::names
  std::uint32_t lane = 0;         // in KinetoTrace::lanes
  std::uint32_t detail = 0;       // in KinetoTrace::details, where 0 is empty
  Kind kind = Kind::kCpuOp;

  Nanoseconds end() const { return start + duration; }
  bool on_gpu() const {
    return kind == Kind::kKernel || kind == Kind::kMemcpy || kind == Kind::kMemset;
  }
};

// A thread of the host, or a stream of a device.
struct KinetoLane {
  bool gpu = false;
  std::string process, thread;  // of a stream: device and stream
};

// What args say of an event, as far as a prediction needs it.
struct KinetoDetail {
  std::vector<std::vector<std::int64_t>> shapes;  // "Input Dims", of cpu_op
  std::string type;        // "Input type" of the first input: "c10::BFloat16"
  std::string collective;  // "Collective name": "allreduce"
  std::string dtype;       // of a collective's elements: "BFloat16"
  std::string group;       // "Process Group Description", or else its name
  std::int64_t in_elements = 0, out_elements = 0;  // "In msg nelems", "Out msg nelems"
  std::int64_t ranks = 0;                          // "Group size"

  bool operator==(const KinetoDetail&) const = default;
};

// A cuda_sync event: `stream` (none: the host) waits until the work of `source` before the event
// was recorded is done.
struct KinetoWait {
  std::int64_t correlation = -1;  // of the call that asked for it
  std::int64_t record = -1;       // correlation of the cudaEventRecord; -1: not known
  std::int64_t device = 0, stream = -1, source = -1;
};

struct KinetoTrace {
  std::vector<KinetoEvent> events;  // by start; of two with one start the longer one first
  std::vector<std::string> names;   // printable ASCII, at most 1,000 characters
  std::vector<KinetoLane> lanes;
  std::vector<KinetoDetail> details{{}};
  std::vector<KinetoWait> waits;
  std::string gpu;              // of the first of deviceProperties: "NVIDIA H100"
  std::int64_t world_size = 0;  // of distributedInfo; 0: not there
  std::int64_t schema = 0;      // schemaVersion; 0: not there
  std::uint64_t passed_over = 0;

  std::string_view name_of(const KinetoEvent& e) const { return names[e.name]; }
  const KinetoDetail& detail_of(const KinetoEvent& e) const { return details[e.detail]; }
};

// InputError, one line with the file's line and byte: what is no JSON or ends early (JsonStream),
// no traceEvents or two, an event that is no object, one of a category above without name, ts, dur,
// pid or tid or with a value that cannot be (a negative duration, a time beyond the year 2096, a
// text where a number must be), GPU work without a stream, or two collectives' fields that differ.
KinetoTrace read_kineto(const std::string& path);
// The same of a text; `name` is what messages call it.
KinetoTrace parse_kineto(std::string_view text, const std::string& name);

}  // namespace orrery
