#include "apps/server/pages.h"

#include <zlib.h>

#include <array>
#include <nlohmann/json.hpp>

#include "apps/server/openapi.h"
#include "orrery/kinds/all_kinds.h"
#include "orrery/scenario/document/scenario_schema.h"

namespace orrery::server {
namespace {

std::string type_of(std::string_view path) {
  if (path.ends_with(".js")) return "text/javascript; charset=utf-8";
  if (path.ends_with(".css")) return "text/css; charset=utf-8";
  if (path.ends_with(".svg")) return "image/svg+xml";
  if (path.ends_with(".json")) return "application/json";
  if (path.ends_with(".txt")) return "text/plain; charset=utf-8";
  return "text/html; charset=utf-8";
}

constexpr std::string_view kNoPage =
    "<!doctype html><html lang=en><meta charset=utf-8><title>Orrery</title>"
    "<p>This program was built without its page. The interface is at "
    "<a href=/api/v1/openapi.json>/api/v1</a>.";

}  // namespace

Pages::Pages(const Bundle& bundle, const ServeLimits& limits) {
  for (const PageFile& f : page_files()) {
    StaticReply reply{type_of(f.path), f.gzip, true, f.path.starts_with("/assets/"), {}};
    if (f.path == "/index.html") all_["/"] = reply;
    all_[std::string(f.path)] = std::move(reply);
  }
  if (!all_.contains("/")) all_["/"] = {"text/html; charset=utf-8", kNoPage, false, false, {}};
  add_json("/api/v1/schema", scenario_schema(all_kinds()).dump(1) + "\n");
  add_json("/api/v1/openapi.json", openapi_document().dump(1) + "\n");
  add_json("/api/v1/keys", keys_document().dump() + "\n");
  add_json("/api/v1/verbs", verbs_document().dump() + "\n");
  add_json("/api/v1/facts", facts_document(bundle).dump() + "\n");
  add_json("/api/v1/limits", limits_document(limits).dump(1) + "\n");
}

void Pages::add_json(const std::string& path, std::string text) {
  uLongf size = compressBound(text.size()) + 64;
  std::string packed(size, '\0');
  z_stream stream{};
  // 16: the form of gzip.
  if (deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
  stream.next_in = reinterpret_cast<Bytef*>(text.data());
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  StaticReply& reply = all_[path];
  reply.owned = std::move(packed);
  reply.type = "application/json", reply.bytes = reply.owned, reply.gzip = true;
}

const StaticReply* Pages::find(const std::string& path) const {
  const auto at = all_.find(path);
  return at == all_.end() ? nullptr : &at->second;
}

std::string unpacked(std::string_view gzip) {
  z_stream stream{};
  std::string out;
  if (inflateInit2(&stream, 15 + 16) != Z_OK) return out;
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(gzip.data()));
  stream.avail_in = static_cast<uInt>(gzip.size());
  std::array<char, 1 << 16> bytes;
  int code = Z_OK;
  while (code == Z_OK) {
    stream.next_out = reinterpret_cast<Bytef*>(bytes.data());
    stream.avail_out = bytes.size();
    code = inflate(&stream, Z_NO_FLUSH);
    out.append(bytes.data(), bytes.size() - stream.avail_out);
  }
  inflateEnd(&stream);
  return out;
}

}  // namespace orrery::server
