#include "orrery/validate/judge/kernel_groups.h"

#include <fmt/format.h>

#include <algorithm>

namespace orrery {
namespace {

ErrorGroup kernel_group(const KernelGroups::Key& key, const KernelErrors& errors) {
  return {key, errors.predicted.summary(), errors.roofline.summary().mape,
          key.contains("dtype") || (key.contains("tier") && key.contains("system"))};
}

}  // namespace

void KernelGroups::add_groups(const Key& full, std::vector<KernelErrors*>& to) {
  static const std::vector<std::set<std::string>> kKept = {{"table"},
                                                           {"table", "tier"},
                                                           {"table", "system"},
                                                           {"table", "framework"},
                                                           {"table", "system", "framework"},
                                                           {"table", "system", "dtype"}};
  to.push_back(&all_);
  for (const std::set<std::string>& kept : kKept) {
    Key coarse;
    for (const auto& [name, value] : full) {
      if (kept.contains(name)) coarse.emplace(name, value);
    }
    if (coarse != full) add(to, coarse);
  }
  add(to, full);
}

void KernelGroups::add(std::vector<KernelErrors*>& to, const Key& key) {
  KernelErrors* errors = &groups_[key];
  if (std::find(to.begin(), to.end(), errors) == to.end()) to.push_back(errors);
}

void KernelGroups::write(ErrorReport& report) const {
  report.pooled = kernel_group({}, all_);
  for (const auto& [key, errors] : groups_) report.groups.push_back(kernel_group(key, errors));
  const auto place = [](const ErrorGroup& g) { return std::pair(g.by.at("table"), g.by.size()); };
  std::stable_sort(report.groups.begin(), report.groups.end(),
                   [&](const ErrorGroup& a, const ErrorGroup& b) { return place(a) < place(b); });
}

void CountedRefusals::add(const std::string& table, int line, const std::string& why,
                          std::size_t rows) {
  const auto [at, is_new] = index_.try_emplace({table, why}, refused_.size());
  if (is_new) {
    refused_.push_back({line > 0 ? fmt::format("{}:{}", table, line) : table, why, rows});
  } else {
    refused_[at->second].rows += rows;
  }
}

}  // namespace orrery
