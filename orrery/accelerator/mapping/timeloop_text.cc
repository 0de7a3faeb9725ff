#include "orrery/accelerator/mapping/timeloop_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>

namespace orrery {
namespace {

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

void read_factor_text(const Node& node, const std::vector<std::string>& dims,
                      std::vector<TimeloopFactor>& out) {
  const std::string& text = node.as_string();
  const char* at = text.data();
  const char* const end = at + text.size();
  const auto number = [&](std::int64_t& value) {
    const auto [next, error] = std::from_chars(at, end, value);
    if (error != std::errc() || value < 0 || value > (std::int64_t{1} << 40)) {
      node.fail("expected factors such as M=8 N=4,3");
    }
    at = next;
  };
  while (at < end) {
    if (*at == ' ' || *at == ',') {
      ++at;
      continue;
    }
    const char* const begin = at;
    while (at < end && is_letter(*at)) ++at;
    TimeloopFactor f;
    f.dim = index_of_name(dims, std::string(begin, at), node, "dimension");
    if (at < end && *at == '<') {
      f.bound = true;
      ++at;
    }
    if (at < end && *at == '=') ++at;
    number(f.size);
    f.last = f.size;
    if (at + 1 < end && *at == ',' && is_digit(at[1])) {
      ++at;
      number(f.last);
      if (f.last < 1 || f.last > f.size) node.fail("expected a last pass of 1 to all iterations");
    }
    out.push_back(f);
  }
}

}  // namespace

int index_of_name(const std::vector<std::string>& names, const std::string& name, const Node& node,
                  const char* what) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    node.fail(fmt::format("expected a {} ({}), got '{}'{}", what, fmt::join(names, ", "), name,
                          did_you_mean(name, names)));
  }
  return static_cast<int>(found - names.begin());
}

std::vector<TimeloopFactor> read_factors(const Node& node, const std::vector<std::string>& dims) {
  std::vector<TimeloopFactor> out;
  if (node.is_list()) {
    for (const Node& item : node.items()) read_factor_text(item, dims, out);
  } else if (!node.is_null()) {
    read_factor_text(node, dims, out);
  }
  return out;
}

std::vector<int> read_permutation(const Node& node, const std::vector<std::string>& dims) {
  std::vector<int> order;
  const auto add = [&](const std::string& name) {
    const int dim = index_of_name(dims, name, node, "dimension");
    if (std::find(order.begin(), order.end(), dim) != order.end()) {
      node.fail(fmt::format("{} stands twice", name));
    }
    order.push_back(dim);
  };
  if (node.is_list()) {
    for (const Node& name : node.items()) add(name.as_string());
    return order;
  }
  if (node.is_null()) return order;
  const std::string text = node.as_string() + " ";
  const bool separated = text.find_first_of(" ,") + 1 < text.size();
  std::string name;
  for (const char c : text) {
    if (c != ' ' && c != ',') name += c;
    if (!name.empty() && (!separated || c == ' ' || c == ',')) {
      add(name);
      name.clear();
    }
  }
  return order;
}

}  // namespace orrery
