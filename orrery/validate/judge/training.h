// `orrery validate training`: predicted iterations against measured ones, by whole runs that the
// constants were not fitted on.
//
// Tables
//   left-out source   Every complete row of iteration.csv, by constants fitted on the rows of the
//                     other sources, MLPerf's included (fit_training.h). A row is "covered" if
//                     another source has the same GPU and number format.
//   three own rows    The same rows after three rows of the same source, GPU and format have
//                     corrected the constants. The three are drawn at random, ten times.
//   mlperf            Steady steps of mlperf_training.csv, by constants fitted on iteration.csv.
// By the committed constants there are iteration, every complete row of iteration.csv, and mlperf.
// A row is then "covered" if the fit has a run of its stack, GPU architecture and number format.
//
// The width of the intervals in a fold comes from the left-out errors of the other sources, of
// those whose stack, architecture and format their fits knew equally well.
//
// A mapping pair is two measured layouts of one job (source and software version, model, GPU,
// number of GPUs, sequence, batch, format, tuning). It is right if the faster layout is predicted
// to be faster.
//
// The peer is Calculon, on the eight rows of Korthikanti et al. 2022, table 5, on which it was
// validated. Our constants for these rows are fitted without that source.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/validate/report/constants_choice.h"
#include "orrery/validate/report/report.h"

namespace orrery {

struct MappingPairs {
  std::size_t pairs = 0, right = 0;
  double percent() const {
    return pairs ? 100.0 * static_cast<double>(right) / static_cast<double>(pairs) : 0;
  }
};

struct PeerIteration {
  std::string name;
  Seconds published, orrery, peer;
};

struct TrainingValidation {
  ValidationReport report;                 // every row of every table
  ErrorReport errors;                      // in groups
  MappingPairs all_pairs, distinct_pairs;  // distinct: measured times differ beyond the noise
  std::vector<PeerIteration> peers;
  double orrery_mape() const;
  double peer_mape() const;
};

// Validates the tables of `dir` (data/training), or the one named by `table` ("peers" for the rows
// of peer_calculon.csv). Absent tables other than iteration.csv are noted as skipped.
TrainingValidation validate_training(const std::filesystem::path& dir, const std::string& table,
                                     const Bundle& bundle,
                                     ConstantsChoice constants = ConstantsChoice::kLeftOut);

nlohmann::ordered_json to_json(const TrainingValidation& validation);
// The text that `orrery validate` prints below the table of errors.
std::string remarks(const TrainingValidation& validation);
std::string to_markdown(const TrainingValidation& validation);

}  // namespace orrery
