// Groups of the rows of `orrery validate kernels`, which are too many to be kept: each row goes
// into the errors of its groups at once.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "orrery/base/error_summary.h"
#include "orrery/validate/report/report.h"

namespace orrery {

// Errors of the predictions of a group's rows, and of the roofline on the same rows.
struct KernelErrors {
  ErrorSample predicted, roofline;
};

// A row counts in the group of its full key, in groups of parts of the key (the table; the table
// with the tier, the system, the framework, the system and framework, or the system and number
// format), and in the group of all rows.
class KernelGroups {
 public:
  using Key = std::map<std::string, std::string>;

  // The errors of the row's groups. `key` is the full key as a text that is quick to look up;
  // `make` returns it as a Key and is called once for each different text.
  template <class MakeKey>
  std::vector<KernelErrors*>& of(const std::string& key, const MakeKey& make) {
    const auto [at, is_new] = quick_.try_emplace(key);
    if (is_new) add_groups(make(), at->second);
    return at->second;
  }

  // Writes the pooled errors and those of every group into the report.
  void write(ErrorReport& report) const;

 private:
  void add_groups(const Key& full, std::vector<KernelErrors*>& to);
  void add(std::vector<KernelErrors*>& to, const Key& key);

  std::unordered_map<std::string, std::vector<KernelErrors*>> quick_;
  std::map<Key, KernelErrors> groups_;
  KernelErrors all_;
};

// Refused rows, counted for each table and reason.
class CountedRefusals {
 public:
  // `line` of the table; 0: the table as a whole.
  void add(const std::string& table, int line, const std::string& why, std::size_t rows = 1);
  std::vector<RefusedRow> take() { return std::move(refused_); }

 private:
  std::map<std::pair<std::string, std::string>, std::size_t> index_;  // table and reason
  std::vector<RefusedRow> refused_;
};

}  // namespace orrery
