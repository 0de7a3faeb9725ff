#include "orrery/scenario/document/swept_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string_view>
#include <utility>

#include "orrery/scenario/question/sweep.h"

namespace orrery {
namespace {

// "1-64*2" as its numbers, anything else cut at its commas.
void append(const Node& node, std::vector<Node>& out) {
  const std::string& text = node.as_string();
  const bool numbers = !text.empty() && text.find_first_not_of("0123456789,-*+") == text.npos;
  if (numbers) {
    for (const std::int64_t v : read_sweep(node, INT64_MIN / 2, INT64_MAX / 2))
      out.push_back(scalar_node(std::to_string(v), "sweep"));
    return;
  }
  std::size_t from = 0;
  while (!node.quoted() && text.find('(') == text.npos) {
    const std::size_t comma = text.find(',', from);
    if (comma == text.npos) break;
    out.push_back(scalar_node(text.substr(from, comma - from), "sweep"));
    from = comma + 1;
  }
  out.push_back(scalar_node(text.substr(from), "sweep"));
}

// Whether commas separate values of a sweep in what the field takes.
bool takes_one_value(const Field& f) {
  switch (f.type()) {
    case Field::Type::kInt:
    case Field::Type::kNumber:
    case Field::Type::kQuantity:
      return true;
    case Field::Type::kText:
      return !f.is_verbatim();
    default:
      return false;
  }
}

// Whether the text is a range: "1-8*2", but not "-1".
bool is_range(const Field& f, const std::string& text) {
  return f.type() == Field::Type::kInt && text.find_first_not_of("0123456789-*+") == text.npos &&
         text.find('-', 1) != text.npos;
}

// Replaces a suffix if `f` takes a plain number: "2T" is 2000000000000. K, M, B or G, and T are
// powers of 1000.
Node counted(const Field& f, const Node& node) {
  const bool number = f.type() == Field::Type::kInt || f.type() == Field::Type::kNumber;
  const std::string& text = node.text();
  if (!number || text.size() < 2) return node;
  constexpr std::string_view kSuffixes = "kKMGBT";
  constexpr double kScales[] = {1e3, 1e3, 1e6, 1e9, 1e9, 1e12};
  const std::size_t suffix = kSuffixes.find(text.back());
  if (suffix == kSuffixes.npos) return node;
  double v = 0;
  const char* const end = text.data() + text.size() - 1;
  const auto [last, error] = std::from_chars(text.data(), end, v);
  if (error != std::errc() || last != end) return node;
  return scalar_node(fmt::format("{:.0f}", v * kScales[suffix]), node.where());
}

// The values of `node` for the key `f`. A single value is no sweep.
std::vector<Node> values_of(const Field& f, const Node& node) {
  std::vector<Node> out;
  if (f.values()) {
    for (std::string& text : f.values()(node)) out.push_back(scalar_node(std::move(text), "sweep"));
    return out;
  }
  const bool list_itself = f.type() == Field::Type::kList || f.type() == Field::Type::kGroup;
  const auto several = [&f](const Node& n) {
    const std::string& text = n.text();
    return takes_one_value(f) && !n.quoted() && text.find('(') == text.npos &&
           (text.find(',') != text.npos || is_range(f, text));
  };
  if (list_itself || node.is_null() || node.is_map()) return {node};
  if (node.is_scalar() && !several(node)) return {counted(f, node)};
  if (!node.is_list()) {
    append(node, out);
    return out;
  }
  for (const Node& item : node.items()) {
    if (item.is_scalar() && several(item)) {
      append(item, out);
    } else {
      out.push_back(item);
    }
  }
  for (Node& value : out) value = counted(f, value);
  return out;
}

void collect(const Node& sweep, const std::string& prefix, std::vector<SweptValues>& out) {
  if (!sweep.is_map())
    sweep.fail("expected keys of a scenario, each with the values that it takes");
  for (std::size_t i = 0; i < sweep.keys().size(); ++i) {
    const Node& value = sweep.items()[i];
    const std::string path = prefix + sweep.keys()[i];
    if (path == "sweep" || path == "include" || path == "format") value.fail("cannot be swept");
    if (value.is_map()) {
      collect(value, path + ".", out);
      continue;
    }
    SweptValues s{path, {}, nullptr};
    if (value.is_list()) {
      for (const Node& item : value.items()) append(item, s.values);
    } else {
      append(value, s.values);
    }
    if (s.values.empty()) value.fail("expected at least one value");
    out.push_back(std::move(s));
  }
}

// Keys of the document that have lists or ranges; `fields`: those of `map`.
void collect_lists(const Node& map, const Fields& fields, const std::string& prefix,
                   std::vector<SweptValues>& out) {
  for (std::size_t i = 0; i < map.keys().size(); ++i) {
    const std::string& key = map.keys()[i];
    const Node& value = map.items()[i];
    if (key.find('.') != std::string::npos) continue;  // refused when it is read
    const Field* f = fields.find(key);
    if (f == nullptr) continue;
    if (f->group() != nullptr) {
      collect_lists(value, *f->group(), prefix + key + ".", out);
      continue;
    }
    std::vector<Node> values = values_of(*f, value);
    if (values.empty()) value.fail("expected at least one value");
    const bool list_itself = f->type() == Field::Type::kList;
    if (values.size() == 1 && (list_itself || values[0].text() == value.text())) continue;
    out.push_back({prefix + key, std::move(values), f->values() ? f : nullptr});
  }
}

}  // namespace

std::vector<SweptValues> swept_by_group(const Node& sweep) {
  std::vector<SweptValues> out;
  collect(sweep, "", out);
  if (out.empty()) sweep.fail("sweeps nothing");
  return out;
}

std::vector<SweptValues> swept_by_lists(const Node& document, const Fields& fields) {
  std::vector<SweptValues> out;
  collect_lists(document, fields, "", out);
  return out;
}

// The next combination, the last key fastest; false after the last one.
bool advance(std::vector<std::size_t>& at, const std::vector<SweptValues>& keys) {
  std::size_t i = keys.size();
  while (i > 0 && ++at[i - 1] == keys[i - 1].values.size()) at[--i] = 0;
  return i > 0;
}

double combinations(const std::vector<SweptValues>& keys) {
  double n = 1;
  for (const SweptValues& k : keys) n *= static_cast<double>(k.values.size());
  return n;
}

// GPUs vary slowest, other sizes in the order of their declaration.
void order_sizes(std::vector<SweptValues>& sizes, const Fields& fields) {
  if (sizes.size() < 2) return;
  std::vector<const Field*> order;
  for (const Field& group : fields.all()) {
    if (group.group() == nullptr) continue;
    for (const Field& f : group.group()->all()) order.push_back(&f);
  }
  const auto rank = [&](const SweptValues& s) {
    const Field* f = fields.find(s.path);
    if (f->name() == "gpus") return std::ptrdiff_t{-1};
    return std::find(order.begin(), order.end(), f) - order.begin();
  };
  std::stable_sort(sizes.begin(), sizes.end(),
                   [&](const SweptValues& a, const SweptValues& b) { return rank(a) < rank(b); });
}

}  // namespace orrery
