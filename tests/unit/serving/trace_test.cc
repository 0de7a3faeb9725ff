#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>

#include "orrery/base/error.h"
#include "orrery/serving/traces/trace.h"
#include "tests/refusal.h"

namespace orrery {
namespace trace_test {

class TraceFile {
 public:
  TraceFile(const std::string& name, const std::string& text)
      : path_(std::filesystem::path(testing::TempDir()) / name) {
    std::ofstream(path_) << text;
  }
  ~TraceFile() { std::filesystem::remove(path_); }
  Trace read(const TraceOptions& options = {}) const { return read_trace(path_, options); }
  std::string error() const {
    return refusal_of([&] { read(); });
  }

 private:
  std::filesystem::path path_;
};

TEST(Trace, ReadsOurs) {
  const Trace t = TraceFile("ours.csv",
                            "arrival_s,input_tokens,output_tokens,session_id,block_ids\n"
                            "2.5,40,7,a,0-1\n"
                            "3,50,8,b,0 5-6\n"
                            "3,64,9,a,0-3\n")
                      .read();
  ASSERT_EQ(t.load.requests.size(), 3u);
  EXPECT_EQ(t.load.requests[0].arrival.ps, 0);  // time begins with the first request
  EXPECT_EQ(t.load.requests[1].arrival.ps, 500'000'000'000);
  EXPECT_EQ(t.load.requests[1].input, 50);
  EXPECT_EQ(t.load.requests[2].output, 9);
  EXPECT_EQ(t.load.requests[0].session, t.load.requests[2].session);
  EXPECT_NE(t.load.requests[0].session, t.load.requests[1].session);
  EXPECT_EQ(t.load.id_tokens, 16);
  const Request& second = t.load.requests[1];
  ASSERT_EQ(second.ids, 3u);
  EXPECT_EQ(t.load.ids[second.first_id + 2], 6u);
}

TEST(Trace, PrioritiesAreAColumn) {
  const Trace t = TraceFile("priorities.csv",
                            "arrival_s,input_tokens,output_tokens,priority\n0,40,7,2\n1,50,8,-1\n")
                      .read();
  EXPECT_EQ(t.load.requests[0].priority, 2);
  EXPECT_EQ(t.load.requests[1].priority, -1);
  const TraceFile half("half.csv", "arrival_s,input_tokens,output_tokens,priority\n0,40,7,0.5\n");
  EXPECT_THROW(half.read(), InputError);
}

TEST(Trace, ReadsAzureTimes) {
  const Trace t = TraceFile("azure.csv",
                            "TIMESTAMP,ContextTokens,GeneratedTokens\n"
                            "2023-11-30 23:59:59.5000000,374,44\n"
                            "2023-12-01 00:00:01.2500000,396,109\n")
                      .read();
  EXPECT_NEAR(t.load.requests[1].arrival.seconds(), 1.75, 1e-6);
}

TEST(Trace, ReadsOtherToolsTraces) {
  const Trace vidur =
      TraceFile("vidur.csv", "arrived_at,num_prefill_tokens,num_decode_tokens\n0,10,2\n1,20,3\n")
          .read();
  EXPECT_EQ(vidur.load.requests[1].input, 20);
  const Trace split =
      TraceFile("splitwise.csv",
                "request_id,request_type,application_id,arrival_timestamp,batch_size,prompt_size,"
                "token_size\n0,2,0,0.25,1,30,4\n")
          .read();
  EXPECT_EQ(split.load.requests[0].output, 4);
  const Trace burst = TraceFile("burst.csv",
                                "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log "
                                "Type\n5,ChatGPT,472,18,490,Conversation log\n")
                          .read();
  EXPECT_EQ(burst.load.requests[0].input, 472);
}

TEST(Trace, ReadsJsonLines) {
  const Trace mooncake =
      TraceFile("mooncake.jsonl",
                "{\"timestamp\": 1000, \"input_length\": 1030, \"output_length\": 5, \"hash_ids\": "
                "[46, 47, 48]}\n\n"
                "{\"timestamp\": 3000, \"input_length\": 512, \"output_length\": 6, \"hash_ids\": "
                "[46]}\n")
          .read();
  EXPECT_EQ(mooncake.load.id_tokens, 512);
  EXPECT_EQ(mooncake.load.requests[0].ids, 3u);
  EXPECT_NEAR(mooncake.load.requests[1].arrival.seconds(), 2, 1e-9);
  const Trace sim = TraceFile("sim.jsonl",
                              "{\"input_toks\": 12, \"output_toks\": 3, \"arrival_time_ns\": "
                              "1500000000}\n")
                        .read();
  EXPECT_EQ(sim.load.requests[0].input, 12);
}

TEST(Trace, ScalesTimesAndLengths) {
  TraceOptions half;
  half.time_scale = 0.5;
  half.length_scale = 0.1;
  half.requests = 2;
  const Trace t =
      TraceFile("scaled.csv", "arrival_s,input_tokens,output_tokens\n0,100,3\n4,55,40\n9,1,1\n")
          .read(half);
  ASSERT_EQ(t.load.requests.size(), 2u);
  EXPECT_NEAR(t.load.requests[1].arrival.seconds(), 2, 1e-9);
  EXPECT_EQ(t.load.requests[0].input, 10);
  EXPECT_EQ(t.load.requests[0].output, 1);  // never none
}

TEST(Trace, RequestsWithoutTokensAreCounted) {
  const Trace t =
      TraceFile("zero.csv", "arrival_s,input_tokens,output_tokens\n0,100,0\n1,5,5\n2,0,5\n").read();
  EXPECT_EQ(t.load.requests.size(), 1u);
  EXPECT_EQ(t.zero_lengths, 2);
}

TEST(Trace, LengthsAloneHaveNoArrivals) {
  const Trace t =
      TraceFile("lengths.csv", "arrival_s,input_tokens,output_tokens\n,100,3\n,200,4\n").read();
  EXPECT_FALSE(t.has_arrivals);
}

TEST(Trace, ErrorsNameFileAndLine) {
  const std::string head = "arrival_s,input_tokens,output_tokens\n";
  EXPECT_NE(TraceFile("a.csv", head + "0,5,5\n2,5,5\n1,5,5\n").error().find("a.csv:4"),
            std::string::npos);
  EXPECT_NE(TraceFile("b.csv", head + "-1,5,5\n").error().find("b.csv:2"), std::string::npos);
  EXPECT_NE(TraceFile("c.csv", head + "0,2.5,5\n").error().find("whole number"), std::string::npos);
  EXPECT_NE(TraceFile("d.csv", head + "nan,5,5\n").error(), "");
  EXPECT_NE(TraceFile("e.csv", "when,in,out\n0,1,1\n").error().find("not a trace"),
            std::string::npos);
  EXPECT_NE(TraceFile("f.jsonl", "{\"a\": 1}\n").error().find("f.jsonl:1"), std::string::npos);
  EXPECT_NE(TraceFile("g.jsonl", "{\n").error().find("g.jsonl:1"), std::string::npos);
  EXPECT_NE(TraceFile("h.csv", head).error().find("no requests"), std::string::npos);
  EXPECT_NE(TraceFile("i.csv", head + "0,5,5\n,5,5\n").error().find("i.csv:3"), std::string::npos);
}

// The page names every format of the registry.
TEST(Trace, FormatsAreDocumented) {
  std::ifstream in(ORRERY_SOURCE_DIR "/docs/serving.md");
  const std::string page{std::istreambuf_iterator<char>(in), {}};
  const auto names = trace_format_names();
  EXPECT_GE(names.size(), 8u);
  for (const std::string& name : names) EXPECT_NE(page.find(name), std::string::npos) << name;
}

// Text of the file in an error message is shortened and has no control characters; no number of a
// date overflows.
TEST(Trace, RefusalsAreShortAndPrintable) {
  const std::string azure = "TIMESTAMP,ContextTokens,GeneratedTokens\n";
  const std::string ours = "arrival_s,input_tokens,output_tokens,block_ids\n";
  for (const std::string& text :
       {azure + "2023-11-30 23:=\x04" + "9,374,44\n", azure + std::string(5000, 'x') + ",374,44\n",
        azure + "2023-11-30 2000000000:09:01,374,44\n",
        azure + "2147483647-01-30 20:09:01,374,44\n", azure + "2023-11-30 20:-1:01,374,44\n",
        azure + "2023-11-30 20:09:nan,374,44\n", ours + "0,5,5,7 \x01\n"}) {
    const std::string error = TraceFile("a.csv", text).error();
    EXPECT_FALSE(error.empty()) << text;
    EXPECT_LT(error.size(), 300u);
    EXPECT_TRUE(std::none_of(error.begin(), error.end(), [](char c) { return c >= 0 && c < 32; }));
  }
}

}  // namespace trace_test
}  // namespace orrery
