// Replies of the server as bytes, with the headers that keep a page to this server alone.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apps/server/http_request.h"

namespace orrery::server {

struct HttpHead {
  int status = 200;
  std::string type = "application/json";
  bool keep_alive = true;
  std::vector<std::pair<std::string, std::string>> headers;  // further ones
};

// The head of a reply with a body of `length` bytes.
std::string head_bytes(const HttpHead& head, std::size_t length);
// The head of a reply whose body comes in chunks, and a chunk; an empty one ends the body.
std::string stream_head_bytes(const HttpHead& head);
std::string chunk_bytes(std::string_view text);
// An event of a stream of server-sent events. Line ends inside `data` are kept: the receiver joins
// the lines again.
std::string event_bytes(std::string_view name, std::string_view data);

// Why a request must not be answered, by where it comes from and what it brings: a name of this
// machine that is not allowed (a page of another site that had itself resolved to this address), a
// page of another origin, or a body of another type than it says. `names`: host names that are
// allowed beside localhost and addresses.
const Refusal* find_refusal(const HttpRequest& request, const std::vector<std::string>& names,
                            Refusal& store);

}  // namespace orrery::server
