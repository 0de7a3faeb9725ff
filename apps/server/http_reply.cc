#include "apps/server/http_reply.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>

namespace orrery::server {
namespace {

const char* reason_of(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 411:
      return "Length Required";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 421:
      return "Misdirected Request";
    case 422:
      return "Unprocessable Content";
    case 431:
      return "Request Header Fields Too Large";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Internal Server Error";
  }
}

// Scripts and styles of this server only; no frame around the page, no plugin, no form elsewhere.
// Charts set styles of elements.
constexpr std::string_view kHeaders =
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self' "
    "'unsafe-inline'; img-src 'self' data: blob:; connect-src 'self'; font-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "X-Frame-Options: DENY\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "Cross-Origin-Opener-Policy: same-origin\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n";

std::string common(const HttpHead& head) {
  std::string out =
      fmt::format("HTTP/1.1 {} {}\r\nContent-Type: {}\r\nConnection: {}\r\n", head.status,
                  reason_of(head.status), head.type, head.keep_alive ? "keep-alive" : "close");
  bool cached = false;
  for (const auto& [name, value] : head.headers) {
    out += fmt::format("{}: {}\r\n", name, value);
    cached |= name == "Cache-Control";
  }
  if (!cached) out += "Cache-Control: no-store\r\n";
  return out.append(kHeaders);
}

// The name or address of "name:port", "[address]:port".
std::string_view without_port(std::string_view host) {
  if (host.starts_with('[')) {
    const std::size_t end = host.find(']');
    return end == std::string_view::npos ? std::string_view() : host.substr(1, end - 1);
  }
  return host.substr(0, host.find(':'));
}

bool is_address(const std::string& host) {
  in_addr v4{};
  in6_addr v6{};
  return inet_pton(AF_INET, host.c_str(), &v4) == 1 || inet_pton(AF_INET6, host.c_str(), &v6) == 1;
}

}  // namespace

std::string head_bytes(const HttpHead& head, std::size_t length) {
  return fmt::format("{}Content-Length: {}\r\n\r\n", common(head), length);
}

std::string stream_head_bytes(const HttpHead& head) {
  return common(head) + "Transfer-Encoding: chunked\r\n\r\n";
}

std::string chunk_bytes(std::string_view text) {
  return fmt::format("{:x}\r\n{}\r\n", text.size(), text);
}

std::string event_bytes(std::string_view name, std::string_view data) {
  std::string out = fmt::format("event: {}\n", name);
  out.reserve(data.size() + data.size() / 8);
  for (std::size_t begin = 0; begin <= data.size();) {
    const std::size_t end = std::min(data.find('\n', begin), data.size());
    out.append("data: ").append(data.substr(begin, end - begin)).append("\n");
    begin = end + 1;
  }
  return out + "\n";
}

const Refusal* find_refusal(const HttpRequest& request, const std::vector<std::string>& names,
                            Refusal& store) {
  const auto refuse = [&store](int status, const char* kind, std::string message) {
    store = {status, kind, std::move(message)};
    return &store;
  };
  const std::string_view authority = request.header("host");
  const std::string host(without_port(authority));
  const bool named = std::find(names.begin(), names.end(), host) != names.end();
  if (host != "localhost" && !is_address(host) && !named)
    return refuse(421, "forbidden",
                  "this server does not answer to this host name (orrery serve --name)");
  const std::string_view origin = request.header("origin");
  if (!origin.empty() && origin != fmt::format("http://{}", authority))
    return refuse(403, "forbidden", "pages of other origins are not answered");
  const std::string_view site = request.header("sec-fetch-site");
  if (!site.empty() && site != "same-origin" && site != "none" && request.method != "GET")
    return refuse(403, "forbidden", "pages of other sites are not answered");
  return nullptr;
}

}  // namespace orrery::server
