// `orrery validate edge --table tiny`: networks of bytes on microcontrollers and NPUs, by MLPerf
// tiny's published runs (mlperf_tiny.csv of the measured edge tables).
//
// Three metrics. "processor left out": the time by a law (edge/small/small_law.h) that was fitted
// without the processor's runs. "network left out": by one that was fitted without the processor's
// runs of that network. "energy, network left out": that time, with the power that the board drew
// in its runs of other networks. A run that a submitter repeats in a later round counts once. Left
// out, with a count: runs with floats, and systems that catalog/edge/small.yaml does not have.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/edge/small/small_law.h"
#include "orrery/validate/report/report.h"

namespace orrery {

struct TinyRun {
  const SmallProcessor* processor = nullptr;
  std::string benchmark;  // "kws"
  SmallWork work{};
  Seconds time;                  // of an inference
  std::optional<Joules> energy;  // likewise
  std::string name, submitter;
};

// `processors` must live as long as the runs.
std::vector<TinyRun> read_tiny_runs(const std::filesystem::path& dir,
                                    const SmallProcessors& processors, const Bundle& bundle,
                                    ValidationReport& report);

// The most likely law of the runs. REQUIRES: at least one run.
SmallLaw fit_small_law(std::span<const TinyRun> runs);

void judge_tiny(const std::filesystem::path& dir, const Bundle& bundle, ValidationReport& report);

}  // namespace orrery
