#include "orrery/accelerator/problem/cascade.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>

#include "orrery/base/fields.h"

namespace orrery {
namespace {

constexpr std::int64_t kMostExtent = std::int64_t{1} << 40;
constexpr std::int64_t kMostFactor = std::int64_t{1} << 16;
constexpr std::size_t kMostSteps = 4096;

using Sizes = std::map<std::string, std::int64_t, std::less<>>;

bool name_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Reads "Y[p, k] = X[2*p + r, c] * F[k, c, r]".
class EinsumText {
 public:
  EinsumText(const Node& at, const Sizes& sizes, int bits)
      : at_(at), text_(at.as_string()), sizes_(sizes), bits_(bits) {}

  Einsum read() {
    read_tensor(true);
    expect('=');
    read_tensor(false);
    while (peek() == '*') {
      ++i_;
      read_tensor(false);
    }
    if (peek() != '\0') at_.fail(fmt::format("expected the end after '{}'", text_.substr(0, i_)));
    std::size_t operand = 0;
    for (EinsumTensor& t : e_.tensors) {
      if (!t.output) t.role = operand++ == 1 ? "weight" : "input";
    }
    e_.name = e_.tensors.front().name;
    return std::move(e_);
  }

 private:
  char peek() {
    while (i_ < text_.size() && text_[i_] == ' ') ++i_;
    return i_ < text_.size() ? text_[i_] : '\0';
  }
  void expect(char c) {
    if (peek() != c) {
      at_.fail(fmt::format("expected '{}' after '{}', as in 'Z[m, n] = A[m, k] * B[k, n]'", c,
                           text_.substr(0, i_)));
    }
    ++i_;
  }
  std::string name() {
    peek();
    const std::size_t begin = i_;
    while (i_ < text_.size() && name_char(text_[i_])) ++i_;
    if (begin == i_) at_.fail(fmt::format("expected a name after '{}'", text_.substr(0, begin)));
    return text_.substr(begin, i_ - begin);
  }

  void read_tensor(bool output) {
    EinsumTensor t;
    t.name = name();
    t.output = output;
    t.bits = bits_;
    expect('[');
    do {
      if (t.ranks.size() == static_cast<std::size_t>(kMostRanks)) {
        at_.fail(fmt::format("{} has more than {} ranks", t.name, kMostRanks));
      }
      t.ranks.push_back(read_rank());
    } while (comma());
    expect(']');
    e_.tensors.push_back(std::move(t));
  }
  bool comma() {
    if (peek() != ',') return false;
    ++i_;
    return true;
  }

  std::vector<IndexTerm> read_rank() {
    std::vector<IndexTerm> rank;
    while (true) {
      IndexTerm term;
      std::string first = name();
      if (std::isdigit(static_cast<unsigned char>(first.front())) != 0) {
        const auto [end, error] =
            std::from_chars(first.data(), first.data() + first.size(), term.coefficient);
        if (error != std::errc() || end != first.data() + first.size() || term.coefficient < 1 ||
            term.coefficient > kMostFactor) {
          at_.fail(fmt::format("expected a coefficient of 1 to 65536, got '{}'", first));
        }
        expect('*');
        first = name();
      }
      term.dim = dimension(first);
      rank.push_back(term);
      if (peek() != '+') return rank;
      ++i_;
    }
  }

  int dimension(const std::string& dim) {
    const auto known = std::find(e_.dims.begin(), e_.dims.end(), dim);
    if (known != e_.dims.end()) return static_cast<int>(known - e_.dims.begin());
    const auto size = sizes_.find(dim);
    if (size == sizes_.end()) {
      std::vector<std::string> names;
      for (const auto& [name, n] : sizes_) names.push_back(name);
      at_.fail(fmt::format("dimension '{}' has no size; sizes are given of {}{}", dim,
                           fmt::join(names, ", "), did_you_mean(dim, names)));
    }
    if (e_.dims.size() == static_cast<std::size_t>(kMostEinsumDims)) {
      at_.fail(fmt::format("expected at most {} dimensions", kMostEinsumDims));
    }
    e_.dims.push_back(dim);
    e_.sizes.push_back(size->second);
    return static_cast<int>(e_.dims.size()) - 1;
  }

  const Node& at_;
  std::string text_;
  const Sizes& sizes_;
  int bits_;
  std::size_t i_ = 0;
  Einsum e_;
};

void read_sizes(const Node& map, Sizes& sizes) {
  if (!map.is_map()) map.fail("expected a map of dimensions to sizes");
  for (std::size_t i = 0; i < map.keys().size(); ++i) {
    const Node& size = map.items()[i];
    const std::int64_t n = size.as_int();
    if (n < 1 || n > kMostExtent) size.fail("expected a whole number from 1 to 2^40");
    sizes[map.keys()[i]] = n;
  }
}

int read_bits(const Node& node) {
  const std::int64_t bits = node.as_int();
  if (bits < 1 || bits > 1024) node.fail("expected 1 to 1024 bits");
  return static_cast<int>(bits);
}

void set_widths(const Node& map, Cascade& c) {
  if (!map.is_map()) map.fail("expected a map of tensors to bits");
  for (std::size_t i = 0; i < map.keys().size(); ++i) {
    const int bits = read_bits(map.items()[i]);
    for (CascadeStep& step : c.steps) {
      for (EinsumTensor& t : step.einsum.tensors) {
        if (t.name == map.keys()[i]) t.bits = bits;
      }
    }
  }
}

CascadeStep read_step(const Node& node, const Sizes& common, int bits) {
  CascadeStep step;
  if (node.is_scalar()) {
    step.einsum = EinsumText(node, common, bits).read();
    return step;
  }
  Sizes sizes = common;
  std::string name, text;
  Fields f;
  f.add("name", name, "name of the einsum");
  f.add("einsum", text, "the einsum").required().verbatim();
  f.add("copy", step.copy, "moves its input and computes nothing");
  f.custom(
      "sizes", Field::Type::kGroup, [&](const Node& n) { read_sizes(n, sizes); },
      [] { return nlohmann::ordered_json(); }, "sizes that differ from those of the cascade");
  f.read(node);
  step.einsum = EinsumText(node.at("einsum"), sizes, bits).read();
  if (!name.empty()) step.einsum.name = name;
  return step;
}

}  // namespace

int Cascade::find(const std::string& einsum) const {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].einsum.name == einsum) return static_cast<int>(i);
  }
  return -1;
}

Cascade read_cascade(const Node& root) {
  Cascade c;
  Sizes sizes;
  int bits = 8;
  const Node* widths = nullptr;
  const Node* einsums = nullptr;
  const auto nothing = [] { return nlohmann::ordered_json(); };
  Fields f;
  f.add("name", c.name, "name of the cascade").required();
  f.add("aliases", c.aliases, "other names");
  f.add("source", c.source, "where it is from").verbatim();
  f.add("bits", bits, "bits of an element").range(1, 1024);
  f.custom(
      "widths", Field::Type::kGroup, [&](const Node& n) { widths = &n; }, nothing,
      "bits of the elements of single tensors");
  f.custom(
      "sizes", Field::Type::kGroup, [&](const Node& n) { read_sizes(n, sizes); }, nothing,
      "size of each dimension");
  f.custom(
       "einsums", Field::Type::kList, [&](const Node& n) { einsums = &n; }, nothing, "the einsums")
      .required();
  f.add("persistent", c.persistent, "tensors that live during the whole cascade");
  f.read(root);
  if (!einsums->is_list() || einsums->items().empty() || einsums->items().size() > kMostSteps) {
    einsums->fail(fmt::format("expected a list of 1 to {} einsums", kMostSteps));
  }
  for (const Node& node : einsums->items()) {
    c.steps.push_back(read_step(node, sizes, bits));
    if (c.find(c.steps.back().einsum.name) != static_cast<int>(c.steps.size()) - 1) {
      node.fail(fmt::format("a second einsum named '{}'", c.steps.back().einsum.name));
    }
  }
  if (widths != nullptr) set_widths(*widths, c);
  return c;
}

}  // namespace orrery
