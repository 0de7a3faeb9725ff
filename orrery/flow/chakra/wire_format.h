// Protobuf's wire format, as far as Chakra's traces and ONNX models use it: a field is a varint of
// number and wire type, then its value (https://protobuf.dev/programming-guides/encoding). The
// reader has no schema: its caller knows the numbers of the fields.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "orrery/base/error.h"

namespace orrery {

enum class Wire { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

// Reads the fields of one message at `offset` of the file `name`, which errors mention. The bytes
// and the name must outlive it. InputError, with the byte: the file is cut short, or has another
// format.
class WireReader {
 public:
  WireReader(std::string_view bytes, const std::string& name, std::size_t offset = 0)
      : bytes_(bytes), name_(name), offset_(offset) {}

  bool done() const { return at_ == bytes_.size(); }
  // The byte of the file that is read next.
  std::size_t offset() const { return offset_ + at_; }

  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (at_ == bytes_.size()) fail("the file is cut short");
      const auto byte = static_cast<unsigned char>(bytes_[at_++]);
      value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
    fail("a number of more than ten bytes");
  }
  std::string_view bytes(std::uint64_t count) {
    if (count > bytes_.size() - at_) fail("the file is cut short");
    at_ += count;
    return bytes_.substr(at_ - count, count);
  }
  // The message nested in this one.
  WireReader message() {
    const std::uint64_t size = varint();
    const std::size_t begin = offset_ + at_;
    return {bytes(size), name_, begin};
  }

  // Goes to the next field; false at the end.
  bool next() {
    if (done()) return false;
    const std::uint64_t key = varint();
    number_ = key >> 3;
    wire_ = static_cast<Wire>(key & 7);
    if (number_ == 0) fail("field number 0");
    if (wire_ != Wire::kVarint && wire_ != Wire::kFixed64 && wire_ != Wire::kBytes &&
        wire_ != Wire::kFixed32) {
      fail("an unknown wire type: this is no protobuf message of the expected kind");
    }
    return true;
  }
  std::uint64_t number() const { return number_; }
  Wire wire() const { return wire_; }

  void skip() {
    switch (wire_) {
      case Wire::kVarint:
        varint();
        return;
      case Wire::kFixed64:
        bytes(8);
        return;
      case Wire::kBytes:
        bytes(varint());
        return;
      case Wire::kFixed32:
        bytes(4);
        return;
    }
  }
  std::uint64_t integer() {
    expect(Wire::kVarint);
    return varint();
  }
  std::string text() { return std::string(view()); }
  // The bytes of a string, where they lie in the file.
  std::string_view view() {
    expect(Wire::kBytes);
    return bytes(varint());
  }
  WireReader nested() {
    expect(Wire::kBytes);
    return message();
  }
  template <class T>
  T fixed() {
    const std::string_view raw = bytes(sizeof(T));
    T value;
    std::memcpy(&value, raw.data(), sizeof(T));  // REQUIRES a little-endian machine
    return value;
  }
  // Calls use(value) for each value of a repeated integer, packed or one by one.
  template <class Use>
  void integers(Use use) {
    if (wire_ != Wire::kBytes) return use(integer());
    for (WireReader packed = message(); !packed.done();) use(packed.varint());
  }

  [[noreturn]] void fail(std::string_view what) const {
    throw InputError(fmt::format("{}: byte {}: {}", name_, offset_ + at_, what));
  }

 private:
  void expect(Wire wire) const {
    if (wire_ != wire)
      fail(fmt::format("field {} has another type than the format gives it", number_));
  }

  std::string_view bytes_;
  const std::string& name_;
  std::size_t offset_, at_ = 0;
  std::uint64_t number_ = 0;
  Wire wire_ = Wire::kVarint;
};

class WireWriter {
 public:
  void varint(std::uint64_t v) {
    for (; v >= 0x80; v >>= 7) out_ += static_cast<char>(v | 0x80);
    out_ += static_cast<char>(v);
  }
  void integer(int field, std::uint64_t v) {
    varint(static_cast<std::uint64_t>(field) << 3), varint(v);
  }
  void fixed32(int field, float v) {
    varint(static_cast<std::uint64_t>(field) << 3 | 5);
    char raw[sizeof v];
    std::memcpy(raw, &v, sizeof v);
    out_.append(raw, sizeof v);
  }
  void text(int field, std::string_view v) {
    varint(static_cast<std::uint64_t>(field) << 3 | 2);
    varint(v.size());
    out_ += v;
  }
  void number(int field, double v) {
    varint(static_cast<std::uint64_t>(field) << 3 | 1);
    char raw[sizeof v];
    std::memcpy(raw, &v, sizeof v);
    out_.append(raw, sizeof v);
  }
  const std::string& bytes() const { return out_; }

 private:
  std::string out_;
};

}  // namespace orrery
