#include "orrery/base/node_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "orrery/base/node.h"

namespace orrery {
namespace {

// Paths are for messages. A hostile document could make each of them as long as itself.
constexpr std::size_t kLongestPath = 200;

std::string child_path(const std::string& parent, std::string_view key) {
  if (parent.size() > kLongestPath) return parent;
  const std::string name = shortened(key);
  return parent.empty() ? name : parent + "." + name;
}

std::string item_path(const std::string& parent, std::size_t index) {
  return parent.size() > kLongestPath ? parent : fmt::format("{}[{}]", parent, index);
}

bool same_key(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return x == y || ((x == '-' || x == '_') && (y == '-' || y == '_'));
  });
}

}  // namespace

bool is_utf8(std::string_view text) {
  constexpr std::array<std::uint32_t, 4> kLeast = {0, 0x80, 0x800, 0x10000};  // by tail bytes
  for (std::size_t at = 0; at < text.size();) {
    const auto lead = static_cast<unsigned char>(text[at++]);
    if (lead < 0x80) continue;
    if (lead < 0xC0 || lead > 0xF7) return false;
    const std::size_t tail = lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3;
    std::uint32_t point = lead & (0x3Fu >> tail);
    for (std::size_t i = 0; i < tail; ++i, ++at) {
      if (at == text.size() || (text[at] & 0xC0) != 0x80) return false;
      point = point << 6 | (static_cast<unsigned char>(text[at]) & 0x3Fu);
    }
    const bool surrogate = point >= 0xD800 && point < 0xE000;
    if (point < kLeast[tail] || surrogate || point > 0x10FFFF) return false;
  }
  return true;
}

std::string shortened(std::string_view text, std::size_t longest) {
  std::size_t end = std::min(text.size(), longest);
  // Not in the middle of a UTF-8 sequence.
  while (end < text.size() && end + 3 > longest && (text[end] & 0xC0) == 0x80) --end;
  std::string out(text.substr(0, end));
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = ' ';
  }
  return end < text.size() ? out + "..." : out;
}

NodeBuilder::NodeBuilder(const std::string& name)
    : file_(std::make_shared<const std::string>(name)) {}

void NodeBuilder::fail(int line, std::string_view message) const {
  throw InputError(line > 0 ? fmt::format("{}:{}: {}", *file_, line, message)
                            : fmt::format("{}: {}", *file_, message));
}

bool NodeBuilder::wants_key() const {
  return !stack_.empty() && stack_.back().node.is_map() && stack_.back().key_line == 0;
}

void NodeBuilder::key(std::string text, int line) {
  if (!is_utf8(text)) fail(line, "text that is not UTF-8");
  stack_.back().node.keys_.push_back(std::move(text));
  stack_.back().key_line = line;
}

std::string NodeBuilder::next_path() const {
  if (stack_.empty()) return "";
  const Node& parent = stack_.back().node;
  if (parent.is_map()) return child_path(parent.path_, parent.keys_.back());
  return item_path(parent.path_, parent.items_.size());
}

Node NodeBuilder::value(Node::Kind kind, int line) {
  if (++count_ > kMaxValues) fail(line, fmt::format("more than {} values", kMaxValues));
  Node n;
  n.kind_ = kind;
  n.line_ = stack_.empty() || !stack_.back().node.is_map() ? line : stack_.back().key_line;
  n.path_ = next_path();
  n.file_ = file_;
  return n;
}

void NodeBuilder::null(int line) { leaf(value(Node::Kind::kNull, line)); }

void NodeBuilder::scalar(std::string text, bool quoted, int line) {
  if (!is_utf8(text)) fail(line, "text that is not UTF-8");
  Node n = value(Node::Kind::kScalar, line);
  n.text_ = std::move(text);
  n.quoted_ = quoted;
  leaf(std::move(n));
}

void NodeBuilder::open(Node::Kind kind, int line) {
  if (stack_.size() >= kMaxDepth)
    fail(line, fmt::format("nested deeper than {} levels", kMaxDepth));
  Node n = value(kind, line);
  stack_.push_back({std::move(n), 0});
}

void NodeBuilder::close() {
  Node n = std::move(stack_.back().node);
  stack_.pop_back();
  if (n.is_map()) refuse_repeated_keys(n);
  leaf(std::move(n));
}

void NodeBuilder::leaf(Node node) {
  if (stack_.empty()) {
    root_ = std::move(node);
    return;
  }
  stack_.back().node.items_.push_back(std::move(node));
  stack_.back().key_line = 0;
}

const Node& NodeBuilder::last() const {
  return stack_.empty() ? root_ : stack_.back().node.items_.back();
}

void NodeBuilder::copy(const Node& other) { leaf(copied(other, next_path(), stack_.size())); }

Node NodeBuilder::copied(const Node& other, std::string path, std::size_t depth) {
  if (depth > kMaxDepth || (depth == kMaxDepth && !other.is_scalar() && !other.is_null())) {
    fail(other.line_, fmt::format("nested deeper than {} levels", kMaxDepth));
  }
  count_copy(other, other.line_);
  Node n;
  n.kind_ = other.kind_;
  n.quoted_ = other.quoted_;
  n.line_ = other.line_;
  n.text_ = other.text_;
  n.keys_ = other.keys_;
  n.file_ = file_;
  n.items_.reserve(other.items_.size());
  for (std::size_t i = 0; i < other.items_.size(); ++i) {
    n.items_.push_back(
        copied(other.items_[i],
               other.is_map() ? child_path(path, other.keys_[i]) : item_path(path, i), depth + 1));
  }
  n.path_ = std::move(path);
  return n;
}

void NodeBuilder::count_copy(const Node& other, int line) {
  if (++count_ > kMaxValues) fail(line, fmt::format("more than {} values", kMaxValues));
  copied_bytes_ += other.text_.size();
  for (const std::string& key : other.keys_) copied_bytes_ += key.size();
  if (copied_bytes_ > kMaxBytes) {
    fail(line, fmt::format("aliases repeat more than {} MiB of text", kMaxBytes >> 20));
  }
}

void NodeBuilder::count(const Node& other, int line) {
  count_copy(other, line);
  for (const Node& item : other.items_) count(item, line);
}

void NodeBuilder::refuse_repeated_keys(const Node& map) const {
  std::vector<std::size_t> order(map.keys_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return map.keys_[a] < map.keys_[b]; });
  const auto same = std::adjacent_find(
      order.begin(), order.end(),
      [&](std::size_t a, std::size_t b) { return map.keys_[a] == map.keys_[b]; });
  if (same != order.end()) map.items_[*(same + 1)].fail("key given twice");
}

void NodeBuilder::erase(Node& map, std::string_view path) {
  const std::size_t dot = std::min(path.find('.'), path.size());
  for (std::size_t i = map.keys_.size(); i-- > 0;) {
    if (map.keys_[i] != path.substr(0, dot)) continue;
    if (dot < path.size()) {
      const bool held = !map.items_[i].keys_.empty();
      erase(map.items_[i], path.substr(dot + 1));
      if (!held || !map.items_[i].keys_.empty()) continue;
    }
    map.keys_.erase(map.keys_.begin() + static_cast<std::ptrdiff_t>(i));
    map.items_.erase(map.items_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

Node without(const Node& map, std::string_view path) {
  Node out = map;
  NodeBuilder::erase(out, path);
  return out;
}

void NodeBuilder::make_map(Node& node) {
  node.kind_ = Node::Kind::kMap;
  node.text_.clear();
  node.keys_.clear();
  node.items_.clear();
}

Node& NodeBuilder::slot(Node& map, std::string_view key) {
  for (std::size_t i = 0; i < map.keys_.size(); ++i) {
    if (same_key(map.keys_[i], key)) return map.items_[i];
  }
  map.keys_.emplace_back(key);
  Node n;
  n.path_ = child_path(map.path_, key);
  n.file_ = map.file_;
  map.items_.push_back(std::move(n));
  return map.items_.back();
}

void NodeBuilder::assign(Node& slot, const Node& value) {
  std::string path = slot.path_;
  slot = value;
  if (!value.file_) slot.path_ = std::move(path);
}

}  // namespace orrery
