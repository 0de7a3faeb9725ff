// What a software stack makes of the kernels and collectives below it: the constants of a training
// iteration, fitted on whole iterations (`orrery fit training`) and kept in
// catalog/training/constants.yaml.
//
// A constant is the product of up to six factors: the base, the stack's (megatron, fsdp, ...), the
// GPU architecture's (ampere, hopper, ...), the stack's on that architecture, the number format's
// (fp8, mxfp8, nvfp4), and the stack's factor of a year to the power of the years between its
// release and the usual one (stack_release_date.h). A factor that is not given is 1. So a GPU that
// no training run covers keeps what its kernels and the stack say.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/hardware/gpu.h"
#include "orrery/training/iteration/stack_release_date.h"
#include "orrery/workload/plan/training_job.h"

namespace orrery {

enum class TrainingConstant {
  // Factors of the seconds of each TrainingCost, in its order. Those of communication are the share
  // that stands in the way of computation; of overlapped communication see kTensorOverlapped.
  // kContext: of all of it, before context_overlap.h hides what attention can.
  kProducts,
  kAttention,
  kAttentionBackward,
  kExperts,
  kElementwise,
  kCasts,
  kHead,
  kTensor,
  kContext,
  kExpertExchange,
  // Where TrainingPlan::tp_overlap: factor of what the schedule of pieces leaves exposed.
  kTensorOverlapped,
  kExpertOverlapped,  // share of the exchange that pairs of micro-batches run beside computation
  // Factor of the communication of sharded weights and their gradients in every pass (ZeRO 3),
  // before data_overlap.h hides what computation can.
  kSharded,
  // Share of reducing gradients and gathering updated weights, once an iteration, that stands in
  // the way whatever their schedule hides: ranks that wait for each other, and what a stack does
  // not run beside computation. The rest follows data_overlap.h.
  kDataBlocking,
  kPipeline,   // factor of the pipeline's idle time
  kSend,       // share of the sends between stages that nothing hides
  kOptimizer,  // factor of the optimizer's kernel
  kLaunch,     // microseconds of the host for each kernel
  kHost,       // milliseconds of an iteration in which the GPU waits: loader, logging, checks
};
inline constexpr std::size_t kTrainingConstants = 19;

struct TrainingConstantProperties {
  std::string_view name;
  double base, least, most;  // the prior of the base, and the range of the whole constant
  std::string_view doc;
};
const TrainingConstantProperties& properties(TrainingConstant constant);

using ConstantValues = std::array<double, kTrainingConstants>;

// What the fit had of a job's stack, GPU architecture and number format (16 bits and wider are one:
// no group of constants tells them apart): runs with all three, runs with each of them, or of one
// of them none.
enum class FitCover { kCombination, kEach, kIncomplete };

struct TrainingConstants {
  ConstantValues value;
  double error = 0.12;         // own relative error of an iteration, on rows of other sources
  double experts_error = 0.3;  // on top with routed experts: they change with every release
  double adapters_error = 0;   // on top where adapters are trained beside frozen weights
  FitCover cover = FitCover::kIncomplete;
  std::string provenance;
  double operator[](TrainingConstant c) const { return value[static_cast<std::size_t>(c)]; }
};

// The fitted table, by group: "base", "stack fsdp", "gpu hopper", "stack fsdp gpu hopper", "format
// fp8", "stack fsdp year". A fit sets the errors so that nine tenths of the rows of left-out
// sources are inside; those here are for the priors alone: about what fitted ones came to.
struct ConstantTable {
  std::map<std::string, ConstantValues, std::less<>> groups;  // factors; base: values
  std::map<std::string, ReleaseSpan, std::less<>> releases;   // by stack
  std::set<std::string, std::less<>> covers;  // "fsdp hopper", "fsdp hopper fp8": in the fit
  // By FitCover, in its order.
  double covered_error = 0.12, related_error = 0.15, uncovered_error = 0.25;
  double experts_error = 0.3, adapters_error = 0;
  std::string provenance;
};

// A group whose factors count for a job, to a power.
struct ConstantGroup {
  std::string name;
  double power = 1;
};
// Those in the table, and those that could be. `years`: from the usual release to the job's.
std::vector<ConstantGroup> constant_groups(std::string_view stack, const Gpu& gpu,
                                           const TrainingPrecision& precision, double years);

// How ConstantTable::covers names a stack on an architecture with the format of its products.
std::string coverage_name(std::string_view stack, const Gpu& gpu,
                          const TrainingPrecision& precision);

// The documented starts, nothing fitted.
ConstantTable prior_constants();
// The table in catalog/training/constants.yaml; the priors alone if there is none.
ConstantTable read_constant_table(const Bundle& bundle);
std::string to_yaml(const ConstantTable& table);

// Products of the factors of `groups`, within each constant's range. `release`: of the stack
// (stack_release_date); without one the usual.
TrainingConstants training_constants(const ConstantTable& table, std::string_view stack,
                                     const Gpu& gpu, const TrainingPrecision& precision,
                                     std::optional<double> release = std::nullopt);

}  // namespace orrery
