#include "orrery/accelerator/problem/accelforge_einsum.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "orrery/accelerator/notation/accelforge_text.h"

namespace orrery {
namespace {

constexpr std::int64_t kMostBound = std::int64_t{1} << 40;

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

// Reads "QK(output)[m, p] = Q(input)[m, e] * K[M:p, e]" and "Y[m] = copy(X[m])".
class ConciseEinsum {
 public:
  explicit ConciseEinsum(const Node& at) : at_(at), text_(at.as_string()) {}

  void read(AccelforgeEinsum& out) {
    AccelforgeAccess result = access();
    result.output = true;
    out.name = result.name;
    expect('=');
    const std::size_t begin = i_;
    if (name() == "copy" && peek() == '(') {
      out.copy = true;
      expect('(');
      out.accesses.push_back(access());
      expect(')');
    } else {
      i_ = begin;
      out.accesses.push_back(access());
      while (peek() == '*') {
        ++i_;
        out.accesses.push_back(access());
      }
    }
    if (peek() != '\0') fail("expected the end");
    out.accesses.push_back(std::move(result));
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    at_.fail(fmt::format("{} after '{}', as in 'Z[m, n] = A[m, k] * B[k, n]'", why,
                         text_.substr(0, std::min<std::size_t>(i_, 200))));
  }
  char peek() {
    while (i_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[i_])) != 0) ++i_;
    return i_ < text_.size() ? text_[i_] : '\0';
  }
  void expect(char c) {
    if (peek() != c) fail(fmt::format("expected '{}'", c));
    ++i_;
  }
  std::string name() {
    peek();
    const std::size_t begin = i_;
    while (i_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[i_])) != 0 || text_[i_] == '_')) {
      ++i_;
    }
    if (begin == i_) fail("expected a name");
    return text_.substr(begin, i_ - begin);
  }
  AccelforgeAccess access() {
    AccelforgeAccess a;
    a.name = name();
    if (peek() == '(') {
      expect('(');
      a.rename = name();
      expect(')');
    }
    expect('[');
    do {
      const std::string first = name();
      if (peek() == ':' || peek() == '=') {
        ++i_;
        a.ranks.emplace_back(first, name());
      } else {
        a.ranks.emplace_back(upper(first), first);
      }
    } while (peek() == ',' && text_[i_++] == ',');
    expect(']');
    return a;
  }

  const Node& at_;
  std::string text_;
  std::size_t i_ = 0;
};

int read_accelforge_bits(const Node& node) {
  const std::int64_t bits = node.as_int();
  if (bits < 1 || bits > 1024) node.fail("expected 1 to 1024 bits");
  return static_cast<int>(bits);
}

void read_projection(const Node& node, AccelforgeAccess& a) {
  if (node.is_list()) {
    for (const Node& v : node.items()) a.ranks.emplace_back(upper(v.as_string()), v.as_string());
  } else if (node.is_map()) {
    for (std::size_t i = 0; i < node.keys().size(); ++i) {
      a.ranks.emplace_back(node.keys()[i], node.items()[i].as_string());
    }
  } else {
    node.fail("expected a list of variables or a map of ranks to variables");
  }
}

void read_accesses(const Node& list, bool concise, AccelforgeEinsum& e) {
  static const std::string kKeys[] = {"name", "projection", "output", "persistent",
                                      "bits_per_value"};
  if (!list.is_list()) list.fail("expected a list of tensors");
  for (const Node& node : list.items()) {
    require_keys(node, kKeys);
    const std::string& name = node.at("name").as_string();
    auto a = std::find_if(e.accesses.begin(), e.accesses.end(),
                          [&](const AccelforgeAccess& other) { return other.name == name; });
    if (concise && a == e.accesses.end()) {
      node.at("name").fail(fmt::format("the einsum has no tensor '{}'", name));
    }
    if (!concise) {
      if (a != e.accesses.end()) node.at("name").fail("a second access of this tensor");
      e.accesses.emplace_back();
      a = e.accesses.end() - 1;
      a->name = name;
      read_projection(node.at("projection"), *a);
      if (const Node* output = node.find("output")) a->output = output->as_bool();
    } else if (const Node* given = node.find(node.find("output") ? "output" : "projection")) {
      given->fail("the einsum's text has it already");
    }
    if (const Node* persistent = node.find("persistent")) a->persistent = persistent->as_bool();
    if (const Node* bits = node.find("bits_per_value")) a->bits = read_accelforge_bits(*bits);
  }
}

}  // namespace

void read_accelforge_bounds(const Node& node, std::map<std::string, std::int64_t>& sizes) {
  std::string text;
  for (const char c : node.as_string()) {
    if (std::isspace(static_cast<unsigned char>(c)) == 0) text += c;
  }
  std::int64_t low = 0, high = 0;
  const char* const end = text.data() + text.size();
  const auto refuse = [&] { node.fail("expected bounds such as '0 <= m < 128'"); };
  const auto [after_low, error] = std::from_chars(text.data(), end, low);
  const char* p = after_low;
  if (error != std::errc() || end - p < 3 || std::string_view(p, 2) != "<=") refuse();
  p += 2;
  const char* const less = std::find(p, end, '<');
  const std::string name(p, less);
  if (less == end || name.empty()) refuse();
  p = less + 1;
  const bool inclusive = p < end && *p == '=';
  if (inclusive) ++p;
  const auto [after_high, high_error] = std::from_chars(p, end, high);
  if (high_error != std::errc() || after_high != end) refuse();
  if (high > kMostBound || low < -kMostBound) refuse();
  const std::int64_t size = high - low + (inclusive ? 1 : 0);
  if (size < 1) node.fail("the bounds leave no value");
  sizes[name] = size;
}

void read_accelforge_renames(const Node& node, std::map<std::string, std::string>& renames) {
  static const std::string kKeys[] = {"name", "source", "expected_count"};
  if (node.is_map()) {
    for (std::size_t i = 0; i < node.keys().size(); ++i) {
      renames[node.keys()[i]] = node.items()[i].as_string();
    }
    return;
  }
  if (!node.is_list()) node.fail("expected a map of names to sets, or a list of {name, source}");
  for (const Node& entry : node.items()) {
    require_keys(entry, kKeys);
    renames[entry.at("name").as_string()] = entry.at("source").as_string();
  }
}

AccelforgeEinsum read_accelforge_einsum(const Node& node) {
  static const std::string kKeys[] = {
      "name",    "einsum",     "tensor_accesses",   "iteration_space_shape",
      "renames", "rank_sizes", "is_copy_operation", "n_instances"};
  AccelforgeEinsum e;
  if (node.is_scalar()) {
    ConciseEinsum(node).read(e);
    return e;
  }
  require_keys(node, kKeys);
  const Node* text = node.find("einsum");
  if (text != nullptr) ConciseEinsum(*text).read(e);
  if (const Node* accesses = node.find("tensor_accesses")) {
    read_accesses(*accesses, text != nullptr, e);
  } else if (text == nullptr) {
    node.fail("expected the keys name and tensor_accesses, or einsum");
  }
  if (text == nullptr) e.name = node.at("name").as_string();
  if (text != nullptr && node.find("name") != nullptr) e.name = node.at("name").as_string();
  if (const Node* copy = node.find("is_copy_operation")) e.copy = copy->as_bool();
  if (const Node* renames = node.find("renames")) read_accelforge_renames(*renames, e.renames);
  if (const Node* n = node.find("n_instances"); n != nullptr && n->as_int() != 1) {
    n->fail("only 1 is read");
  }
  if (const Node* sizes = node.find("rank_sizes")) {
    if (!sizes->is_map()) sizes->fail("expected a map of ranks to sizes");
    for (std::size_t i = 0; i < sizes->keys().size(); ++i) {
      e.ranks[sizes->keys()[i]] = sizes->items()[i].as_int();
    }
  }
  if (const Node* bounds = node.find("iteration_space_shape")) {
    if (!bounds->is_list()) bounds->fail("expected a list of bounds such as '0 <= m < 128'");
    for (const Node& b : bounds->items()) read_accelforge_bounds(b, e.sizes);
  }
  return e;
}

}  // namespace orrery
