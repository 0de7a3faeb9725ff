#include "orrery/replay/json_stream.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>

#include "orrery/base/error.h"
#include "orrery/base/node.h"
#include "orrery/base/node_builder.h"

namespace orrery {
namespace {

constexpr std::size_t kPiece = 1 << 18;  // bytes in memory at a time
constexpr std::size_t kDeepest = 64;
constexpr std::size_t kLongestString = 1 << 20;
constexpr std::size_t kLongestNumber = 64;

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }
bool is_number(char c) {
  return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// JSON's grammar of a number is -?(0|[1-9][0-9]*)(.[0-9]+)?([eE][+-]?[0-9]+)?. Leading zeros are
// accepted as well.
bool well_formed(std::string_view text) {
  std::size_t at = 0;
  const auto digits = [&] {
    const std::size_t from = at;
    while (at < text.size() && text[at] >= '0' && text[at] <= '9') ++at;
    return at > from;
  };
  if (at < text.size() && text[at] == '-') ++at;
  if (!digits()) return false;
  if (at < text.size() && text[at] == '.') {
    ++at;
    if (!digits()) return false;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
    if (!digits()) return false;
  }
  return at == text.size();
}

void append_utf8(std::string& to, unsigned code) {
  const auto put = [&](unsigned byte) { to += static_cast<char>(byte); };
  if (code < 0x80) return put(code);
  if (code < 0x800) return put(0xC0 | code >> 6), put(0x80 | (code & 0x3F));
  put(0xE0 | code >> 12), put(0x80 | (code >> 6 & 0x3F)), put(0x80 | (code & 0x3F));
}

}  // namespace

ByteSource memory_source(std::string_view text) {
  return [text](char* to, std::size_t size) mutable {
    size = std::min(size, text.size());
    std::memcpy(to, text.data(), size);
    text.remove_prefix(size);
    return size;
  };
}

ByteSource file_source(const std::string& path) {
  require_file(path);
  // gzread returns data that is not in gzip format as it is.
  std::shared_ptr<gzFile_s> file(gzopen(path.c_str(), "rb"), [](gzFile f) {
    if (f != nullptr) gzclose(f);
  });
  if (!file) throw InputError(fmt::format("{}: cannot be opened", shortened(path, 200)));
  gzbuffer(file.get(), 1 << 18);
  return [file, path, read = std::uint64_t{0}](char* to, std::size_t size) mutable {
    const int got = gzread(file.get(), to, static_cast<unsigned>(size));
    if (got <= 0) {
      int code = Z_OK;
      const char* what = gzerror(file.get(), &code);
      if (code != Z_OK && code != Z_STREAM_END) {
        throw InputError(fmt::format(
            "{}: byte {} of the unpacked text: {}", shortened(path, 200), read,
            code == Z_BUF_ERROR ? "the gzip stream is cut short"
                                : fmt::format("the file cannot be unpacked: {}", shortened(what))));
      }
    }
    read += static_cast<std::uint64_t>(std::max(got, 0));
    return static_cast<std::size_t>(std::max(got, 0));
  };
}

JsonStream::JsonStream(ByteSource source, const std::string& name)
    : source_(std::move(source)), name_(shortened(name, 200)), buffer_(kPiece) {}

bool JsonStream::refill() {
  passed_ += size_;
  newlines_ += static_cast<std::uint64_t>(
      std::count(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(size_), '\n'));
  at_ = 0;
  size_ = source_(buffer_.data(), buffer_.size());
  return size_ > 0;
}

char JsonStream::take() { return at_ == size_ && !refill() ? '\0' : buffer_[at_++]; }

char JsonStream::peek() {
  for (;; ++at_) {
    if (at_ == size_ && !refill()) return '\0';
    if (!is_space(buffer_[at_])) return buffer_[at_];
  }
}

void JsonStream::fail(std::string_view what) const {
  const auto line = newlines_ + 1 +
                    static_cast<std::uint64_t>(std::count(
                        buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(at_), '\n'));
  throw InputError(fmt::format("{}: line {} (byte {}): {}", name_, line, passed_ + at_, what));
}

void JsonStream::expected(std::string_view what) {
  const char c = peek();
  if (at_ == size_) fail(fmt::format("the text ends early: expected {}", what));
  fail(fmt::format("expected {}, found '{}'", what,
                   c > 0x20 && c < 0x7F ? std::string(1, c)
                                        : fmt::format("\\x{:02x}", static_cast<unsigned char>(c))));
}

void JsonStream::open(char bracket, std::string_view what) {
  if (peek() != bracket) expected(what);
  if (fresh_.size() == kDeepest) fail(fmt::format("nested more than {} deep", kDeepest));
  ++at_;
  fresh_.push_back(true);
}

bool JsonStream::next(char closing, std::string_view what) {
  const char c = peek();
  if (c == closing) {
    ++at_;
    fresh_.pop_back();
    return false;
  }
  if (!fresh_.back()) {
    if (c != ',') expected(what);
    ++at_;
  }
  fresh_.back() = false;
  return true;
}

void JsonStream::begin_object() { open('{', "an object"); }
void JsonStream::begin_list() { open('[', "a list"); }

bool JsonStream::next_member() {
  if (!next('}', "',' or '}' after a member")) return false;
  if (peek() != '"') expected("the name of a member in '\"'");
  key_ = string();
  if (peek() != ':') expected("':' after the name of a member");
  ++at_;
  return true;
}

bool JsonStream::next_element() { return next(']', "',' or ']' after an element"); }

void JsonStream::escape() {
  const auto unread = [&](char c) {  // the backslash does not begin an escape
    scratch_ += '\\';
    if (c != '\0') --at_;
  };
  const char c = take();
  switch (c) {
    case '"':
    case '\\':
    case '/':
      scratch_ += c;
      return;
    case 'b':
    case 'f':
    case 'n':
    case 'r':
    case 't':
      scratch_ += ' ';  // names are printed on one line
      return;
    case 'u': {
      unsigned code = 0;
      for (int i = 0; i < 4; ++i) {
        const char h = take();
        const int digit = h >= '0' && h <= '9'   ? h - '0'
                          : h >= 'a' && h <= 'f' ? h - 'a' + 10
                          : h >= 'A' && h <= 'F' ? h - 'A' + 10
                                                 : -1;
        if (digit < 0) fail("expected four hexadecimal digits after \\u");
        code = code * 16 + static_cast<unsigned>(digit);
      }
      append_utf8(scratch_, code);
      return;
    }
    default:
      return unread(c);
  }
}

std::string_view JsonStream::string() {
  if (peek() != '"') expected("a text in '\"'");
  ++at_;
  scratch_.clear();
  for (;;) {
    if (at_ == size_ && !refill()) fail("the text ends early, inside a string");
    const std::size_t from = at_;
    while (at_ < size_) {
      const char c = buffer_[at_];
      if (c == '"' || c == '\\' || (static_cast<unsigned char>(c) < 0x20 && c != '\t')) break;
      ++at_;
    }
    const std::string_view part(buffer_.data() + from, at_ - from);
    if (at_ < size_ && buffer_[at_] == '"') {
      ++at_;
      if (scratch_.empty()) return part;
      scratch_ += part;
      return scratch_;
    }
    scratch_ += part;
    if (scratch_.size() > kLongestString)
      fail(fmt::format("a string of more than {} bytes", kLongestString));
    if (at_ == size_) continue;
    if (buffer_[at_] != '\\') fail("a string that is not closed on its line");
    ++at_;
    escape();
  }
}

void JsonStream::literal() {
  scratch_.clear();
  while ((at_ < size_ || refill()) && (is_letter(buffer_[at_]) || buffer_[at_] == '-') &&
         scratch_.size() < kLongestNumber) {
    scratch_ += buffer_[at_++];
  }
  std::string_view word = scratch_;
  if (word.starts_with('-')) word.remove_prefix(1);
  for (std::string_view known : {"null", "true", "false", "nan", "inf", "NaN", "Infinity"}) {
    if (word == known) return;
  }
  fail(fmt::format("expected a value, found '{}'", shortened(scratch_)));
}

std::string_view JsonStream::number() {
  const char c = peek();
  if (is_letter(c)) {
    literal();
    if (scratch_ == "true" || scratch_ == "false") fail("expected a number, found " + scratch_);
    return {};
  }
  if (!(c == '-' || (c >= '0' && c <= '9'))) expected("a number");
  const std::size_t from = at_;
  while (at_ < size_ && is_number(buffer_[at_])) ++at_;
  std::string_view text(buffer_.data() + from, at_ - from);
  if (at_ == size_) {  // the value continues in the next piece
    scratch_ = text;
    while ((at_ < size_ || refill()) && is_number(buffer_[at_]) &&
           scratch_.size() <= kLongestNumber) {
      scratch_ += buffer_[at_++];
    }
    text = scratch_;
  }
  if (text == "-" && at_ < size_ && is_letter(buffer_[at_])) return literal(), std::string_view();
  if (text.size() > kLongestNumber || !well_formed(text))
    fail(fmt::format("expected a number, found '{}'", shortened(text)));
  return text;
}

void JsonStream::skip() {
  switch (const char c = peek()) {
    case '{':
      for (begin_object(); next_member();) skip();
      return;
    case '[':
      for (begin_list(); next_element();) skip();
      return;
    case '"':
      string();
      return;
    default:
      if (is_letter(c)) return literal();
      if (c == '-' || (c >= '0' && c <= '9')) return static_cast<void>(number());
      expected("a value");
  }
}

void JsonStream::end() {
  if (peek() != '\0' || at_ < size_) expected("the end of the text");
}

}  // namespace orrery
