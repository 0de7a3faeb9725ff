// Are requests read strictly and within limits, however their bytes come?
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "apps/server/frames.h"
#include "apps/server/http_reply.h"
#include "apps/server/http_request.h"

namespace orrery::server {
namespace http_test {

using testing::HasSubstr;

constexpr std::size_t kBody = 64;
const std::string kHost = "Host: localhost:1\r\n";

// The status with which the bytes are refused; 0: they are not, or not yet.
int refused(const std::string& bytes) {
  RequestReader reader(kBody);
  reader.feed(bytes);
  while (reader.next()) {
  }
  return reader.refusal() ? reader.refusal()->status : 0;
}

TEST(Requests, AreReadByteByByte) {
  RequestReader reader(kBody);
  const std::string text =
      "POST /api/v1/x%2ey?a=b HTTP/1.1\r\n" + kHost +
      "Content-Length: 5\r\nX-Thing:  two words \r\n\r\nhelloGET / HTTP/1.1\r\n" + kHost + "\r\n";
  std::vector<HttpRequest> found;
  for (const char c : text) {
    reader.feed({&c, 1});
    if (auto request = reader.next()) found.push_back(*request);
  }
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].method, "POST");
  EXPECT_EQ(found[0].path, "/api/v1/x.y");
  EXPECT_EQ(found[0].query, "a=b");
  EXPECT_EQ(found[0].body, "hello");
  EXPECT_EQ(found[0].header("x-thing"), "two words");
  EXPECT_EQ(found[1].path, "/");
  EXPECT_FALSE(reader.begun());
}

TEST(Requests, WhatIsNotPlainIsRefused) {
  const std::string get = "GET / HTTP/1.1\r\n";
  EXPECT_EQ(refused(get + kHost + "\r\n"), 0);
  EXPECT_EQ(refused(get + "\r\n"), 400) << "no host";
  EXPECT_EQ(refused(get + kHost + kHost + "\r\n"), 400) << "two hosts";
  EXPECT_EQ(refused(get + kHost + "A : b\r\n\r\n"), 400) << "a blank before the colon";
  EXPECT_EQ(refused(get + kHost + "A: b\r\n c\r\n\r\n"), 400) << "a folded line";
  EXPECT_EQ(refused(get + kHost + "A: b\nC: d\r\n\r\n"), 400) << "a bare line feed";
  EXPECT_EQ(refused("GET / HTTP/2.0\r\n" + kHost + "\r\n"), 505);
  EXPECT_EQ(refused("GET  HTTP/1.1\r\n" + kHost + "\r\n"), 400);
  EXPECT_EQ(refused("GET /%zz HTTP/1.1\r\n" + kHost + "\r\n"), 400);
  EXPECT_EQ(refused("GET /%00 HTTP/1.1\r\n" + kHost + "\r\n"), 400);
  EXPECT_EQ(refused("GET http://other/ HTTP/1.1\r\n" + kHost + "\r\n"), 400);
}

TEST(Requests, LengthsOfBodiesAreOneNumber) {
  const std::string post = "POST / HTTP/1.1\r\n" + kHost;
  EXPECT_EQ(refused(post + "Transfer-Encoding: chunked\r\n\r\n"), 411);
  EXPECT_EQ(refused(post + "Content-Length: 1\r\nContent-Length: 1\r\n\r\n"), 400);
  EXPECT_EQ(refused(post + "Content-Length: -1\r\n\r\n"), 400);
  EXPECT_EQ(refused(post + "Content-Length: 1x\r\n\r\n"), 400);
  EXPECT_EQ(refused(post + "Content-Length: 65\r\n\r\n"), 413);
  EXPECT_EQ(refused(post + "Content-Length: 99999999999999999999999\r\n\r\n"), 413);
  EXPECT_EQ(refused(post + "Content-Length: 64\r\n\r\n"), 0);
}

TEST(Requests, HeadsHaveLimits) {
  const std::string get = "GET / HTTP/1.1\r\n" + kHost;
  EXPECT_EQ(refused(get + "A: " + std::string(RequestReader::kMaxHead, 'a')), 431);
  std::string many = get;
  for (std::size_t i = 0; i < RequestReader::kMaxHeaders; ++i) many += "A: b\r\n";
  EXPECT_EQ(refused(many + "\r\n"), 431);
}

int status_of(HttpRequest request) {
  Refusal store;
  const Refusal* refusal = find_refusal(request, {"predictor"}, store);
  return refusal == nullptr ? 0 : refusal->status;
}

TEST(Guard, OnlyOwnNamesAndOwnPages) {
  const auto with = [](std::string host, std::string origin) {
    HttpRequest r;
    r.method = "POST";
    r.headers = {{"host", std::move(host)}};
    if (!origin.empty()) r.headers.emplace_back("origin", std::move(origin));
    return r;
  };
  EXPECT_EQ(status_of(with("localhost:8642", "")), 0);
  EXPECT_EQ(status_of(with("127.0.0.1:8642", "http://127.0.0.1:8642")), 0);
  EXPECT_EQ(status_of(with("[::1]:8642", "http://[::1]:8642")), 0);
  EXPECT_EQ(status_of(with("predictor", "")), 0);
  EXPECT_EQ(status_of(with("evil.example:8642", "")), 421);
  EXPECT_EQ(status_of(with("localhost.evil.example", "")), 421);
  EXPECT_EQ(status_of(with("localhost:8642", "http://evil.example")), 403);
  EXPECT_EQ(status_of(with("localhost:8642", "http://localhost:1")), 403);
  EXPECT_EQ(status_of(with("localhost:8642", "null")), 403);
  HttpRequest other = with("localhost", "");
  other.headers.emplace_back("sec-fetch-site", "cross-site");
  EXPECT_EQ(status_of(other), 403);
}

TEST(Replies, CarryTheHeadersThatKeepThePageAlone) {
  const std::string head = head_bytes({}, 3);
  for (const char* header :
       {"Content-Security-Policy: default-src 'none'", "X-Content-Type-Options: nosniff",
        "X-Frame-Options: DENY", "Cache-Control: no-store", "Content-Length: 3"})
    EXPECT_THAT(head, HasSubstr(header));
  EXPECT_EQ(head.find("Access-Control"), std::string::npos);
}

TEST(Replies, EventsKeepTheLinesOfTheirData) {
  EXPECT_EQ(event_bytes("answer", "{\n 1\n}"), "event: answer\ndata: {\ndata:  1\ndata: }\n\n");
}

TEST(Frames, ComeWholeHoweverTheyAreCut) {
  const std::string bytes = encoded('Q', "one") + encoded('A', "") + encoded('P', "three");
  FrameReader reader;
  std::string seen;
  for (const char c : bytes) {
    reader.feed({&c, 1});
    while (auto frame = reader.next()) seen += frame->kind + frame->bytes + ";";
  }
  EXPECT_EQ(seen, "Qone;A;Pthree;");
  reader.feed(std::string("A\xff\xff\xff\xff", 5));
  EXPECT_FALSE(reader.next());
  EXPECT_TRUE(reader.broken());
}

}  // namespace http_test
}  // namespace orrery::server
