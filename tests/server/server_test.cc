// Does the server answer what the program prints, to whom it may, and to others while one client
// does its worst?
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "tests/server/served.h"

namespace orrery::server {
namespace server_test {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using Clock = std::chrono::steady_clock;

const std::string kSmall = R"({"model": "llama-3-8b", "gpu": "h100-sxm", "batch": [1, 4]})";
const std::string kHuge =
    R"({"model": "llama-3-8b", "gpu": "h100-sxm", "rate": 20, "requests": 3000000})";

std::string printed(const std::string& arguments) {
  const std::string command = fmt::format("{} {}", ORRERY_PROGRAM, arguments);
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::string all;
  std::array<char, 4096> bytes;
  for (std::size_t n; (n = std::fread(bytes.data(), 1, bytes.size(), pipe.get())) > 0;)
    all.append(bytes.data(), n);
  return all;
}

json error_of(const std::string& reply) { return json::parse(body_of(reply)).at("error"); }

class ServerTest : public testing::Test {
 protected:
  // One server for all tests that leave it as it was.
  static void SetUpTestSuite() { served_ = new Served; }
  static void TearDownTestSuite() { delete std::exchange(served_, nullptr); }
  static Served& served() { return *served_; }

 private:
  static Served* served_;
};
Served* ServerTest::served_ = nullptr;

TEST_F(ServerTest, AnswersWhatTheCommandLinePrints) {
  EXPECT_EQ(body_of(served().post("estimate", kSmall)),
            printed("estimate -m llama-3-8b -g h100-sxm --batch 1,4 -o json"));
  EXPECT_EQ(body_of(served().post("memory", R"({"model": "llama-3-70b", "gpu": "h100-sxm"})")),
            printed("memory -m llama-3-70b -g h100-sxm -o json"));
  EXPECT_EQ(body_of(served().post("kernel", R"({"gpu": "h100-sxm", "m": "1-64*2"})")),
            printed("kernel gemm -g h100-sxm -m 1-64*2 -o json"));
  EXPECT_EQ(body_of(served().post("network", R"({"gpu": "h100-sxm", "gpus": 16})")),
            printed("network all-reduce -g h100-sxm --gpus 16 -o json"));
  EXPECT_EQ(body_of(served().post(
                "simulate", R"({"model": "llama-3-8b", "gpu": "h100-sxm", "requests": 100})")),
            printed("simulate -m llama-3-8b -g h100-sxm --requests 100 -o json"));
  EXPECT_EQ(
      body_of(served().post("train", R"({"model": "llama-3-8b", "gpu": "h100-sxm", "gpus": 8})")),
      printed("train -m llama-3-8b -g h100-sxm --gpus 8 -o json"));
}

// A timeline of one point of a question is what the command line writes to a file.
TEST_F(ServerTest, DrawsWhatHappensWhenAsTheCommandLineWritesIt) {
  const std::string train =
      R"({"model": "llama-3-8b", "gpu": "h100-sxm", "gpus": 8, "pp": [2, 4]})";
  const std::string whole =
      "train -m llama-3-8b -g h100-sxm --gpus 8 --pp 4 --timeline /dev/stdout";
  const std::string reply = served().post("train/timeline/1", train);
  ASSERT_EQ(status_of(reply), 200) << reply;
  EXPECT_THAT(printed(whole), StartsWith(body_of(reply)));
  EXPECT_THAT(body_of(reply), HasSubstr("stage 3"));
  EXPECT_THAT(body_of(served().post("train/timeline", train)), Not(HasSubstr("stage 2")));
  const std::string load = R"({"model": "llama-3-8b", "gpu": "h100-sxm", "requests": 20})";
  const std::string steps = body_of(served().post("simulate/timeline/0", load));
  EXPECT_FALSE(json::parse(steps).at("traceEvents").empty());
  EXPECT_EQ(error_of(served().post("train/timeline/2", train))["kind"], "input");
  EXPECT_EQ(error_of(served().post("memory/timeline", kSmall))["kind"], "input");
  for (const char* path :
       {"train/timelines", "train/timeline/", "train/timeline/x", "train/timeline/-1",
        "train/timeline/99999999999999999999999", "train/timeline/1/2", "trains"})
    EXPECT_EQ(status_of(served().post(path, train)), 404) << path;
}

// The answer with the kernels of one of its points.
TEST_F(ServerTest, LeavesTheKernelsOfOtherPointsOut) {
  const std::string sweep = R"({"model": "llama-3-8b", "gpu": "h100-sxm", "batch": [1, 4]})";
  json whole = json::parse(body_of(served().post("estimate", sweep)));
  ASSERT_FALSE(whole["points"][0]["kernels"].empty());
  ASSERT_TRUE(whole["points"][0].erase("kernels"));
  EXPECT_EQ(json::parse(body_of(served().post("estimate/kernels/1", sweep))), whole);
  EXPECT_EQ(error_of(served().post("estimate/kernels/2", sweep))["kind"], "input");
  for (const char* path : {"estimate/kernel/1", "estimate/kernels/", "estimate/kernels/-1"})
    EXPECT_EQ(status_of(served().post(path, sweep)), 404) << path;
}

TEST_F(ServerTest, AnswersAScenarioFileAsItIs) {
  const std::string file = ORRERY_SOURCE_DIR "/scenarios/llama-3-70b-8xh100.yaml";
  std::ifstream in(file);
  std::stringstream text;
  text << in.rdbuf();
  EXPECT_EQ(body_of(served().post("run", text.str(), "Content-Type: application/yaml\r\n")),
            printed("run " + file + " -o json"));
}

TEST_F(ServerTest, StreamsTheSameAnswer) {
  const std::string reply = served().post(
      "estimate", kSmall, "Content-Type: application/json\r\nAccept: text/event-stream\r\n");
  EXPECT_THAT(reply, HasSubstr("Transfer-Encoding: chunked"));
  EXPECT_THAT(reply, HasSubstr("event: answer\ndata: {\ndata:  \"format\": 1,"));
  EXPECT_TRUE(reply.ends_with("\r\n0\r\n\r\n"));
}

TEST_F(ServerTest, NamesTheKeyAtFault) {
  const std::string reply =
      served().post("estimate", R"({"model": "llama-3-8b", "gpu": "h100-sxm", "batch": "many"})");
  EXPECT_EQ(status_of(reply), 400);
  EXPECT_THAT(error_of(reply)["key"].get<std::string>(), HasSubstr("batch"));
  const std::string near =
      served().post("estimate", R"({"model": "llama-3-8b", "gpu": "h100-smx"})");
  EXPECT_THAT(error_of(near)["message"].get<std::string>(), HasSubstr("did you mean 'h100-sxm'"));
  EXPECT_EQ(error_of(served().post("estimate", "[1]"))["kind"], "input");
  EXPECT_EQ(error_of(served().post("estimate", "{"))["kind"], "input");
  EXPECT_EQ(status_of(served().post("estimate", R"({"model": "gpt-3-175b", "gpu": "v100-sxm2-16g",
                                                    "quantization": "fp8"})")) /
                100,
            4);
}

// Whatever names a file is refused, alike whether the file is there or not.
TEST_F(ServerTest, OpensNoFiles) {
  const std::string base = R"("gpu": "h100-sxm", "requests": 10)";
  for (const char* path : {"/etc/passwd", "/etc/no-such-file", "./etc/passwd", "../../etc/passwd",
                           "scenarios/llama-3-70b-8xh100.yaml", "/proc/self/environ", "/etc"}) {
    const std::string service = fmt::format(R"("model": "llama-3-8b", {})", base);
    const std::vector<std::pair<std::string, std::string>> questions = {
        {"estimate", fmt::format(R"({{"model": "{}", "gpu": "h100-sxm"}})", path)},
        {"estimate", fmt::format(R"({{"model": "llama-3-8b", "gpu": "{}.yaml"}})", path)},
        {"estimate", fmt::format(R"({{"model": "llama-3-8b", "gpu": "h100-sxm", "tier":
                                     "on_demand", "price_book": "{}"}})",
                                 path)},
        {"estimate",
         fmt::format(R"({{"model": "llama-3-8b", "gpu": "h100-sxm", "carbon": "{}.csv"}})", path)},
        {"simulate",
         fmt::format(R"({{"model": "llama-3-8b", "gpu": "h100-sxm", "trace": "{}"}})", path)},
        {"simulate", fmt::format(R"({{{}, "speculation": {{"method": "draft_model", "model":
                                     "{}"}}}})",
                                 service, path)},
        {"simulate", fmt::format(R"({{{}, "neighbour": {{"model": "{}", "utilization": 0.1}}, "set":
                                     {{"engine.utilization": 0.6}}}})",
                                 service, path)},
        {"network", fmt::format(R"({{"topology": "{}"}})", path)},
        {"network",
         fmt::format(R"({{"gpu": "h100-sxm", "topology": "x.yaml", "chakra": "{}"}})", path)},
        {"train",
         fmt::format(R"({{"model": "llama-3-8b", "gpu": "h100-sxm", "own_runs": "{}"}})", path)},
        {"edge", fmt::format(R"({{"network": "{}", "device": "rk3588"}})", path)},
        {"edge", fmt::format(R"({{"network": "{}.onnx", "device": "rk3588"}})", path)},
        {"edge", fmt::format(R"({{"network": "{}.param", "device": "rtx-4090"}})", path)},
        {"edge", fmt::format(R"({{"network": "resnet50", "device": "{}"}})", path)},
        {"edge", fmt::format(R"({{"network": "resnet50", "device": "{}.yaml"}})", path)},
        {"edge",
         fmt::format(R"({{"network": "resnet50", "device": "rk3588", "measured": "{}"}})", path)},
        {"edge",
         fmt::format(R"({{"network": "llama-3-8b", "device": "l4", "measured": "{}"}})", path)},
        {"edge",
         fmt::format(R"({{"network": "llama-3-8b", "device": "l4", "draft": "{}"}})", path)},
        {"run", fmt::format(R"({{"edge": {{"network": "{}.onnx", "device": "rk3588"}}}})", path)},
        {"run", fmt::format(R"({{"replay": {{"trace": "{}"}}}})", path)},
        {"run", fmt::format(R"({{"model": "llama-3-8b", "hardware": {{"gpu": "h100-sxm"}},
                                 "include": "{}"}})",
                            path)},
    };
    for (const auto& [verb, body] : questions) {
      const std::string reply = served().post(verb, body);
      EXPECT_EQ(status_of(reply), 400) << verb << " " << body << "\n" << reply.substr(0, 2000);
      EXPECT_THAT(reply, testing::AnyOf(HasSubstr("no files of the server's machine"),
                                        HasSubstr("only a file can include another"),
                                        HasSubstr("unknown model")))
          << verb << " " << body;
      EXPECT_THAT(reply, Not(HasSubstr("root:"))) << body;
      EXPECT_THAT(reply, Not(HasSubstr("no such file"))) << body;
      EXPECT_THAT(reply, Not(HasSubstr("regular file"))) << body;
      EXPECT_THAT(reply, Not(HasSubstr("a folder"))) << body;
    }
  }
}

TEST_F(ServerTest, ServesNoPathOutsideItsPage) {
  for (const char* path : {"/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd",
                           "/assets/../../../etc/passwd", "/etc/passwd", "/api/v1/../../x"})
    EXPECT_EQ(status_of(served().get(path)), 404) << path;
  EXPECT_EQ(status_of(served().get("/")), 200);
}

TEST_F(ServerTest, AnswersItsOwnPagesOnly) {
  EXPECT_EQ(status_of(served().post("estimate", kSmall, "")), 415);
  EXPECT_EQ(status_of(served().post("estimate", kSmall, "Content-Type: text/plain\r\n")), 415);
  const std::string type = "Content-Type: application/json\r\n";
  EXPECT_EQ(status_of(served().post("estimate", kSmall, type + "Origin: http://evil.example\r\n")),
            403);
  EXPECT_EQ(status_of(served().exchange("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n")), 421);
  EXPECT_EQ(status_of(served().get("/api/v1/estimate")), 404);
  EXPECT_EQ(status_of(served().post("fit", "{}")), 404);
}

TEST_F(ServerTest, DescribesItself) {
  const json api = json::parse(body_of(served().get("/api/v1/openapi.json")));
  EXPECT_EQ(api["openapi"], "3.1.0");
  EXPECT_TRUE(api["paths"].contains("/api/v1/estimate"));
  const json schema = json::parse(body_of(served().get("/api/v1/schema")));
  EXPECT_EQ(schema, json::parse(printed("schema")));
  const json keys = json::parse(body_of(served().get("/api/v1/keys")));
  EXPECT_GT(keys["estimate"].size(), 20u);
  EXPECT_GT(json::parse(body_of(served().get("/api/v1/facts")))["models"].size(), 60u);
}

TEST_F(ServerTest, RefusesWhatIsTooLarge) {
  const std::string type = "Content-Type: application/json\r\n";
  const std::string gigabyte = served().exchange(
      fmt::format("POST /api/v1/estimate HTTP/1.1\r\nHost: localhost\r\n{}Content-Length: "
                  "1073741824\r\n\r\n{}",
                  type, std::string(100000, 'x')));
  EXPECT_EQ(status_of(gigabyte), 413);
  const std::string deep = std::string(100000, '[');
  EXPECT_EQ(status_of(served().post("run", deep)), 400);
  const std::string sweep = served().post(
      "estimate",
      R"({"model": "llama-3-8b", "gpu": "h100-sxm", "isl": "1-5000", "breakdown": false})");
  EXPECT_EQ(status_of(sweep), 400);
  const std::string points =
      served().post("estimate", R"({"model": "llama-3-8b", "gpu": "h100-sxm", "isl": "1-5000"})");
  EXPECT_THAT(error_of(points)["message"].get<std::string>(), HasSubstr("--max-points"));
  const std::string requests = served().post(
      "simulate", R"({"model": "llama-3-8b", "gpu": "h100-sxm", "requests": 50000000})");
  EXPECT_THAT(error_of(requests)["message"].get<std::string>(), HasSubstr("--max-requests"));
}

// The small question's time while a huge one runs, and after it was cancelled.
TEST(Server, AHugeQuestionKeepsNobodyWaiting) {
  const Served served({"--waiting", "1"});
  const std::string type = "Content-Type: application/json\r\nAccept: text/event-stream\r\n";
  const std::string huge = fmt::format(
      "POST /api/v1/simulate HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n{}\r\n{}",
      kHuge.size(), type, kHuge);
  const int one = served.connect(), two = served.connect();
  send_all(one, huge);
  std::array<char, 4096> bytes;
  std::string seen;
  while (seen.find("\"requests\"") == std::string::npos) {
    const ssize_t n = recv(one, bytes.data(), bytes.size(), 0);
    ASSERT_GT(n, 0) << seen;
    seen.append(bytes.data(), static_cast<std::size_t>(n));
  }
  EXPECT_THAT(seen, HasSubstr("event: progress"));
  send_all(two, huge);
  served.post("estimate", kSmall);  // the workers have read their facts
  const auto began = Clock::now();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(status_of(served.post("estimate", kSmall)), 200);
  EXPECT_LT(Clock::now() - began, std::chrono::seconds(3));
  const std::string third = served.post("simulate", kHuge);
  EXPECT_EQ(status_of(third), 503) << third.substr(0, 300);
  // Gone clients free the long worker: a short search gets its turn.
  close(one);
  close(two);
  const std::string next =
      served.post("simulate", R"({"model": "llama-3-8b", "gpu": "h100-sxm", "requests": 6000})");
  EXPECT_EQ(status_of(next), 200);
}

TEST(Server, EndsWhatTakesTooLong) {
  const Served served({"--max-seconds", "1"});
  const std::string reply = served.post("simulate", kHuge);
  EXPECT_EQ(status_of(reply), 504);
  EXPECT_THAT(reply, HasSubstr("--max-seconds"));
  EXPECT_EQ(status_of(served.post("estimate", kSmall)), 200);
}

TEST(Server, SlowAndSilentClientsKeepNobodyOut) {
  const Served served({"--max-connections", "64"});
  std::vector<int> silent;
  for (int i = 0; i < 300; ++i) {
    silent.push_back(served.connect());
    ASSERT_GE(silent.back(), 0);
    send_all(silent.back(), i % 2 == 0 ? "POST /api/v1/estimate HTTP/1.1\r\nHost: loc" : "");
  }
  EXPECT_EQ(status_of(served.post("estimate", kSmall)), 200);
  for (const int fd : silent) close(fd);
}

TEST(Server, EndsCleanly) {
  for (const int signal : {SIGINT, SIGTERM}) {
    Served served;
    const int idle = served.connect();
    EXPECT_EQ(status_of(served.post("estimate", kSmall)), 200);
    EXPECT_EQ(served.end(signal), 0);
    EXPECT_EQ(read_all(idle), "");
    close(idle);
    EXPECT_LT(served.connect(), 0) << "something still listens";
  }
}

}  // namespace server_test
}  // namespace orrery::server
