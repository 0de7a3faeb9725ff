#include "orrery/base/node.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

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

}  // namespace orrery
