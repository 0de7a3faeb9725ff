// Are traces of PyTorch's profiler read as it writes them, and refused in one line where they are
// damaged?
#include "orrery/replay/kineto.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "orrery/base/error.h"
#include "tests/refusal.h"

namespace orrery {
namespace kineto_test {

using Kind = KinetoEvent::Kind;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

// A launch as PyTorch 2.6 writes it: the op, the call, the flow arrow and the kernel, with events
// that the reader skips. The times are too large for nanoseconds in a double of microseconds.
const std::string kLaunch = R"json(
  {
    "schemaVersion": 1,
    "deviceProperties": [
    {
      "id": 0, "name": "NVIDIA H100 80GB HBM3", "totalGlobalMem": 85021163520, "numSms": 132
    },
    { "id": 1, "name": "NVIDIA A100" }
    ],
    "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8, "pg_config": [{"a": []}]},
    "cuda_driver_version": 12040, "with_stack": 0,
    "displayTimeUnit": "ms", "baseTimeNanoseconds": 1775078550000000000,
    "traceEvents": [
  {
    "name": "process_name", "ph": "M", "ts": 88511388202.755, "pid": 514683, "tid": 0,
    "args": { "name": "python" }
  },
  {
    "ph": "X", "cat": "user_annotation", "name": "ProfilerStep#4", "pid": 514683, "tid": 514683,
    "ts": 8851138820200.001, "dur": 250.500, "args": { "External id": 1, "Ev Idx": 0 }
  },
  {
    "ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 514683, "tid": 514683,
    "ts": 8851138820202.765, "dur": 20.040,
    "args": { "External id": 1025, "Sequence number": 17, "Fwd thread id": 0, "Ev Idx": 21,
      "Input Dims": [[4096, 1024], [1024, 512], [], [[1, 2], [3]]],
      "Input type": ["c10::BFloat16", "c10::BFloat16", "", "TensorList"] }
  },
  {
    "ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 514683, "tid": 514683,
    "ts": 8851138820210, "dur": 4.5, "args": { "External id": 1025, "cbid": 211, "correlation": 99 }
  },
  { "ph": "s", "id": 99, "pid": 514683, "tid": 514683, "ts": 8851138820210, "cat": "ac2g", "name": "ac2g" },
  {
    "ph": "X", "cat": "kernel", "name": "nvjet_hsh_128x256<\"a\">", "pid": 0, "tid": 7,
    "ts": "8851138820220.5", "dur": "31.25",
    "args": { "External id": 1025, "queued": 0, "device": 0, "context": 1, "stream": 7,
      "correlation": 99, "warps per SM": nan, "grid": [32, 4, 1], "block": [384, 1, 1] }
  },
  { "ph": "f", "id": 99, "pid": 0, "tid": 7, "ts": 8851138820220.5, "cat": "ac2g", "name": "ac2g", "bp": "e" },
  {
    "ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "pid": 0, "tid": 20,
    "ts": 8851138820230, "dur": 100,
    "args": { "device": 0, "stream": 20, "correlation": 120, "Collective name": "allreduce",
      "In msg nelems": 1048576, "Out msg nelems": 1048576, "Group size": 8, "dtype": "BFloat16",
      "Process Group Name": "0", "Process Group Description": "default_pg",
      "Process Group Ranks": "[0, 1, 2, 3, 4, 5, 6, 7]" }
  },
  {
    "ph": "X", "cat": "cuda_sync", "name": "Stream Wait Event", "pid": 0, "tid": 20,
    "ts": 8851138820229, "dur": 0.01,
    "args": { "External id": 200, "cuda_sync_kind": "Stream Wait Event", "wait_on_stream": 7,
      "wait_on_cuda_event_record_corr_id": 100, "stream": 20, "correlation": 119, "device": 0 }
  },
  {
    "ph": "X", "cat": "Trace", "ts": 8851138820202, "dur": 300, "pid": "Spans", "tid": "PyTorch Profiler",
    "name": "PyTorch Profiler (0)", "args": { "Op count": 0 }
  },
  { "ph": "i", "s": "g", "name": "Record Window End", "pid": "", "tid": "", "ts": 8851138820509 }
  ],
  "traceName": "/tmp/rank3.json"
})json";

TEST(Kineto, ReadsWhatPyTorchWrites) {
  const KinetoTrace t = parse_kineto(kLaunch, "t.json");
  EXPECT_EQ(t.gpu, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(t.world_size, 8);
  EXPECT_EQ(t.schema, 1);
  EXPECT_EQ(t.ignored, 5u);
  ASSERT_EQ(t.events.size(), 5u);

  const KinetoEvent &step = t.events[0], &op = t.events[1], &call = t.events[2],
                    &kernel = t.events[3], &nccl = t.events[4];
  EXPECT_EQ(step.kind, Kind::kAnnotation);
  EXPECT_EQ(step.start, Nanoseconds(8851138820200001));
  EXPECT_EQ(step.duration, Nanoseconds(250500));
  EXPECT_EQ(t.name_of(op), "aten::mm");
  EXPECT_EQ(op.start, Nanoseconds(8851138820202765));
  EXPECT_EQ(t.detail_of(op).shapes,
            (std::vector<std::vector<std::int64_t>>{{4096, 1024}, {1024, 512}, {}, {}}));
  EXPECT_EQ(t.detail_of(op).type, "c10::BFloat16");
  EXPECT_EQ(call.kind, Kind::kCall);
  EXPECT_EQ(call.correlation, 99);
  EXPECT_EQ(call.lane, op.lane);
  EXPECT_FALSE(t.lanes[call.lane].gpu);
  EXPECT_EQ(kernel.correlation, 99);
  EXPECT_EQ(kernel.start, Nanoseconds(8851138820220500));
  EXPECT_EQ(kernel.duration, Nanoseconds(31250));
  EXPECT_EQ(t.name_of(kernel), "nvjet_hsh_128x256<\"a\">");
  EXPECT_TRUE(t.lanes[kernel.lane].gpu);
  EXPECT_EQ(t.lanes[kernel.lane].thread, "7");
  EXPECT_EQ(t.detail_of(nccl).collective, "allreduce");
  EXPECT_EQ(t.detail_of(nccl).dtype, "BFloat16");
  EXPECT_EQ(t.detail_of(nccl).group, "default_pg");
  EXPECT_EQ(t.detail_of(nccl).in_elements, 1048576);
  EXPECT_EQ(t.detail_of(nccl).ranks, 8);
  ASSERT_EQ(t.waits.size(), 1u);
  EXPECT_EQ(t.waits[0].stream, 20);
  EXPECT_EQ(t.waits[0].source, 7);
  EXPECT_EQ(t.waits[0].record, 100);
}

std::string event(const std::string& extra,
                  const std::string& rest = R"("ts": 1, "dur": 2, "pid": 1, "tid": 1)") {
  return R"({"ph": "X", )" + extra + (extra.empty() ? "" : ", ") + rest + "}";
}

TEST(Kineto, ABareListAndOlderCategories) {
  const KinetoTrace t = parse_kineto(
      "[" + event(R"("cat": "Operator", "name": "aten::add")") + "," +
          event(R"("name": "cudaLaunchKernel", "cat": "Runtime", "args": {"correlation": "7"})") +
          "," + event(R"("cat": "Kernel", "name": "k", "args": {"stream": 7})") + "," +
          event(R"("cat": "python_function", "name": 5)") + "]",
      "t.json");
  ASSERT_EQ(t.events.size(), 3u);
  EXPECT_EQ(t.ignored, 1u);
  EXPECT_EQ(t.gpu, "");
  int calls = 0;
  for (const KinetoEvent& e : t.events) {
    if (e.kind != Kind::kCall) continue;
    ++calls;
    EXPECT_EQ(e.correlation, 7);
  }
  EXPECT_EQ(calls, 1);
}

TEST(Kineto, TimesAreExactNanoseconds) {
  const auto start = [](const std::string& ts) {
    return parse_kineto("[" +
                            event(R"("cat": "cpu_op", "name": "a")",
                                  "\"ts\": " + ts + R"(, "dur": 0, "pid": 1, "tid": 1)") +
                            "]",
                        "t.json")
        .events.at(0)
        .start.count();
  };
  EXPECT_EQ(start("1700000000123456.789"), 1700000000123456789);
  EXPECT_EQ(start("\"12.5\""), 12500);
  EXPECT_EQ(start("0.0004"), 0);
  EXPECT_EQ(start("0.0005"), 1);
  EXPECT_EQ(start("1.2e3"), 1200000);
  EXPECT_EQ(start("-3.25"), -3250);
}

TEST(Kineto, NamesAndShapesAreKeptOnce) {
  std::string text = "[";
  for (int i = 0; i < 50; ++i) {
    text += (i ? "," : "") +
            event(R"("cat": "cpu_op", "name": "aten::mm", "args": {"Input Dims": [[2, 3]]})");
  }
  const KinetoTrace t = parse_kineto(text + "]", "t.json");
  EXPECT_EQ(t.events.size(), 50u);
  EXPECT_EQ(t.names.size(), 1u);
  EXPECT_EQ(t.details.size(), 2u);
  EXPECT_EQ(t.lanes.size(), 1u);
}

std::string refusal(const std::string& text) {
  return refusal_of([&] { parse_kineto(text, "t.json"); });
}

TEST(KinetoRefuses, WhatIsNoTrace) {
  EXPECT_THAT(refusal(""), StartsWith("t.json: line 1 (byte 0): the file is empty"));
  EXPECT_THAT(refusal("42"), HasSubstr("expected a trace of torch.profiler"));
  EXPECT_THAT(refusal("{}"), HasSubstr("no traceEvents"));
  EXPECT_THAT(refusal(R"({"traceEvents": 3})"), HasSubstr("traceEvents: expected a list"));
  EXPECT_THAT(refusal(R"({"traceEvents": [], "traceEvents": []})"),
              HasSubstr("there are two lists traceEvents"));
  EXPECT_THAT(refusal("[1]"), HasSubstr("expected an event: an object"));
  EXPECT_THAT(refusal("[] []"), HasSubstr("expected the end of the text"));
}

TEST(KinetoRefuses, EventsThatLackAField) {
  const std::string name = R"("cat": "cpu_op", "name": "aten::mm")";
  EXPECT_THAT(refusal("[\n" + event(R"("cat": "cpu_op")") + "]"),
              AllOf(HasSubstr("line 2"), HasSubstr("has no name")));
  EXPECT_THAT(refusal("[" + event(name, R"("dur": 2, "pid": 1, "tid": 1)") + "]"),
              HasSubstr("'aten::mm' that ends here has no ts"));
  EXPECT_THAT(refusal("[" + event(name, R"("ts": 2, "pid": 1, "tid": 1)") + "]"),
              HasSubstr("has no dur"));
  EXPECT_THAT(refusal("[" + event(name, R"("ts": 2, "dur": 1, "tid": 1)") + "]"),
              HasSubstr("has no pid"));
  EXPECT_THAT(refusal("[" + event(name, R"("ts": 2, "dur": 1, "pid": 1)") + "]"),
              HasSubstr("has no tid"));
  EXPECT_THAT(refusal("[" +
                      event(R"("cat": "kernel", "name": "k", "args": {"device": 0})",
                            R"("ts": 2, "dur": 1)") +
                      "]"),
              HasSubstr("has no stream"));
}

TEST(KinetoRefuses, ValuesThatCannotBe) {
  const std::string name = R"("cat": "cpu_op", "name": "a")";
  EXPECT_THAT(refusal("[" + event(name, R"("ts": "soon", "dur": 1, "pid": 1, "tid": 1)") + "]"),
              HasSubstr("ts: expected microseconds, found 'soon'"));
  EXPECT_THAT(refusal("[" + event(name, R"("ts": 1, "dur": -1, "pid": 1, "tid": 1)") + "]"),
              HasSubstr("'a' that ends here has a duration of -1000 ns"));
  EXPECT_THAT(refusal("[" + event(name, R"("ts": 5e18, "dur": 1, "pid": 1, "tid": 1)") + "]"),
              HasSubstr("ts: expected microseconds"));
  EXPECT_THAT(refusal("[" + event(name, R"("ts": nan, "dur": 1, "pid": 1, "tid": 1)") + "]"),
              HasSubstr("ts: expected microseconds"));
  EXPECT_THAT(refusal("[" + event(name, R"("ts": 1, "dur": 1, "pid": [], "tid": 1)") + "]"),
              HasSubstr("pid: expected a number or a text"));
  EXPECT_THAT(refusal("[" + event(R"("cat": "cpu_op", "name": 5)") + "]"),
              HasSubstr("name: expected a text"));
  EXPECT_THAT(refusal(R"([{"ph": 1}])"), HasSubstr("expected a text"));
  EXPECT_THAT(refusal("[" + event(name) + "," +
                      event(name, R"("ts": 3e12, "dur": 1, "pid": 1, "tid": 1)") + "]"),
              HasSubstr("the events span 34 days: expected at most 30"));
}

// However short a trace is cut, there is one message, of one line, with the place.
TEST(KinetoRefuses, EveryTruncation) {
  const std::size_t whole = kLaunch.size() - 1;  // the last '}'
  for (std::size_t cut = 0; cut <= whole; cut += cut + 50 < whole ? 37 : 1) {
    const std::string message = refusal(kLaunch.substr(0, cut));
    EXPECT_THAT(message, StartsWith("t.json: line ")) << cut;
    EXPECT_EQ(message.find('\n'), std::string::npos);
  }
}

class KinetoFiles : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = std::filesystem::temp_directory_path() / "orrery-kineto-XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string packed(const std::string& text) const {
    const std::string path = folder_ / "t.json.gz";
    gzFile out = gzopen(path.c_str(), "wb");
    EXPECT_EQ(gzwrite(out, text.data(), static_cast<unsigned>(text.size())),
              static_cast<int>(text.size()));
    gzclose(out);
    return path;
  }
  std::string refusal(const std::string& path) const {
    return refusal_of([&] { read_kineto(path); });
  }

  std::filesystem::path folder_;
};

TEST_F(KinetoFiles, PlainAndPackedAreTheSame) {
  const std::string plain = folder_ / "t.json";
  std::ofstream(plain) << kLaunch;
  EXPECT_EQ(read_kineto(plain).events.size(), 5u);
  EXPECT_EQ(read_kineto(packed(kLaunch)).events.size(), 5u);
}

TEST_F(KinetoFiles, RefusesCutAndDamagedAndMissingOnes) {
  const std::string path = packed(kLaunch);
  const auto size = std::filesystem::file_size(path);
  std::filesystem::resize_file(path, size / 2);
  EXPECT_THAT(refusal(path), AllOf(StartsWith(path), HasSubstr("byte "),
                                   HasSubstr("the gzip stream is cut short")));
  packed(kLaunch);
  {
    std::fstream f(path, std::ios::in | std::ios::out | std::ios::binary);
    f.seekp(static_cast<std::streamoff>(size / 2));
    f << "\xff\xff\xff\xff\xff\xff";
  }
  EXPECT_THAT(refusal(path), AllOf(StartsWith(path), HasSubstr("unpacked")));
  EXPECT_THAT(refusal(folder_ / "none.json"), HasSubstr("none.json: no such file"));
  EXPECT_THAT(refusal(folder_), HasSubstr("a folder; expected a file"));
}

}  // namespace kineto_test
}  // namespace orrery
