// JSON read piece by piece from a source of any length: the reader asks for the next value, and
// nothing but one piece of the text is held. For files that no document tree would fit (traces of
// gigabytes); base/node.h reads the small ones.
//
//   JsonStream in(source, "trace.json");
//   for (in.begin_object(); in.next_member();) {
//     if (in.key() == "name") name = in.string(); else in.skip();
//   }
//   in.end();
//
// Read as JSON (RFC 8259), but for three things that profilers write: a tab inside a string, a
// backslash that begins no escape (kept as it is), and nan and inf as numbers (read as none).
// InputError with the line and the byte (of the unpacked text) for all else that is no JSON, for
// text that ends early, and for what is nested more than 64 deep.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace orrery {

// Writes up to `size` bytes to `to` and tells how many; 0 at the end.
using ByteSource = std::function<std::size_t(char* to, std::size_t size)>;

ByteSource memory_source(std::string_view text);
// A file as it is, or unpacked if it is one of gzip. InputError: it cannot be opened or read, or
// the gzip stream is damaged or cut short.
ByteSource file_source(const std::string& path);

class JsonStream {
 public:
  JsonStream(ByteSource source, const std::string& name);

  // The first character of the next value: '{', '[', '"', a digit or '-', or a letter; '\0' at the
  // end of the text.
  char peek();

  // An object: begin_object(), then next_member() before each value; false after the last one.
  void begin_object();
  bool next_member();
  std::string_view key() const { return key_; }  // until the next next_member()

  // A list: begin_list(), then next_element() before each value; false after the last one.
  void begin_list();
  bool next_element();

  // Values; views last until the next call.
  std::string_view string();
  std::string_view number();  // as it is written; empty for nan, inf and null
  void skip();

  // The end of the text; anything but white space is an error.
  void end();

  // InputError: "<name>: line 12 (byte 345): <what>".
  [[noreturn]] void fail(std::string_view what) const;

 private:
  bool refill();
  char take();  // the next character, '\0' at the end
  void open(char bracket, std::string_view what);
  bool next(char closing, std::string_view what);
  [[noreturn]] void expected(std::string_view what);
  void escape();
  void literal();

  ByteSource source_;
  std::string name_;
  std::vector<char> buffer_;
  std::size_t at_ = 0, size_ = 0;            // in the buffer
  std::uint64_t passed_ = 0, newlines_ = 0;  // before the buffer
  std::vector<bool> fresh_;                  // of each open list or object: nothing read yet
  std::string key_, scratch_;
};

}  // namespace orrery
