#include "apps/server/frames.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace orrery::server {
namespace {

constexpr std::size_t kHead = 1 + sizeof(std::uint32_t);

}  // namespace

std::string encoded(char kind, std::string_view bytes) {
  std::string out(kHead, kind);
  const auto length = static_cast<std::uint32_t>(bytes.size());
  std::memcpy(out.data() + 1, &length, sizeof length);
  return out.append(bytes);
}

std::optional<Frame> FrameReader::next() {
  if (broken_ || buffer_.size() < kHead) return std::nullopt;
  std::uint32_t length = 0;
  std::memcpy(&length, buffer_.data() + 1, sizeof length);
  if (length > kMaxFrame) {
    broken_ = true;
    return std::nullopt;
  }
  if (buffer_.size() < kHead + length) return std::nullopt;
  Frame frame{buffer_[0], buffer_.substr(kHead, length)};
  buffer_.erase(0, kHead + length);
  if (buffer_.empty()) buffer_.shrink_to_fit();
  return frame;
}

bool write_frame(int fd, char kind, std::string_view bytes) {
  const std::string all = encoded(kind, bytes);
  for (std::size_t sent = 0; sent < all.size();) {
    const ssize_t n = ::send(fd, all.data() + sent, all.size() - sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    sent += static_cast<std::size_t>(n);
  }
  return true;
}

std::optional<Frame> read_frame(int fd, FrameReader& reader) {
  std::array<char, 1 << 16> bytes;
  while (true) {
    if (auto frame = reader.next()) return frame;
    const ssize_t n = ::recv(fd, bytes.data(), bytes.size(), 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return std::nullopt;
    reader.feed({bytes.data(), static_cast<std::size_t>(n)});
  }
}

}  // namespace orrery::server
