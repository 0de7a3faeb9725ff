#include "orrery/accelerator/problem/accelforge_workload.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

#include "orrery/accelerator/notation/accelforge_expression.h"
#include "orrery/accelerator/notation/accelforge_text.h"
#include "orrery/accelerator/problem/accelforge_einsum.h"
#include "orrery/base/error.h"

namespace orrery {
namespace {

constexpr std::int64_t kMostRankSize = std::int64_t{1} << 40;
constexpr std::size_t kMostAccelforgeEinsums = 512;

class WorkloadReader {
 public:
  WorkloadReader(const Node& root, const std::string& name) : root_(root) { out_.name = name; }
  Cascade read();

 private:
  void read_sizes(const Node& workload);
  void read_default_renames();
  ExpressionNames names_of(const AccelforgeEinsum& e, const Node& at) const;
  CascadeStep step_of(const AccelforgeEinsum& e, const Node& at);
  std::vector<IndexTerm> rank_of(const std::string& projection, const AccelforgeEinsum& e,
                                 const Node& at, Einsum& einsum) const;
  int variable(const std::string& name, const AccelforgeEinsum& e, const Node& at,
               Einsum& einsum) const;
  NameSet intermediates() const;

  const Node& root_;
  Cascade out_;
  std::map<std::string, std::int64_t> ranks_, sizes_;
  std::map<std::string, std::string> renames_;
  std::vector<AccelforgeEinsum> einsums_;
  const Node* bits_ = nullptr;
  const Node* persistent_ = nullptr;
};

void WorkloadReader::read_sizes(const Node& workload) {
  if (const Node* ranks = workload.find("rank_sizes")) {
    if (!ranks->is_map()) ranks->fail("expected a map of ranks to sizes");
    ExpressionNames names;
    for (std::size_t i = 0; i < ranks->keys().size(); ++i) {
      const Node& node = ranks->items()[i];
      const double size = evaluate_number(node, names);
      if (size < 1 || size > static_cast<double>(kMostRankSize) || size != std::floor(size)) {
        node.fail("expected a whole number from 1 to 2^40");
      }
      names.numbers[ranks->keys()[i]] = size;
      ranks_[ranks->keys()[i]] = static_cast<std::int64_t>(size);
    }
  }
  if (const Node* bounds = workload.find("iteration_space_shape")) {
    if (!bounds->is_map()) bounds->fail("expected a map of variables to bounds");
    for (const Node& b : bounds->items()) read_accelforge_bounds(b, sizes_);
  }
}

void WorkloadReader::read_default_renames() {
  static const std::string kKeys[] = {"einsums"};
  static const std::string kEinsumKeys[] = {"name", "tensor_accesses", "rank_variables"};
  const Node* renames = root_.find("renames");
  if (renames == nullptr) return;
  require_keys(*renames, kKeys);
  const Node& list = renames->at("einsums");
  if (!list.is_list()) list.fail("expected a list of {name, tensor_accesses}");
  for (const Node& entry : list.items()) {
    require_keys(entry, kEinsumKeys);
    const Node* accesses = entry.find("tensor_accesses");
    if (accesses == nullptr) continue;
    const std::string& name = entry.at("name").as_string();
    if (name == "default") {
      read_accelforge_renames(*accesses, renames_);
      continue;
    }
    for (AccelforgeEinsum& e : einsums_) {
      if (e.name == name) read_accelforge_renames(*accesses, e.renames);
    }
  }
}

NameSet WorkloadReader::intermediates() const {
  NameSet written, both;
  for (const AccelforgeEinsum& e : einsums_) {
    for (const AccelforgeAccess& a : e.accesses) {
      if (a.output) written.insert(a.name);
    }
  }
  for (const AccelforgeEinsum& e : einsums_) {
    for (const AccelforgeAccess& a : e.accesses) {
      if (!a.output && written.contains(a.name)) both.insert(a.name);
    }
  }
  return both;
}

// The sets that an einsum's expressions may name: those of the tool, every tensor, and the renames.
ExpressionNames WorkloadReader::names_of(const AccelforgeEinsum& e, const Node& at) const {
  ExpressionNames names;
  NameSet inputs, outputs, common, persistent;
  const NameSet between = intermediates();
  for (const AccelforgeEinsum& other : einsums_) {
    for (const AccelforgeAccess& a : other.accesses) names.sets[a.name];
  }
  for (const AccelforgeAccess& a : e.accesses) {
    names.all.insert(a.name);
    (a.output ? outputs : inputs).insert(a.name);
    if (between.contains(a.name)) common.insert(a.name);
    if (a.persistent) persistent.insert(a.name);
    names.sets[a.name] = {a.name};
  }
  names.sets["All"] = names.sets["Tensors"] = names.all;
  names.sets["Nothing"] = {};
  names.sets["Inputs"] = inputs;
  names.sets["Outputs"] = outputs;
  names.sets["Intermediates"] = names.sets["Shared"] = common;
  names.sets["Persistent"] = persistent;
  std::map<std::string, std::string> renames = e.renames;
  for (const AccelforgeAccess& a : e.accesses) {
    if (!a.rename.empty()) renames[a.rename] = a.name;
  }
  for (const auto& [name, source] : renames) {
    names.sets[name] = evaluate_set(source, at, names);
  }
  // Renames of all einsums may name one another: input before weight.
  for (const char* first : {"input", "output"}) {
    const auto source = renames_.find(first);
    if (source == renames_.end() || renames.contains(first)) continue;
    names.sets[first] = evaluate_set(source->second, at, names);
  }
  for (const auto& [name, source] : renames_) {
    if (renames.contains(name) || name == "input" || name == "output") continue;
    names.sets[name] = evaluate_set(source, at, names);
  }
  return names;
}

int WorkloadReader::variable(const std::string& name, const AccelforgeEinsum& e, const Node& at,
                             Einsum& einsum) const {
  const auto known = std::find(einsum.dims.begin(), einsum.dims.end(), name);
  if (known != einsum.dims.end()) return static_cast<int>(known - einsum.dims.begin());
  std::string rank = name;
  std::transform(rank.begin(), rank.end(), rank.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  std::int64_t size = 0;
  const auto look_up = [&](const std::map<std::string, std::int64_t>& sizes,
                           const std::string& key) {
    const auto found = sizes.find(key);
    if (size == 0 && found != sizes.end()) size = found->second;
  };
  look_up(e.sizes, name);
  look_up(sizes_, name);
  look_up(e.ranks, rank);
  look_up(ranks_, rank);
  if (size < 1 || size > kMostRankSize) {
    at.fail(
        fmt::format("{}: the variable {} has no size: expected rank_sizes of {}, or "
                    "iteration_space_shape",
                    e.name, name, rank));
  }
  if (einsum.dims.size() == static_cast<std::size_t>(kMostEinsumDims)) {
    at.fail(fmt::format("{}: expected at most {} variables", e.name, kMostEinsumDims));
  }
  einsum.dims.push_back(name);
  einsum.sizes.push_back(size);
  return static_cast<int>(einsum.dims.size()) - 1;
}

// "p", "p + r", "2*p + r": variables with coefficients.
std::vector<IndexTerm> WorkloadReader::rank_of(const std::string& projection,
                                               const AccelforgeEinsum& e, const Node& at,
                                               Einsum& einsum) const {
  std::vector<IndexTerm> rank;
  std::string text;
  for (const char c : projection) {
    if (std::isspace(static_cast<unsigned char>(c)) == 0) text += c;
  }
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find('+', begin), text.size());
    std::string part = text.substr(begin, end - begin);
    IndexTerm term;
    if (const std::size_t star = part.find('*'); star != std::string::npos) {
      std::string left = part.substr(0, star), right = part.substr(star + 1);
      if (!right.empty() && std::isdigit(static_cast<unsigned char>(right.front())) != 0) {
        std::swap(left, right);
      }
      const auto [stop, error] =
          std::from_chars(left.data(), left.data() + left.size(), term.coefficient);
      if (error != std::errc() || stop != left.data() + left.size() || term.coefficient < 1 ||
          term.coefficient > 65536) {
        at.fail(fmt::format("{}: expected a coefficient of 1 to 65536 in '{}'", e.name, text));
      }
      part = right;
    }
    const bool name = !part.empty() && std::isdigit(static_cast<unsigned char>(part[0])) == 0 &&
                      std::all_of(part.begin(), part.end(), [](char c) {
                        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
                      });
    if (!name) {
      at.fail(fmt::format("{}: expected a variable or a sum such as '2*p + r', got '{}'", e.name,
                          text.substr(0, 60)));
    }
    term.dim = variable(part, e, at, einsum);
    rank.push_back(term);
    begin = end + 1;
  }
  return rank;
}

CascadeStep WorkloadReader::step_of(const AccelforgeEinsum& e, const Node& at) {
  CascadeStep step;
  step.copy = e.copy;
  Einsum& einsum = step.einsum;
  einsum.name = e.name;
  const ExpressionNames names = names_of(e, at);
  const NameSet persistent = persistent_ == nullptr ? NameSet() : evaluate_set(*persistent_, names);
  const auto outputs = std::count_if(e.accesses.begin(), e.accesses.end(),
                                     [](const AccelforgeAccess& a) { return a.output; });
  if (outputs != 1 || e.accesses.size() < 2) {
    at.fail(fmt::format("{}: expected operands and one output, got {} outputs", e.name, outputs));
  }
  std::size_t operand = 0;
  for (const AccelforgeAccess& a : e.accesses) {
    EinsumTensor t;
    t.name = a.name;
    t.output = a.output;
    t.bits = a.bits;
    if (!a.output) t.role = operand++ == 1 ? "weight" : "input";
    for (const char* role : {"output", "weight", "input"}) {
      const auto renamed = names.sets.find(role);
      if (renamed != names.sets.end() && renamed->second.contains(a.name)) t.role = role;
    }
    for (std::size_t i = 0; bits_ != nullptr && t.bits == 0 && i < bits_->keys().size(); ++i) {
      const Node& bits = bits_->items()[i];
      if (!evaluate_set(bits_->keys()[i], bits, names).contains(a.name)) continue;
      t.bits = static_cast<int>(std::clamp<std::int64_t>(bits.as_int(), 0, 1025));
      if (t.bits < 1 || t.bits > 1024) bits.fail("expected 1 to 1024 bits");
    }
    if (t.bits == 0) at.fail(fmt::format("{}: no bits_per_value covers {}", e.name, a.name));
    if (a.ranks.empty() || a.ranks.size() > static_cast<std::size_t>(kMostRanks)) {
      at.fail(fmt::format("{}: {} has {} ranks, expected 1 to {}", e.name, a.name, a.ranks.size(),
                          kMostRanks));
    }
    for (const auto& [rank, projection] : a.ranks) {
      t.ranks.push_back(rank_of(projection, e, at, einsum));
    }
    const bool lives = a.persistent || persistent.contains(a.name);
    if (lives && std::find(out_.persistent.begin(), out_.persistent.end(), a.name) ==
                     out_.persistent.end()) {
      out_.persistent.push_back(a.name);
    }
    einsum.tensors.push_back(std::move(t));
  }
  return step;
}

Cascade WorkloadReader::read() {
  static const std::string kRoot[] = {"workload", "renames", "arch", "mapping"};
  static const std::string kKeys[] = {"rank_sizes",     "iteration_space_shape", "einsums",
                                      "bits_per_value", "persistent_tensors",    "n_instances"};
  require_keys(root_, kRoot);
  const Node& workload = root_.at("workload");
  require_keys(workload, kKeys);
  read_sizes(workload);
  bits_ = workload.find("bits_per_value");
  if (bits_ != nullptr && !bits_->is_map()) bits_->fail("expected a map of sets to bits");
  persistent_ = workload.find("persistent_tensors");
  if (const Node* n = workload.find("n_instances"); n != nullptr && n->as_int() != 1) {
    n->fail("only 1 is read");
  }
  const Node& list = workload.at("einsums");
  if (!list.is_list() || list.items().empty() || list.items().size() > kMostAccelforgeEinsums) {
    list.fail(fmt::format("expected a list of 1 to {} einsums", kMostAccelforgeEinsums));
  }
  for (const Node& node : list.items()) einsums_.push_back(read_accelforge_einsum(node));
  read_default_renames();
  for (std::size_t i = 0; i < einsums_.size(); ++i) {
    out_.steps.push_back(step_of(einsums_[i], list.items()[i]));
    if (out_.find(einsums_[i].name) != static_cast<int>(i)) {
      list.items()[i].fail(fmt::format("a second einsum named '{}'", einsums_[i].name));
    }
  }
  return std::move(out_);
}

}  // namespace

Cascade read_accelforge_workload(const Node& root, const std::string& name) {
  return WorkloadReader(root, name).read();
}

}  // namespace orrery
