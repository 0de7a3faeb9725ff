// The energy of kernels by their kind: "gemm", "attention_decode", "moe" (kind_name of
// workload/ops/op.h; of training the costs of workload/training/training_program.h).
//
// The law of a board's power (energy/power/step_power.h) ascribes the energy of steps to kernels
// that run, to their arithmetic and to their traffic. Each is divided among the kinds as they take
// part in it:
//
//   energy of a kind = kernels * K_k / K + arithmetic * C_k / C + memory * M_k / M
//
// K is the time of all kernels, C that of their FLOPs at the peak rate and M that of their bytes at
// the bandwidth, K_k, C_k and M_k those of the kind. The rows of a run therefore add up to its
// energy. The law is of a step as a whole: its exponents below 1 mean that the first part of a
// utilisation costs the most, and the division does not say whose part came first. No reading
// judges it.
#pragma once

#include <string_view>
#include <vector>

#include "orrery/base/units.h"
#include "orrery/hardware/gpu.h"
#include "orrery/scenario/answer/answer.h"
#include "orrery/step/step_model.h"

namespace orrery {

// The work of the kernels of one kind, and their energy.
struct KindWork {
  std::string_view kind;  // static text
  Seconds kernels, compute, memory;
};
struct KindEnergy {
  std::string_view kind;
  Joules energy;
};

// The energy that the law ascribes to kernels other than collectives, without the board awake.
struct EnergyOfKernels {
  Joules kernels, arithmetic, memory;
};

class WorkOfKinds {
 public:
  WorkOfKinds() = default;
  // The kernels of a step with its kinds (StepModel::time_by_kind), on `gpu`.
  WorkOfKinds(const StepTime& step, const Gpu& gpu);

  void add(const KindWork& work);
  // Adds those of `times` such steps.
  void add(const WorkOfKinds& step, double times);
  bool empty() const { return works_.empty(); }

  // Adds to `sums` the energy of each kind, which sum up to `energy`. A part that no kind has work
  // for is of all kinds by their time. REQUIRES kernels that take time.
  void divide(const EnergyOfKernels& energy, std::vector<KindEnergy>& sums) const;

 private:
  std::vector<KindWork> works_;
};

// The rows of `by_unit` with the energies of kinds, the largest first, in the place of "kernels",
// "arithmetic" and "memory".
std::vector<EnergyRow> rows_by_kind(const std::vector<EnergyRow>& by_unit,
                                    std::vector<KindEnergy> kinds);
// The same for rows of which `kinds` is all the work.
std::vector<EnergyRow> rows_by_kind(const std::vector<EnergyRow>& by_unit,
                                    const WorkOfKinds& kinds);

}  // namespace orrery
