#include "orrery/base/node.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <charconv>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

namespace orrery {
namespace {

constexpr int kMaxDepth = 64;
constexpr std::size_t kMaxValues = 2'000'000;
constexpr std::uintmax_t kMaxFileBytes = 16u << 20;

std::string shortened(std::string_view text) {
  constexpr std::size_t kLongest = 60;
  std::string out(text.substr(0, kLongest));
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  }
  return text.size() > kLongest ? out + "..." : out;
}

std::string described(const Node& node) {
  switch (node.kind()) {
    case Node::Kind::kNull: return "nothing";
    case Node::Kind::kScalar: return "'" + shortened(node.text()) + "'";
    case Node::Kind::kList: return "a list";
    case Node::Kind::kMap: return "a map";
  }
  return "";
}

std::string child_path(const std::string& parent, std::string_view key) {
  return parent.empty() ? std::string(key) : fmt::format("{}.{}", parent, key);
}

}  // namespace

// Makes Nodes; the only writer of their fields.
class NodeBuilder {
 public:
  explicit NodeBuilder(const std::string& name) : file_(std::make_shared<const std::string>(name)) {}

  Node scalar(std::string text, bool quoted, int line, std::string path) {
    Node n = value(Node::Kind::kScalar, line, std::move(path));
    n.text_ = std::move(text);
    n.quoted_ = quoted;
    return n;
  }
  Node value(Node::Kind kind, int line, std::string path) {
    if (++count_ > kMaxValues) fail(line, fmt::format("more than {} values", kMaxValues));
    Node n;
    n.kind_ = kind;
    n.line_ = line;
    n.path_ = std::move(path);
    n.file_ = file_;
    return n;
  }
  void append(Node& list, Node item) { list.items_.push_back(std::move(item)); }
  void insert(Node& map, std::string key, Node item) {
    if (map.find(key)) {
      fail(item.line_, fmt::format("{}: key given twice", child_path(map.path_, shortened(key))));
    }
    map.keys_.push_back(std::move(key));
    map.items_.push_back(std::move(item));
  }
  [[noreturn]] void fail(int line, std::string_view message) const {
    throw InputError(line > 0 ? fmt::format("{}:{}: {}", *file_, line, message)
                              : fmt::format("{}: {}", *file_, message));
  }

  static void make_map(Node& n) {
    n.kind_ = Node::Kind::kMap;
    n.text_.clear();
    n.keys_.clear();
    n.items_.clear();
  }
  static Node& slot(Node& map, std::string_view key) {
    for (std::size_t i = 0; i < map.keys_.size(); ++i) {
      if (map.keys_[i] == key) return map.items_[i];
    }
    map.keys_.emplace_back(key);
    Node n;
    n.path_ = child_path(map.path_, key);
    n.file_ = map.file_;
    map.items_.push_back(std::move(n));
    return map.items_.back();
  }
  static void assign(Node& slot, const Node& value) {
    std::string path = slot.path_;
    slot = value;
    if (!value.file_) slot.path_ = std::move(path);
  }

  Node from_yaml(const YAML::Node& y, std::string path, int depth) {
    const int line = y.Mark().line + 1;
    if (depth > kMaxDepth) fail(line, fmt::format("nested deeper than {} levels", kMaxDepth));
    switch (y.Type()) {
      case YAML::NodeType::Undefined:
      case YAML::NodeType::Null: return value(Node::Kind::kNull, line, std::move(path));
      case YAML::NodeType::Scalar:
        return scalar(y.Scalar(), y.Tag() == "!", line, std::move(path));
      case YAML::NodeType::Sequence: {
        Node list = value(Node::Kind::kList, line, path);
        std::size_t i = 0;
        for (const auto& item : y) {
          append(list, from_yaml(item, fmt::format("{}[{}]", path, i++), depth + 1));
        }
        return list;
      }
      case YAML::NodeType::Map: {
        Node map = value(Node::Kind::kMap, line, path);
        for (const auto& entry : y) {
          if (!entry.first.IsScalar()) fail(entry.first.Mark().line + 1, "a key must be a scalar");
          const std::string& key = entry.first.Scalar();
          Node child = from_yaml(entry.second, child_path(path, key), depth + 1);
          child.line_ = std::max(child.line_, entry.first.Mark().line + 1);
          insert(map, key, std::move(child));
        }
        return map;
      }
    }
    return Node();
  }

 private:
  std::shared_ptr<const std::string> file_;
  std::size_t count_ = 0;
};

namespace {

// Counts line ends as nlohmann's lexer consumes characters, so that its events know their line. The lexer
// has read a value's last character when the event comes, and at most one more (after a number).
class LineCountingIterator {
 public:
  using difference_type = std::ptrdiff_t;
  using value_type = char;
  using pointer = const char*;
  using reference = const char&;
  using iterator_category = std::input_iterator_tag;
  LineCountingIterator(const char* p, int* line) : p_(p), line_(line) {}
  reference operator*() const { return *p_; }
  LineCountingIterator& operator++() {
    if (*p_ == '\n') ++*line_;
    ++p_;
    return *this;
  }
  bool operator==(const LineCountingIterator& o) const { return p_ == o.p_; }
  bool operator!=(const LineCountingIterator& o) const { return p_ != o.p_; }

 private:
  const char* p_;
  int* line_;
};

class JsonToNode : public nlohmann::json_sax<nlohmann::json> {
 public:
  JsonToNode(NodeBuilder& builder, const int* line) : builder_(builder), line_(line) {}
  Node take() { return std::move(root_); }

  bool null() override { return leaf(builder_.value(Node::Kind::kNull, *line_, path())); }
  bool boolean(bool v) override { return scalar(v ? "true" : "false", false); }
  bool number_integer(number_integer_t v) override { return scalar(std::to_string(v), false); }
  bool number_unsigned(number_unsigned_t v) override { return scalar(std::to_string(v), false); }
  bool number_float(number_float_t, const string_t& text) override { return scalar(text, false); }
  bool string(string_t& v) override { return scalar(std::move(v), true); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(Node::Kind::kMap); }
  bool start_array(std::size_t) override { return open(Node::Kind::kList); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& k) override {
    stack_.back().key = std::move(k);
    return true;
  }
  bool parse_error(std::size_t, const std::string& last, const nlohmann::detail::exception&) override {
    builder_.fail(*line_, fmt::format("not valid JSON near '{}'", shortened(last)));
  }

 private:
  struct Open {
    Node node;
    std::string key;
  };
  std::string path() const {
    if (stack_.empty()) return "";
    const Open& top = stack_.back();
    if (top.node.is_map()) return child_path(top.node.path(), top.key);
    return fmt::format("{}[{}]", top.node.path(), top.node.items().size());
  }
  bool scalar(std::string text, bool quoted) {
    return leaf(builder_.scalar(std::move(text), quoted, *line_, path()));
  }
  bool leaf(Node n) {
    if (stack_.empty()) {
      root_ = std::move(n);
    } else if (stack_.back().node.is_map()) {
      builder_.insert(stack_.back().node, std::move(stack_.back().key), std::move(n));
    } else {
      builder_.append(stack_.back().node, std::move(n));
    }
    return true;
  }
  bool open(Node::Kind kind) {
    if (stack_.size() >= static_cast<std::size_t>(kMaxDepth)) {
      builder_.fail(*line_, fmt::format("nested deeper than {} levels", kMaxDepth));
    }
    Node n = builder_.value(kind, *line_, path());
    stack_.push_back({std::move(n), ""});
    return true;
  }
  bool close() {
    Node n = std::move(stack_.back().node);
    stack_.pop_back();
    return leaf(std::move(n));
  }

  NodeBuilder& builder_;
  const int* line_;
  std::vector<Open> stack_;
  Node root_;
};

}  // namespace

const Node* Node::find(std::string_view key) const {
  if (kind_ != Kind::kMap) return nullptr;
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    if (keys_[i] == key) return &items_[i];
  }
  return nullptr;
}

const Node& Node::at(std::string_view key) const {
  if (kind_ != Kind::kMap) fail(fmt::format("expected a map with '{}', got {}", key, described(*this)));
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
  const std::string place = where();
  throw InputError(place.empty() ? std::string(message) : fmt::format("{}: {}", place, message));
}

std::string read_text_file(const std::filesystem::path& path, std::uintmax_t max_bytes) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) throw InputError(fmt::format("{}: no such file", path.string()));
  if (!std::filesystem::is_regular_file(status)) {
    throw InputError(fmt::format("{}: not a regular file", path.string()));
  }
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (!error && size > max_bytes) {
    throw InputError(fmt::format("{}: {} bytes; at most {} MiB are read (is this the right file?)",
                                 path.string(), size, max_bytes >> 20));
  }
  std::ifstream in(path, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(in), {});
  if (!in.good() && !in.eof()) throw InputError(fmt::format("{}: cannot be read", path.string()));
  return text;
}

Node parse_json(std::string_view text, const std::string& name) {
  NodeBuilder builder(name);
  int line = 1;
  JsonToNode handler(builder, &line);
  const char* begin = text.data();
  if (!nlohmann::json::sax_parse(LineCountingIterator(begin, &line),
                                 LineCountingIterator(begin + text.size(), &line), &handler)) {
    builder.fail(line, "not valid JSON");
  }
  return handler.take();
}

Node parse_yaml(std::string_view text, const std::string& name) {
  NodeBuilder builder(name);
  if (text.size() > kMaxFileBytes) builder.fail(0, "too large");
  try {
    return builder.from_yaml(YAML::Load(std::string(text)), "", 0);
  } catch (const YAML::Exception& e) {
    builder.fail(e.mark.line + 1, fmt::format("not valid YAML: {}", e.msg));
  }
}

Node read_document(const std::filesystem::path& path) {
  const std::string text = read_text_file(path, kMaxFileBytes);
  return path.extension() == ".json" ? parse_json(text, path.string()) : parse_yaml(text, path.string());
}

Node scalar_node(std::string text, const std::string& name) {
  return NodeBuilder(name).scalar(std::move(text), false, 0, "");
}

void set_path(Node& root, std::string_view path, const Node& value) {
  if (!root.is_map()) NodeBuilder::make_map(root);
  Node* at = &root;
  while (true) {
    const std::size_t dot = path.find('.');
    Node& slot = NodeBuilder::slot(*at, path.substr(0, dot));
    if (dot == std::string_view::npos) return NodeBuilder::assign(slot, value);
    if (!slot.is_map()) NodeBuilder::make_map(slot);
    at = &slot;
    path.remove_prefix(dot + 1);
  }
}

}  // namespace orrery
