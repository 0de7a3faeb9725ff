#include "orrery/scenario/setup/work_of_kinds.h"

#include <algorithm>
#include <string>

namespace orrery {
namespace {

constexpr std::string_view kOfKernels[] = {"kernels", "arithmetic", "memory"};

bool is_of_kernels(const EnergyRow& row) {
  return std::find(std::begin(kOfKernels), std::end(kOfKernels), row.name) != std::end(kOfKernels);
}

}  // namespace

WorkOfKinds::WorkOfKinds(const StepTime& step, const Gpu& gpu) {
  for (const StepKind& k : step.kinds) {
    const Seconds compute =
        k.flops > Flops(0) ? k.flops / gpu.peak(gpu.compute_dtype(k.arithmetic)) : Seconds(0);
    add({k.name, k.time, compute, k.bytes / gpu.memory.bandwidth});
  }
}

void WorkOfKinds::add(const KindWork& work) {
  const auto at = std::find_if(works_.begin(), works_.end(),
                               [&](const KindWork& w) { return w.kind == work.kind; });
  if (at == works_.end()) {
    works_.push_back(work);
    return;
  }
  at->kernels += work.kernels, at->compute += work.compute, at->memory += work.memory;
}

void WorkOfKinds::add(const WorkOfKinds& step, double times) {
  for (const KindWork& w : step.works_)
    add({w.kind, w.kernels * times, w.compute * times, w.memory * times});
}

void WorkOfKinds::divide(const EnergyOfKernels& energy, std::vector<KindEnergy>& sums) const {
  KindWork all{};
  for (const KindWork& w : works_)
    all.kernels += w.kernels, all.compute += w.compute, all.memory += w.memory;
  if (all.kernels <= Seconds(0)) return;
  const auto part = [&](Joules of, Seconds own, Seconds sum, const KindWork& w) {
    return of * (sum > Seconds(0) ? own / sum : w.kernels / all.kernels);
  };
  for (const KindWork& w : works_) {
    const Joules own = part(energy.kernels, w.kernels, all.kernels, w) +
                       part(energy.arithmetic, w.compute, all.compute, w) +
                       part(energy.memory, w.memory, all.memory, w);
    const auto at = std::find_if(sums.begin(), sums.end(),
                                 [&](const KindEnergy& k) { return k.kind == w.kind; });
    if (at == sums.end()) {
      sums.push_back({w.kind, own});
    } else {
      at->energy += own;
    }
  }
}

std::vector<EnergyRow> rows_by_kind(const std::vector<EnergyRow>& by_unit,
                                    std::vector<KindEnergy> kinds) {
  std::stable_sort(kinds.begin(), kinds.end(),
                   [](const KindEnergy& a, const KindEnergy& b) { return a.energy > b.energy; });
  std::vector<EnergyRow> rows;
  bool placed = false;
  for (const EnergyRow& row : by_unit) {
    if (!is_of_kernels(row)) {
      rows.push_back(row);
      continue;
    }
    if (placed) continue;
    placed = true;
    for (const KindEnergy& k : kinds)
      if (k.energy > Joules(0)) rows.push_back({std::string(k.kind), k.energy});
  }
  return rows;
}

std::vector<EnergyRow> rows_by_kind(const std::vector<EnergyRow>& by_unit,
                                    const WorkOfKinds& kinds) {
  EnergyOfKernels energy;
  Joules* const parts[] = {&energy.kernels, &energy.arithmetic, &energy.memory};
  for (const EnergyRow& row : by_unit) {
    const auto* at = std::find(std::begin(kOfKernels), std::end(kOfKernels), row.name);
    if (at != std::end(kOfKernels)) *parts[at - std::begin(kOfKernels)] += row.energy;
  }
  std::vector<KindEnergy> sums;
  kinds.divide(energy, sums);
  return rows_by_kind(by_unit, std::move(sums));
}

}  // namespace orrery
