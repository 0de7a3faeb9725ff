// Messages between the server and its worker processes: a kind, a length and bytes.
//
// To a worker goes a question: 'Q', and the verb, the form of the body ("json" or "yaml") and the
// body, with a line end after each of the first two. From it come progress ('P', JSON), the refusal
// of a quick worker to answer what is long ('L'), and the answer ('A': a status as three digits,
// then the bytes).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace orrery::server {

struct Frame {
  char kind = 0;
  std::string bytes;
};

inline constexpr std::uint32_t kMaxFrame = 256u << 20;

// The frame as it is sent.
std::string encoded(char kind, std::string_view bytes);

// Makes frames of bytes as they come.
class FrameReader {
 public:
  void feed(std::string_view bytes) { buffer_.append(bytes); }
  // The next whole frame.
  std::optional<Frame> next();
  // Whether the bytes are no frames.
  bool broken() const { return broken_; }
  std::size_t buffered() const { return buffer_.size(); }

 private:
  std::string buffer_;
  bool broken_ = false;
};

// Blocking, for workers. False: the other end is gone.
bool write_frame(int fd, char kind, std::string_view bytes);
std::optional<Frame> read_frame(int fd, FrameReader& reader);

}  // namespace orrery::server
