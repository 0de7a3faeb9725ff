#include "apps/server/http_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace orrery::server {
namespace {

constexpr std::string_view kEnd = "\r\n\r\n", kLineEnd = "\r\n";

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

// A letter of a token (RFC 9110, 5.6.2).
bool is_token(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return is_token(c); });
}

bool has_control(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f;
  });
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

int hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::optional<std::string> percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      const int high = i + 2 < text.size() ? hex(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? hex(text[i + 2]) : -1;
      if (high < 0 || low < 0) return std::nullopt;
      c = static_cast<char>(high * 16 + low);
      i += 2;
    }
    if (static_cast<unsigned char>(c) <= 0x20 || c == 0x7f) return std::nullopt;
    out += c;
  }
  return out;
}

std::string_view HttpRequest::header(std::string_view name) const {
  for (const auto& [key, value] : headers)
    if (key == name) return value;
  return {};
}

bool RequestReader::refuse(int status, std::string kind, std::string message) {
  refusal_ = Refusal{status, std::move(kind), std::move(message)};
  buffer_.clear();
  buffer_.shrink_to_fit();
  return false;
}

bool RequestReader::wants_continue() {
  const bool wants = has_head_ && continues_ && buffer_.size() < length_;
  continues_ = false;
  return wants;
}

std::optional<HttpRequest> RequestReader::next() {
  if (refusal_) return std::nullopt;
  if (!has_head_) {
    const std::size_t from = searched_ < 3 ? 0 : searched_ - 3;
    const std::size_t end = std::string_view(buffer_).substr(0, kMaxHead).find(kEnd, from);
    if (end == std::string::npos) {
      searched_ = buffer_.size();
      if (buffer_.size() >= kMaxHead)
        refuse(431, "limit",
               fmt::format("a request has at most {} KiB of headers", kMaxHead >> 10));
      return std::nullopt;
    }
    const std::string head = buffer_.substr(0, end + kLineEnd.size());
    if (!read_head(head) || !read_length()) return std::nullopt;
    buffer_.erase(0, end + kEnd.size());
    has_head_ = true;
  }
  if (buffer_.size() < length_) return std::nullopt;
  HttpRequest request = std::move(head_);
  request.body = buffer_.substr(0, length_);
  buffer_.erase(0, length_);
  if (buffer_.empty()) buffer_.shrink_to_fit();
  head_ = HttpRequest();
  has_head_ = continues_ = false;
  length_ = searched_ = 0;
  return request;
}

bool RequestReader::read_head(std::string_view head) {
  const std::size_t first_end = head.find(kLineEnd);
  const std::string_view first = head.substr(0, first_end);
  const std::size_t space = first.find(' '), second = first.rfind(' ');
  if (space == std::string_view::npos || second == space || has_control(first))
    return refuse(400, "input", "malformed request line");
  const std::string_view method = first.substr(0, space), version = first.substr(second + 1);
  if (!is_token(method)) return refuse(400, "input", "malformed method");
  if (version != "HTTP/1.1" && version != "HTTP/1.0")
    return refuse(505, "input", "HTTP/1.1 is spoken here");
  head_.method = std::string(method);
  head_.keep_alive = version == "HTTP/1.1";
  if (!read_target(first.substr(space + 1, second - space - 1))) return false;
  for (std::size_t at = first_end + kLineEnd.size(); at < head.size();) {
    const std::size_t end = head.find(kLineEnd, at);
    if (!read_header(head.substr(at, end - at))) return false;
    at = end + kLineEnd.size();
  }
  const auto hosts = std::count_if(head_.headers.begin(), head_.headers.end(),
                                   [](const auto& h) { return h.first == "host"; });
  if (hosts != 1) return refuse(400, "input", "a request names its host once");
  const std::string connection = lower(head_.header("connection"));
  if (connection.find("close") != std::string::npos) head_.keep_alive = false;
  if (connection.find("keep-alive") != std::string::npos) head_.keep_alive = true;
  continues_ = lower(head_.header("expect")) == "100-continue";
  return true;
}

bool RequestReader::read_target(std::string_view target) {
  const std::size_t question = target.find('?');
  const auto path = percent_decoded(target.substr(0, question));
  if (!path || path->empty() || path->front() != '/') return refuse(400, "input", "malformed path");
  head_.path = *path;
  if (question != std::string_view::npos) head_.query = std::string(target.substr(question + 1));
  return true;
}

bool RequestReader::read_header(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || !is_token(line.substr(0, colon)) || has_control(line))
    return refuse(400, "input", "malformed header");
  if (head_.headers.size() >= kMaxHeaders)
    return refuse(431, "limit", fmt::format("a request has at most {} headers", kMaxHeaders));
  head_.headers.emplace_back(lower(line.substr(0, colon)),
                             std::string(trimmed(line.substr(colon + 1))));
  return true;
}

bool RequestReader::read_length() {
  if (!head_.header("transfer-encoding").empty())
    return refuse(411, "input", "a body needs its Content-Length; chunks are not taken");
  bool seen = false;
  for (const auto& [name, value] : head_.headers) {
    if (name != "content-length") continue;
    if (seen) return refuse(400, "input", "Content-Length stands twice");
    seen = true;
    std::size_t length = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), length);
    if (error == std::errc::result_out_of_range) length = max_body_ + 1;
    if (error == std::errc::invalid_argument || end != value.data() + value.size())
      return refuse(400, "input", "malformed Content-Length");
    length_ = length;
  }
  if (length_ > max_body_)
    return refuse(413, "limit", fmt::format("a question has at most {} KiB", max_body_ >> 10));
  return true;
}

}  // namespace orrery::server
