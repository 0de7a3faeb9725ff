// The constants of a training iteration: what a software stack makes of the kernels and collectives
// that it calls. They are fitted on whole iterations (`orrery fit training`) and stored in
// catalog/training/constants.yaml.
//
// A constant is the product of up to six factors:
//
//   the base
//   the stack (megatron, fsdp, ...)
//   the GPU architecture (ampere, hopper, ...)
//   the stack on that architecture
//   the number format (fp8, mxfp8, nvfp4)
//   the stack's factor for one year, to the power of the years between its release and the usual
//   release of the fit (stack_release_date.h)
//
// A factor that the table does not have is 1. A GPU without measured training runs is therefore
// predicted by its kernels and by the constants of the stack.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/base/index.h"
#include "orrery/base/units.h"
#include "orrery/hardware/gpu.h"
#include "orrery/training/iteration/stack_release_date.h"
#include "orrery/workload/plan/training_job.h"

namespace orrery {

enum class TrainingConstant {
  // One constant for each TrainingCost, in the order of the costs: a factor of its seconds. For
  // communication it is the exposed share. kContext multiplies all context-parallel communication,
  // before context_overlap.h hides a part of it.
  kProducts,
  kAttention,
  kAttentionBackward,
  kExperts,  // on top of kProducts
  kElementwise,
  kCasts,
  kHead,
  kTensor,
  kContext,
  kExpertExchange,
  kTensorOverlapped,  // factor of exposed tensor-parallel communication, with tp_overlap
  kExpertOverlapped,  // share of the exchange of experts that overlaps in pairs of micro-batches
  kSharded,  // factor of the communication of sharded weights (ZeRO 3), before data_overlap.h
  // Share of the reduction of gradients and the gathering of updated weights that is exposed in any
  // case: ranks wait for each other, and stacks do not overlap everything. data_overlap.h says how
  // much of the rest is exposed.
  kDataBlocking,
  kPipeline,   // factor of the pipeline's idle time
  kSend,       // exposed share of the sends between stages
  kOptimizer,  // factor of the optimizer's kernel
  kLaunch,     // host time for each kernel, in microseconds
  kHost,       // time of an iteration in which the GPU waits for the host, in milliseconds
  // Deviation between the times of a step's computation on the ranks, in percent (slowest_rank.h).
  // It belongs to the machines and not to a stack: a fit changes only the base.
  kJitter,
};
inline constexpr std::size_t kTrainingConstants = 20;

struct TrainingConstantProperties {
  std::string_view name;     // key of constants.yaml
  double base, least, most;  // prior of the base factor; range of the whole constant
  std::string_view doc;
};
const TrainingConstantProperties& properties(TrainingConstant constant);

// Values or factors of all constants, in the order of TrainingConstant and in the units stated
// there: the numbers that a fit varies. Times are read by TrainingConstants::launch_time and
// host_time.
using ConstantValues = std::array<double, kTrainingConstants>;

// How well the runs of the fit cover a job's stack, GPU architecture and number format. All formats
// of 16 bits and more count as one, because no group of constants distinguishes them.
enum class FitCover {
  kCombination,  // a run has all three
  kEach,         // each of them occurs in some run
  kIncomplete,   // one of them occurs in no run
};

// The constants of one job.
struct TrainingConstants {
  ConstantValues value;
  // Relative standard deviation of an iteration's time, on rows of sources outside of the fit.
  double error = 0.12;
  double experts_error = 0.3;  // added with routed experts: they change with every release
  double adapters_error = 0;   // added if adapters are trained next to frozen weights
  FitCover cover = FitCover::kIncomplete;
  std::string provenance;  // data and date of the fit

  double operator[](TrainingConstant c) const { return value[index(c)]; }
  // Host time to launch `kernels` kernels.
  Seconds launch_time(double kernels) const {
    return microseconds((*this)[TrainingConstant::kLaunch] * kernels);
  }
  // Time of an iteration in which the GPU waits for the host: loader, logging, checks.
  Seconds host_time() const { return Seconds(1e-3 * (*this)[TrainingConstant::kHost]); }
  // The deviation between ranks as a fraction.
  double jitter() const { return 0.01 * (*this)[TrainingConstant::kJitter]; }
};

// The fitted table. Groups have the names "base", "stack fsdp", "gpu hopper", "stack fsdp gpu
// hopper", "format fp8", "stack fsdp year". The default errors are for a table without a fit: they
// are close to fitted ones. A fit sets them so that nine tenths of the rows of left-out sources are
// inside the intervals.
struct ConstantTable {
  std::map<std::string, ConstantValues, std::less<>> groups;  // factors; for "base" values
  std::map<std::string, ReleaseSpan, std::less<>> releases;   // by stack
  std::set<std::string, std::less<>> covers;  // coverage_name of the runs in the fit
  // Errors by FitCover, in its order.
  double covered_error = 0.12, related_error = 0.15, uncovered_error = 0.25;
  double experts_error = 0.3, adapters_error = 0;
  std::string provenance;
};

// A group of the table, and the power to which its factors are taken.
struct ConstantGroup {
  std::string name;
  double power = 1;
};
// The groups of a job, whether or not the table has them. `years`: from the usual release of the
// stack to the job's.
std::vector<ConstantGroup> constant_groups(std::string_view stack, const Gpu& gpu,
                                           const TrainingPrecision& precision, double years);

// The name of a stack on an architecture, with the format of its products if that is below 16 bits,
// in ConstantTable::covers: "fsdp hopper", "fsdp hopper fp8".
std::string coverage_name(std::string_view stack, const Gpu& gpu,
                          const TrainingPrecision& precision);

// The table before a fit: the documented priors.
ConstantTable prior_constants();
// The table in catalog/training/constants.yaml, or the priors if the catalog has none.
ConstantTable read_constant_table(const Bundle& bundle);
std::string to_yaml(const ConstantTable& table);

// The constants of a job: the product of its groups' factors, within each constant's range.
// `release`: of the stack, from stack_release_date; none: the usual release.
TrainingConstants training_constants(const ConstantTable& table, std::string_view stack,
                                     const Gpu& gpu, const TrainingPrecision& precision,
                                     std::optional<double> release = std::nullopt);

}  // namespace orrery
