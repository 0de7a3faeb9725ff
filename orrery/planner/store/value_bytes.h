// Values as bytes: whole numbers, doubles bit by bit, texts with their lengths. What is read is
// what was written, so that an answer made of read values has the same bytes.
#pragma once

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>

namespace orrery {

class ValueWriter {
 public:
  void number(std::uint64_t n) { text_.append(reinterpret_cast<const char*>(&n), sizeof n); }
  void integer(std::int64_t n) { number(static_cast<std::uint64_t>(n)); }
  void real(double x) {
    std::uint64_t n = 0;
    std::memcpy(&n, &x, sizeof n);
    number(n);
  }
  void text(std::string_view t) {
    number(t.size());
    text_ += t;
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

// Reads them in the same order. std::runtime_error: there are fewer bytes.
class ValueReader {
 public:
  explicit ValueReader(std::string_view bytes) : rest_(bytes) {}

  std::uint64_t number() {
    std::uint64_t n = 0;
    std::memcpy(&n, part(sizeof n).data(), sizeof n);
    return n;
  }
  std::int64_t integer() { return static_cast<std::int64_t>(number()); }
  double real() {
    const std::uint64_t n = number();
    double x = 0;
    std::memcpy(&x, &n, sizeof x);
    return x;
  }
  std::string text() { return std::string(part(number())); }
  bool at_end() const { return rest_.empty(); }

 private:
  std::string_view part(std::uint64_t size) {
    if (size > rest_.size()) throw std::runtime_error("a kept value ends too early");
    const std::string_view out = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return out;
  }

  std::string_view rest_;
};

}  // namespace orrery
