// Memory of training: predictions against the measured rows of data/training (training_rows.h), and
// the fit of the constants that all stacks share.
//
// The figure of a row counts tensors alone ("allocated", "active"), the memory that the framework's
// allocator has reserved, or the whole device (nvidia-smi). Predictions are read in the same way.
// A row is described if it states its micro-batch, its recomputation and which of these it counts.
// Other rows are predicted and reported, but neither judge nor are fitted.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/base/units.h"
#include "orrery/memory/training_memory.h"
#include "orrery/validate/report/constants_choice.h"
#include "orrery/validate/report/report.h"
#include "orrery/validate/rows/training_rows.h"

namespace orrery {

enum class MemoryReading { kAllocated, kReserved, kDevice };

struct TrainingMemoryRow {
  TrainingRow row;
  TrainingMemoryConstants stack;  // the family's switches, with what the row says of its kernels
  Gpu gpu;
  MemoryReading reading = MemoryReading::kReserved;
  Bytes measured;  // 0 where it did not fit
  bool described = false;

  // True if the row has a size to be right about.
  bool judges() const { return described && measured > Bytes(0); }
};

// Reads the rows that have a measured size or ran out of memory. Rows that cannot be asked go to
// `refused`.
std::vector<TrainingMemoryRow> read_training_memory(const std::filesystem::path& dir,
                                                    const Bundle& bundle,
                                                    std::vector<RefusedRow>& refused);

// The prediction of the row's figure under these constants.
Bytes predicted_memory(const TrainingMemoryRow& row,
                       const TrainingMemoryConstants::Fitted& constants);

// Fits the constants to the described rows: minimises the mean |ln(predicted/measured)|, in which a
// source weighs as the square root of its rows, with a weak pull to the priors.
TrainingMemoryConstants::Fitted fit_training_memory(const std::vector<TrainingMemoryRow>& rows);

// Each described row predicted by a fit without its source, and what follows from that for chances.
struct LeftOutMemory {
  struct Prediction {
    std::size_t row;  // of the input
    Bytes predicted;
    MemoryError error;  // found on the other sources
    double fits;        // chance that the whole job fits its device
  };
  std::vector<Prediction> rows;
  // The error under which the described rows are likeliest, with |ln(predicted/measured)| cut at
  // 0.5.
  MemoryError error;
};
LeftOutMemory leave_sources_out(const std::vector<TrainingMemoryRow>& rows);

// How often the left-out chances are right: of jobs that ran out of memory and of described ones
// that ran, with one half as the limit.
struct FitChances {
  int ran_out = 0, recognised = 0;
  int ran = 0, refused = 0;
  double brier = 0;  // mean squared difference of the chance from what happened
};
FitChances fit_chances(const std::vector<TrainingMemoryRow>& rows, const LeftOutMemory& left_out);

// Every row predicted by a fit without its source, or by the committed constants. `by`: table
// (training_memory, or training_memory_undescribed), metric (memory_gb), source. `table`: only this
// one; empty: both.
ValidationReport validate_training_memory(const std::filesystem::path& dir,
                                          const std::string& table, const Bundle& bundle,
                                          ConstantsChoice constants = ConstantsChoice::kLeftOut);

// The text of catalog/training/memory-fitted.yaml.
std::string fit_training_memory(const std::filesystem::path& dir, const std::string& date,
                                const Bundle& bundle);

}  // namespace orrery
