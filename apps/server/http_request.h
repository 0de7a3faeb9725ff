// Reads HTTP/1.1 requests from bytes as they come, strictly and within limits.
//
// The reader refuses what is not plain, and guesses nothing: lines end in CR LF, a name of a header
// has no blank before its colon, Host stands once, the length of a body is one number, and bodies
// in chunks are not taken. So nobody in front of this server can read a request otherwise than it
// does.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace orrery::server {

struct HttpRequest {
  std::string method, path, query;                           // path: decoded, without the query
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case
  std::string body;
  bool keep_alive = true;

  // The value of a header; empty if there is none.
  std::string_view header(std::string_view lower_case_name) const;
};

// Why a request is not taken.
struct Refusal {
  int status = 400;
  std::string kind;  // "input", "limit", "busy", "forbidden", "not_found", ...
  std::string message;
};

class RequestReader {
 public:
  static constexpr std::size_t kMaxHead = 16u << 10;  // bytes of the request line and the headers
  static constexpr std::size_t kMaxHeaders = 64;

  explicit RequestReader(std::size_t max_body) : max_body_(max_body) {}

  // Takes bytes of the connection. They stay until next() or refusal() has looked at them.
  void feed(std::string_view bytes) { buffer_.append(bytes); }
  // The next whole request; nothing: more bytes are needed, or there is a refusal.
  std::optional<HttpRequest> next();
  // Set when the bytes are no request that is taken. Nothing more is read after it.
  const std::optional<Refusal>& refusal() const { return refusal_; }
  // Whether the client waits for "100 Continue" before it sends a body. True once a request.
  bool wants_continue();
  // Whether a part of a request has come, and whether it is one of its body.
  bool begun() const { return has_head_ || !buffer_.empty(); }
  bool reads_body() const { return has_head_; }
  std::size_t buffered() const { return buffer_.capacity() + head_.body.capacity(); }

 private:
  bool read_head(std::string_view head);
  bool read_target(std::string_view target);
  bool read_header(std::string_view line);
  bool read_length();
  bool refuse(int status, std::string kind, std::string message);

  std::size_t max_body_;
  std::string buffer_;
  std::size_t searched_ = 0;  // bytes without the end of the head
  bool has_head_ = false, continues_ = false;
  std::size_t length_ = 0;  // of the body
  HttpRequest head_;
  std::optional<Refusal> refusal_;
};

// The text with %XX resolved. Nothing: a malformed or a control character.
std::optional<std::string> percent_decoded(std::string_view text);

}  // namespace orrery::server
