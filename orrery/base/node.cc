#include "orrery/base/node.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cmath>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <system_error>

#include "orrery/base/data_folder.h"
#include "orrery/base/node_builder.h"

namespace orrery {
namespace {

std::string described(const Node& node) {
  switch (node.kind()) {
    case Node::Kind::kNull:
      return "nothing";
    case Node::Kind::kScalar:
      return (node.quoted() ? "the text '" : "'") + shortened(node.text()) + "'";
    case Node::Kind::kList:
      return "a list";
    case Node::Kind::kMap:
      return "a map";
  }
  return "";
}

// ---- readers: JSON by nlohmann's SAX events, YAML by yaml-cpp's. Both feed a NodeBuilder, so that
// the limits hold while the text is being read.

// Where nlohmann's lexer is. When an event comes it has read the value's last character and, after
// a number, one more, which may be the line's end.
struct Position {
  int lines = 1;
  bool after_line_end = false;
  int line() const { return lines - (after_line_end ? 1 : 0); }
};

class CountingIterator {
 public:
  using difference_type = std::ptrdiff_t;
  using value_type = char;
  using pointer = const char*;
  using reference = const char&;
  using iterator_category = std::input_iterator_tag;
  CountingIterator(const char* at, Position* position) : at_(at), position_(position) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    position_->after_line_end = *at_ == '\n';
    if (position_->after_line_end) ++position_->lines;
    ++at_;
    return *this;
  }
  bool operator==(const CountingIterator& o) const { return at_ == o.at_; }
  bool operator!=(const CountingIterator& o) const { return at_ != o.at_; }

 private:
  const char* at_;
  Position* position_;
};

// The first character of a text that stands for a number that JSON has no form for.
constexpr char kBareWord = '\0';

// The text with Python's Infinity, -Infinity and NaN as texts that begin with kBareWord. Line ends
// stay where they are. Nothing if there are none.
std::optional<std::string> quoted_words(std::string_view text) {
  static constexpr std::array<std::string_view, 3> kWords = {"-Infinity", "Infinity", "NaN"};
  if (text.find(kWords[1]) == text.npos && text.find(kWords[2]) == text.npos) return std::nullopt;
  std::string out;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto word = std::find_if(kWords.begin(), kWords.end(), [&](std::string_view w) {
      return !quoted && text.substr(i).starts_with(w);
    });
    if (word != kWords.end()) {
      out += fmt::format("\"\\u0000{}\"", *word);
      i += word->size() - 1;
      continue;
    }
    if (text[i] == '"') quoted = !quoted;
    out += text[i];
    if (quoted && text[i] == '\\' && i + 1 < text.size()) out += text[++i];
  }
  return out;
}

class JsonEvents : public nlohmann::json_sax<nlohmann::json> {
 public:
  JsonEvents(NodeBuilder& builder, const Position& position)
      : builder_(builder), position_(position) {}

  bool null() override { return builder_.null(line()), true; }
  bool boolean(bool v) override { return scalar(v ? "true" : "false", false); }
  bool number_integer(number_integer_t v) override { return scalar(std::to_string(v), false); }
  bool number_unsigned(number_unsigned_t v) override { return scalar(std::to_string(v), false); }
  bool number_float(number_float_t, const string_t& text) override { return scalar(text, false); }
  bool string(string_t& v) override {
    if (v.starts_with(kBareWord)) return scalar(v.substr(1), false);
    return scalar(std::move(v), true);
  }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return builder_.open(Node::Kind::kMap, line()), true; }
  bool start_array(std::size_t) override { return builder_.open(Node::Kind::kList, line()), true; }
  bool end_object() override { return builder_.close(), true; }
  bool end_array() override { return builder_.close(), true; }
  bool key(string_t& k) override {
    if (k.starts_with(kBareWord)) {
      builder_.fail(line(), fmt::format("not valid JSON near '{}'", shortened(k.substr(1))));
    }
    return builder_.key(std::move(k), line()), true;
  }
  bool parse_error(std::size_t, const std::string& last,
                   const nlohmann::detail::exception&) override {
    builder_.fail(line(), last.empty() ? "not valid JSON: the text ends too early"
                                       : fmt::format("not valid JSON near '{}'", shortened(last)));
  }

 private:
  int line() const { return position_.line(); }
  bool scalar(std::string text, bool quoted) {
    return builder_.scalar(std::move(text), quoted, line()), true;
  }

  NodeBuilder& builder_;
  const Position& position_;
};

class YamlEvents : public YAML::EventHandler {
 public:
  explicit YamlEvents(NodeBuilder& builder) : builder_(builder) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1)
      builder_.fail(mark.line + 1, "a second document begins; only one is read");
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    require_value(mark);
    builder_.null(mark.line + 1);
    remember(mark, anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    require_value(mark);
    const auto at = anchors_.find(anchor);
    if (at == anchors_.end()) builder_.fail(mark.line + 1, "an alias to no value before it");
    builder_.copy(at->second);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    if (builder_.wants_key()) return builder_.key(text, mark.line + 1);
    builder_.scalar(text, tag == "!" || tag.ends_with(":str"), mark.line + 1);
    remember(mark, anchor);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(Node::Kind::kList, mark, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(Node::Kind::kMap, mark, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  void require_value(const YAML::Mark& mark) const {
    if (builder_.wants_key()) builder_.fail(mark.line + 1, "a key must be a plain text");
  }
  void open(Node::Kind kind, const YAML::Mark& mark, YAML::anchor_t anchor) {
    require_value(mark);
    builder_.open(kind, mark.line + 1);
    open_.emplace_back(mark, anchor);
  }
  void close() {
    builder_.close();
    remember(open_.back().first, open_.back().second);
    open_.pop_back();
  }
  // Keeps the value just read for its aliases. The copy counts as values do.
  void remember(const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (anchor == YAML::NullAnchor) return;
    builder_.count(builder_.last(), mark.line + 1);
    anchors_[anchor] = builder_.last();
  }

  NodeBuilder& builder_;
  int documents_ = 0;
  std::vector<std::pair<YAML::Mark, YAML::anchor_t>> open_;
  std::map<YAML::anchor_t, Node> anchors_;
};

void refuse_too_large(const NodeBuilder& builder, std::string_view text, std::uintmax_t most) {
  if (text.size() > most) {
    builder.fail(0, fmt::format("{} bytes; at most {} MiB are read", text.size(), most >> 20));
  }
}

}  // namespace

const Node* Node::find(std::string_view key) const {
  if (kind_ != Kind::kMap) return nullptr;
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    if (keys_[i] == key) return &items_[i];
  }
  return nullptr;
}

const Node& Node::at(std::string_view key) const {
  if (kind_ != Kind::kMap)
    fail(fmt::format("expected a map with '{}', got {}", key, described(*this)));
  if (const Node* n = find(key)) return *n;
  fail(fmt::format("'{}' is missing", key));
}

bool Node::as_bool() const {
  if (is_scalar() && !quoted_) {
    if (text_ == "true" || text_ == "True" || text_ == "on" || text_ == "yes") return true;
    if (text_ == "false" || text_ == "False" || text_ == "off" || text_ == "no") return false;
  }
  fail(fmt::format("expected true or false, got {}", described(*this)));
}

std::int64_t Node::as_int() const {
  std::int64_t v = 0;
  const char* end = text_.data() + text_.size();
  if (is_scalar() && !quoted_) {
    auto [rest, error] = std::from_chars(text_.data(), end, v);
    if (error == std::errc() && rest == end) return v;
    // 8e9 and 8192.0 are whole numbers too, where exactly representable.
    double d = 0;
    auto [rest2, error2] = std::from_chars(text_.data(), end, d);
    if (error2 == std::errc() && rest2 == end && std::abs(d) <= 0x1p53 && d == std::floor(d)) {
      return static_cast<std::int64_t>(d);
    }
  }
  fail(fmt::format("expected a whole number, got {}", described(*this)));
}

double Node::as_double() const {
  double v = 0;
  const char* end = text_.data() + text_.size();
  if (is_scalar() && !quoted_) {
    auto [rest, error] = std::from_chars(text_.data(), end, v);
    if (error == std::errc() && rest == end && std::isfinite(v)) return v;
  }
  fail(fmt::format("expected a number, got {}", described(*this)));
}

const std::string& Node::as_string() const {
  if (!is_scalar()) fail(fmt::format("expected a text, got {}", described(*this)));
  return text_;
}

const std::string& Node::file() const {
  static const std::string kNone;
  return file_ ? *file_ : kNone;
}

std::string Node::where() const {
  std::string out = file();
  if (line_ > 0) out += fmt::format(":{}", line_);
  if (!path_.empty()) out += (out.empty() ? "" : ": ") + path_;
  return out;
}

void Node::fail(std::string_view message) const {
  constexpr std::size_t kLongestMessage = 2000;  // it may quote the document
  const std::string place = where(), shown = shortened(message, kLongestMessage);
  throw InputError(place.empty() ? shown : fmt::format("{}: {}", place, shown));
}

Node scalar_node(std::string text, const std::string& name) {
  NodeBuilder builder(name);
  builder.scalar(std::move(text), false, 0);
  return builder.take();
}

void set_path(Node& root, std::string_view path, const Node& value) {
  Node* at = &root;
  for (std::size_t depth = 1;; ++depth) {
    if (at->is_list()) at->fail("a list; its items cannot be set one by one");
    if (!at->is_map()) NodeBuilder::make_map(*at);
    const std::size_t dot = path.find('.');
    const std::string_view key = path.substr(0, dot);
    if (key.empty() || depth > NodeBuilder::kMaxDepth) {
      value.fail("expected keys with dots between them such as 'engine.max_num_seqs'");
    }
    Node& slot = NodeBuilder::slot(*at, key);
    if (dot == std::string_view::npos) return NodeBuilder::assign(slot, value);
    at = &slot;
    path.remove_prefix(dot + 1);
  }
}

namespace {

std::atomic<bool> sealed = false;  // data_folder.h

}  // namespace

void seal_files() { sealed = true; }

bool files_are_sealed() { return sealed; }

void require_open_files(const std::filesystem::path& path) {
  if (!sealed) return;
  throw InputError(
      fmt::format("'{}': no files of the server's machine are read; expected a name that the "
                  "catalog has, or the text itself where the key takes it",
                  shortened(path.string())));
}

void require_file(const std::filesystem::path& path) {
  require_open_files(path);
  if (std::filesystem::is_regular_file(path)) return;
  throw InputError(fmt::format(
      "{}: {}", shortened(path.string(), 200),
      std::filesystem::is_directory(path) ? "a folder; expected a file" : "no such file"));
}

namespace {

// The text that a gzip file holds.
std::string inflated(const std::filesystem::path& path, std::uintmax_t max_bytes) {
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  std::string text;
  std::array<char, 1 << 16> buffer;
  while (file != nullptr) {
    const int n = gzread(file.get(), buffer.data(), static_cast<unsigned>(buffer.size()));
    int code = Z_OK;
    if (n == 0 && gzerror(file.get(), &code) != nullptr && code == Z_OK) return text;
    if (n <= 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(n));
    if (text.size() > max_bytes) {
      throw InputError(fmt::format("{}: holds more than {} MiB of text; no more are read",
                                   path.string(), max_bytes >> 20));
    }
  }
  throw InputError(fmt::format("{}: damaged or truncated gzip file", path.string()));
}

}  // namespace

std::string read_text_file(const std::filesystem::path& path, std::uintmax_t max_bytes) {
  require_open_files(path);
  return read_fact_file(path, max_bytes);
}

std::string read_fact_file(const std::filesystem::path& path, std::uintmax_t max_bytes) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) {
    throw InputError(fmt::format("{}: no such file", path.string()));
  }
  if (!std::filesystem::is_regular_file(status)) {
    throw InputError(fmt::format("{}: not a regular file", path.string()));
  }
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (!error && size > max_bytes) {
    throw InputError(fmt::format("{}: {} bytes; at most {} MiB are read (is this the right file?)",
                                 path.string(), size, max_bytes >> 20));
  }
  std::ifstream in(path, std::ios::binary);
  std::string text(error ? 0 : static_cast<std::size_t>(size), '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (error || !in) throw InputError(fmt::format("{}: cannot be read", path.string()));
  if (text.starts_with("\x1f\x8b")) return inflated(path, max_bytes);
  return text;
}

Node parse_json(std::string_view text, const std::string& name) {
  NodeBuilder builder(name);
  refuse_too_large(builder, text, NodeBuilder::kMaxBytes);
  const std::optional<std::string> words = quoted_words(text);
  if (words) text = *words;
  Position position;
  JsonEvents events(builder, position);
  if (!nlohmann::json::sax_parse(CountingIterator(text.data(), &position),
                                 CountingIterator(text.data() + text.size(), &position), &events)) {
    builder.fail(position.line(), "not valid JSON");
  }
  return builder.take();
}

Node parse_yaml(std::string_view text, const std::string& name) {
  NodeBuilder builder(name);
  refuse_too_large(builder, text, NodeBuilder::kMaxYamlBytes);
  // yaml-cpp refuses a quote that is never closed only where no line end follows.
  text = text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
  std::istringstream in{std::string(text)};
  try {
    YAML::Parser parser(in);
    YamlEvents events(builder);
    bool any = false;
    while (parser.HandleNextDocument(events)) any = true;
    if (!any) builder.null(1);
  } catch (const YAML::Exception& e) {
    builder.fail(e.mark.line + 1, fmt::format("not valid YAML: {}", shortened(e.msg)));
  }
  return builder.take();
}

Node read_document(const std::filesystem::path& path) {
  const bool json = path.extension() == ".json" || path.string().ends_with(".json.gz");
  const std::string text =
      read_text_file(path, json ? NodeBuilder::kMaxBytes : NodeBuilder::kMaxYamlBytes);
  return json ? parse_json(text, path.string()) : parse_yaml(text, path.string());
}

}  // namespace orrery
