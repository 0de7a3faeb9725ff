#include "orrery/energy/power/kernel_activity.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "orrery/base/error.h"
#include "orrery/base/fields.h"
#include "orrery/base/index.h"

namespace orrery {
namespace {

constexpr std::string_view kKernelsPath = "power/kernels.yaml";

}  // namespace

Utilisation utilisation(Seconds compute, Seconds memory, Seconds time) {
  const double traffic = std::min(1.0, memory / time);
  return {std::min(1.0, compute / time), traffic, traffic};
}

Utilisation repeated_utilisation(Seconds compute, Seconds memory, Seconds time, Bytes bytes,
                                 Bytes cache) {
  Utilisation u = utilisation(compute, memory, time);
  u.off_chip *= std::clamp(bytes / cache - 1, 0.0, 1.0);
  return u;
}

KernelActivity::KernelActivity(const Bundle& bundle) {
  const auto file = bundle.find(kKernelsPath);
  if (!file) throw InputError("catalog/power/kernels.yaml: no such file");
  std::string recipe;
  Fields fields;
  fields.add("recipe", recipe, "what the constants were fitted on, and their errors").required();
  fields.add("exponent", exponent_, "of the utilisations").range(0.1, 1).required();
  fields.add("shared_error", shared_error_, "on a GPU without readings").range(0, 1).required();
  fields.custom(
      "kernels", Field::Type::kList,
      [this](const Node& node) {
        for (const Node& item : node.items()) {
          Entry e;
          Fields f;
          f.add("family", e.family, "name of the kernel family; empty: all kernels");
          f.add("class", e.kernel_class, "name of the kernel class; empty: all of the family");
          f.add("framework", e.framework, "whose kernels; empty: all frameworks");
          f.add("fixed", e.shares.fixed, "activity of occupied units").range(0, 2).required();
          f.add("compute", e.shares.compute, "activity of full arithmetic").range(0, 4).required();
          f.add("memory", e.shares.memory, "activity of full bandwidth")
              .range(kMemoryChips, 4)
              .required();
          f.add("error", e.error, "of single calls").range(0, 2).required();
          f.add("calls", e.calls, "calls that were fitted").range(0, 1e9).required();
          f.read(item);
          entries_.push_back(std::move(e));
        }
      },
      [] { return nlohmann::ordered_json(); }, "constants of kernel classes");
  fields.read(parse_yaml(file->content, file->name));
  index();
}

KernelActivity::KernelActivity(double exponent, double shared_error, std::vector<Entry> entries)
    : exponent_(exponent), shared_error_(shared_error), entries_(std::move(entries)) {
  index();
}

void KernelActivity::index() {
  // The entries of a class by framework, "" first.
  const auto entries_of = [&](std::string_view family, std::string_view kernel_class) {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      const Entry& e = entries_[i];
      if (e.family != family || e.kernel_class != kernel_class) continue;
      found.insert(e.framework.empty() ? found.begin() : found.end(), i);
    }
    return found;
  };
  const std::vector<std::size_t> all = entries_of("", "");
  if (all.empty()) throw InputError("catalog/power/kernels.yaml: no constants of all kernels");
  all_ = all.front();
  for (const KernelFamily* family : kernel_families()) {
    const std::vector<std::size_t> whole = entries_of(family->name(), "");
    Known known{family, whole.empty() ? all_ : whole.front(), {}};
    for (const KernelClass& c : family->classes()) {
      std::vector<std::size_t> found = entries_of(family->name(), c.sources.front().name);
      const std::size_t first = found.empty() ? known.entry : found.front();
      known.classes.push_back({first, std::move(found)});
    }
    known_.push_back(std::move(known));
  }
}

const KernelActivity::Entry& KernelActivity::of(const KernelFamily* family, const Op& op,
                                                std::string_view framework) const {
  for (const Known& known : known_) {
    if (known.family != family) continue;
    const int index = family->class_of(op);
    if (index < 0) return entries_[known.entry];
    const Class& c = known.classes[static_cast<std::size_t>(index)];
    for (const std::size_t i : c.of_frameworks) {
      if (entries_[i].framework == framework) return entries_[i];
    }
    return entries_[c.entry];
  }
  return entries_[all_];
}

}  // namespace orrery
