// Traces of PyTorch's profiler (Kineto) in Chrome's trace-event format: the activity of one rank on
// its host threads and GPU streams.
//
//   torch.profiler.profile(...).export_chrome_trace("rank0.json.gz")
//
// The file is JSON, plain or gzip: an object with a list "traceEvents", or that list alone. It is
// read as a stream. An event takes 40 bytes in memory; names and shapes are stored once each.
// Complete events (ph "X") of these categories are read:
//
//   cpu_op ("Operator"), user_annotation   activity of threads
//   cuda_runtime, cuda_driver ("Runtime")  calls of the GPU's driver
//   kernel, gpu_memcpy, gpu_memset         work on the GPU ("Memcpy", "Memset")
//   cuda_sync                              waits, with the event that each waits for; present only
//                                          if the profiler was asked for them
//                                          (enable_cuda_sync_events)
//
// All other events are counted and ignored: Python frames, flow arrows (a launch and its kernel
// have the same correlation), counters, metadata.
//
// Times in the file are microseconds, as numbers or as texts. Here they are whole nanoseconds since
// baseTimeNanoseconds if the file has it, otherwise since the time from which the profiler counted.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/replay/json_stream.h"

namespace orrery {

using Nanoseconds = std::chrono::nanoseconds;
// A time after every time of a trace. Sums and replays that would exceed it have this value.
inline constexpr Nanoseconds kEndOfTime{4'000'000'000'000'000'000};

struct KinetoEvent {
  enum class Kind : std::uint8_t { kCpuOp, kAnnotation, kCall, kKernel, kMemcpy, kMemset, kSync };
  Nanoseconds start{0}, duration{0};
  std::int64_t correlation = -1;  // the same for a call and the GPU work that it launched; -1: none
  std::uint32_t name = 0;         // index in KinetoTrace::names
  std::uint32_t lane = 0;         // index in KinetoTrace::lanes
  std::uint32_t detail = 0;       // index in KinetoTrace::details; entry 0 is empty
  Kind kind = Kind::kCpuOp;

  Nanoseconds end() const { return start + duration; }
  bool on_gpu() const {
    return kind == Kind::kKernel || kind == Kind::kMemcpy || kind == Kind::kMemset;
  }
};

// A thread of the host or a stream of a device.
struct KinetoLane {
  bool gpu = false;
  std::string process, thread;  // of a stream: its device and its number
};

// The arguments of an event that a prediction needs.
struct KinetoDetail {
  std::vector<std::vector<std::int64_t>> shapes;  // "Input Dims", of cpu_op
  std::string type;        // "Input type" of the first input, such as "c10::BFloat16"
  std::string collective;  // "Collective name", such as "allreduce"
  std::string dtype;       // format of a collective's elements, such as "BFloat16"
  std::string group;       // "Process Group Description"; the name of the group if it is absent
  std::int64_t in_elements = 0, out_elements = 0;  // "In msg nelems", "Out msg nelems"
  std::int64_t ranks = 0;                          // "Group size"

  bool operator==(const KinetoDetail&) const = default;
};

// A cuda_sync event: `stream` waits until the work of the stream `source` is done that was launched
// before the event was recorded. -1: the host waits.
struct KinetoWait {
  std::int64_t correlation = -1;  // of the call that waits
  std::int64_t record = -1;       // correlation of the cudaEventRecord; -1: unknown
  std::int64_t device = 0, stream = -1, source = -1;
};

struct KinetoTrace {
  std::vector<KinetoEvent> events;  // by start; of two events with one start the longer one first
  std::vector<std::string> names;   // printable ASCII, at most 1,000 characters each
  std::vector<KinetoLane> lanes;
  std::vector<KinetoDetail> details{{}};
  std::vector<KinetoWait> waits;
  std::string gpu;              // name in the first entry of deviceProperties: "NVIDIA H100"
  std::int64_t world_size = 0;  // of distributedInfo; 0: absent
  std::int64_t schema = 0;      // schemaVersion; 0: absent
  std::uint64_t ignored = 0;    // number of events of other categories

  std::string_view name_of(const KinetoEvent& e) const { return names[e.name]; }
  const KinetoDetail& detail_of(const KinetoEvent& e) const { return details[e.detail]; }
};

// Reads a trace from a file. Throws InputError with the line and byte for text that is not JSON or
// ends early (JsonStream), no traceEvents or two of them, an event that is not an object, an event
// of a category above without name, ts, dur, pid or tid or with an impossible value (a negative
// duration, a time after the year 2096, text in the place of a number), GPU work without a stream,
// and a collective whose fields contradict each other.
KinetoTrace read_kineto(const std::string& path);
// Reads a trace from a text, which messages call `name`.
KinetoTrace parse_kineto(std::string_view text, const std::string& name);

}  // namespace orrery
