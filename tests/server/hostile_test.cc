// Clients that send too much, too slowly or never: they are refused, memory stays bounded, and
// others are served meanwhile.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/server/served.h"

namespace orrery::server {
namespace hostile_test {

constexpr const char* kQuick = R"({"model": "llama-3-8b", "gpu": "h100-sxm"})";
constexpr std::size_t kMiB = 1u << 20;

// The value of a line of /proc/PID/status: "VmRSS", in kB.
std::size_t status_line(const std::filesystem::path& process, const std::string& name) {
  std::ifstream in(process / "status");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(name + ":")) return std::stoul(line.substr(name.size() + 1));
  return 0;
}

// Resident bytes of the server and its workers.
std::size_t memory_of(const Served& served) {
  std::size_t all = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const auto pid = static_cast<std::size_t>(served.pid());
    if (std::stoul(name) == pid || status_line(entry.path(), "PPid") == pid)
      all += status_line(entry.path(), "VmRSS") * 1024;
  }
  return all;
}

// Descriptors of this process, as many as the system allows.
std::size_t allowed_descriptors() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}

TEST(Hostile, TenThousandHalfRequestsKeepNobodyOut) {
  constexpr std::size_t kClients = 10000;
  if (allowed_descriptors() < kClients + 100) GTEST_SKIP() << "too few descriptors (ulimit -n)";
  const Served served;
  ASSERT_EQ(status_of(served.post("estimate", kQuick)), 200);
  const std::size_t before = memory_of(served);
  std::vector<int> clients;
  for (std::size_t i = 0; i < kClients; ++i) {
    clients.push_back(served.connect());
    ASSERT_GE(clients.back(), 0) << i;
    send_all(clients.back(), i % 3 == 0   ? "POST /api/v1/estimate HTTP/1.1\r\nHost: loc"
                             : i % 3 == 1 ? "POST /api/v1/run HTTP/1.1\r\nHost: localhost\r\n"
                                            "Content-Type: application/json\r\n"
                                            "Content-Length: 900000\r\n\r\n{"
                                          : "");
    if (i % 1000 == 999) {
      EXPECT_EQ(status_of(served.post("estimate", kQuick)), 200) << i;
    }
  }
  EXPECT_LT(memory_of(served), before + 64 * kMiB);
  for (const int fd : clients) close(fd);
  EXPECT_EQ(status_of(served.post("estimate", kQuick)), 200);
}

// The refusal does not wait for the body, and a client that sends on is cut off.
TEST(Hostile, GigabytesAreNotKept) {
  const Served served;
  ASSERT_EQ(status_of(served.post("estimate", kQuick)), 200);
  const std::size_t before = memory_of(served);
  const std::string part(kMiB, 'x');
  for (const std::string& length :
       {std::string("Content-Length: 1073741824\r\n"), std::string("Content-Length: 1000000\r\n"),
        std::string("Transfer-Encoding: chunked\r\n"), std::string("X-Long: ")}) {
    const int fd = served.connect();
    ASSERT_GE(fd, 0);
    const bool head = !length.ends_with("\r\n");  // a head without an end
    send_all(fd,
             "POST /api/v1/run HTTP/1.1\r\nHost: localhost\r\n"
             "Content-Type: application/json\r\n" +
                 length + (head ? "" : "\r\n"));
    std::size_t sent = 0;
    while (sent < 1024) {
      const ssize_t n = send(fd, part.data(), part.size(), MSG_NOSIGNAL);
      if (n <= 0) break;
      ++sent;
      if (sent % 256 == 0) {
        EXPECT_LT(memory_of(served), before + 64 * kMiB) << length;
      }
    }
    const std::string reply = read_all(fd);
    if (!reply.empty()) {
      EXPECT_EQ(status_of(reply) / 100, 4) << length << reply;
    }
    close(fd);
    EXPECT_EQ(status_of(served.post("estimate", kQuick)), 200) << length;
  }
  EXPECT_LT(memory_of(served), before + 64 * kMiB);
}

TEST(Hostile, DeepDocumentsAreRefused) {
  const Served served;
  const auto nested = [](const std::string& open, const std::string& inner,
                         const std::string& close, std::size_t depth) {
    std::string text;
    for (std::size_t i = 0; i < depth; ++i) text += open;
    text += inner;
    for (std::size_t i = 0; i < depth; ++i) text += close;
    return text;
  };
  const std::string yaml = "Content-Type: application/yaml\r\n";
  for (const std::size_t depth : {65u, 1000u, 100000u}) {
    for (const std::string& text :
         {nested("[", "1", "]", depth), nested("{\"model\":", "1", "}", depth),
          nested("[", "", "", depth), nested("{\"set\":[", "1", "]}", depth)}) {
      const std::string json = served.post("estimate", text);
      EXPECT_EQ(status_of(json), 400) << depth << text.substr(0, 10) << json;
      EXPECT_EQ(status_of(served.post("run", text, yaml)), 400) << depth << text.substr(0, 10);
    }
  }
  std::string steps;  // a block of YAML for each level
  for (std::size_t i = 0; i < 1000; ++i) steps += std::string(i, ' ') + "a:\n";
  EXPECT_EQ(status_of(served.post("run", steps, yaml)), 400);
  // Aliases of YAML, each of which repeats the one before ten times.
  std::string aliases = "a0: &a0 [1,1,1,1,1,1,1,1,1,1]\n";
  for (int i = 1; i < 12; ++i) {
    std::string list;
    for (int k = 0; k < 10; ++k) list += fmt::format("{}*a{}", k == 0 ? "" : ",", i - 1);
    aliases += fmt::format("a{0}: &a{0} [{1}]\n", i, list);
  }
  EXPECT_EQ(status_of(served.post("run", aliases, yaml)), 400);
  EXPECT_EQ(status_of(served.post("estimate", kQuick)), 200);
}

// A request that comes byte by byte is answered.
TEST(Hostile, SlowRequestsAreAnswered) {
  const Served served;
  const int slow = served.connect();
  const std::string body = kQuick;
  const std::string request = fmt::format(
      "POST /api/v1/estimate HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
      "Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
      body.size(), body);
  for (const char byte : request) {
    send_all(slow, std::string(1, byte));
    usleep(2000);
  }
  EXPECT_EQ(status_of(read_all(slow)), 200);
  close(slow);
}

}  // namespace hostile_test
}  // namespace orrery::server
