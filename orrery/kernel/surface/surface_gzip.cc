// The compressed form of a file of surfaces.
#include <fmt/format.h>
#include <zlib.h>

#include <array>
#include <stdexcept>

#include "orrery/base/error.h"
#include "orrery/kernel/surface/surface.h"

namespace orrery {
namespace {

constexpr std::size_t kMostText = 64u << 20;  // bytes; ten times the largest file
constexpr int kGzip = 15 + 16;                // zlib: the largest window, and gzip's header

z_stream stream_over(std::string_view bytes) {
  z_stream z{};
  z.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(bytes.data()));
  z.avail_in = static_cast<uInt>(bytes.size());
  return z;
}

// Runs `step` (inflate or deflate) until it ends or fails, and returns what it wrote.
std::string run(z_stream& z, int (*step)(z_streamp, int), int flush, int& state) {
  std::string out;
  std::array<char, 1u << 16> buffer;
  do {
    z.next_out = reinterpret_cast<Bytef*>(buffer.data());
    z.avail_out = static_cast<uInt>(buffer.size());
    state = step(&z, flush);
    out.append(buffer.data(), buffer.size() - z.avail_out);
  } while (state == Z_OK && out.size() <= kMostText);
  return out;
}

}  // namespace

std::string compressed_surfaces(std::string_view text) {
  z_stream z = stream_over(text);
  if (deflateInit2(&z, Z_BEST_COMPRESSION, Z_DEFLATED, kGzip, 9, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::runtime_error("zlib cannot compress");
  int state = Z_OK;
  std::string out = run(z, deflate, Z_FINISH, state);
  deflateEnd(&z);
  return out;
}

std::string inflated_surfaces(std::string_view bytes, const std::string& name) {
  if (!bytes.starts_with("\x1f\x8b")) return std::string(bytes);
  z_stream z = stream_over(bytes);
  if (inflateInit2(&z, kGzip) != Z_OK) throw std::runtime_error("zlib cannot decompress");
  int state = Z_OK;
  std::string out = run(z, inflate, Z_NO_FLUSH, state);
  inflateEnd(&z);
  if (state != Z_STREAM_END)
    throw InputError(fmt::format("{}: damaged, truncated or too large gzip file", name));
  return out;
}

}  // namespace orrery
