// A reader of JSON from a source of any length: it returns one value after the other and holds only
// a small piece of the text. It is for files that are too large for a document tree, such as traces
// of several gigabytes; base/node.h reads small files.
//
//   JsonStream in(source, "trace.json");
//   for (in.begin_object(); in.next_member();) {
//     if (in.key() == "name") name = in.string(); else in.skip();
//   }
//   in.end();
//
// The text is read as JSON (RFC 8259) with three exceptions that profilers write: a tab inside of a
// string, a backslash that does not begin an escape (it is kept), and nan and inf as numbers (they
// are read as absent). Every other violation of JSON, text that ends early, and nesting deeper than
// 64 levels throw InputError with the line and the byte of the unpacked text.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace orrery {

// Writes up to `size` bytes to `to` and returns their number; 0 at the end of the source.
using ByteSource = std::function<std::size_t(char* to, std::size_t size)>;

ByteSource memory_source(std::string_view text);
// The content of a file, unpacked if the file is in gzip format. Throws InputError if the file
// cannot be opened or read, or if the gzip stream is damaged or incomplete.
ByteSource file_source(const std::string& path);

class JsonStream {
 public:
  JsonStream(ByteSource source, const std::string& name);

  // The first character of the next value: '{', '[', '"', a digit, '-' or a letter; '\0' at the end
  // of the text.
  char peek();

  // Reading an object: begin_object(), then next_member() before each value. next_member() returns
  // false after the last value.
  void begin_object();
  bool next_member();
  std::string_view key() const { return key_; }  // until the next next_member()

  // Reading a list: begin_list(), then next_element() before each value. next_element() returns
  // false after the last value.
  void begin_list();
  bool next_element();

  // Read a value. The views are valid until the next call.
  std::string_view string();
  std::string_view number();  // the text of the number; empty for nan, inf and null
  void skip();                // skips a value of any kind

  // Reads the end of the text. Only white space may be left.
  void end();

  // Throws InputError "<name>: line 12 (byte 345): <what>".
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
  std::size_t at_ = 0, size_ = 0;            // position and number of bytes in the buffer
  std::uint64_t passed_ = 0, newlines_ = 0;  // bytes and newlines before the buffer
  std::vector<bool> fresh_;                  // for each open list or object: nothing is read yet
  std::string key_, scratch_;
};

}  // namespace orrery
