// `orrery validate training`: predicted iterations against measured ones, by whole runs that the
// constants were not fitted on.
//
// Tables
//   left-out source   every complete row of iteration.csv, by constants fitted on the rows of the
//                     other sources, MLPerf's among them (fit_training.h). "covered": another
//                     source has the same GPU and number format.
//   three own rows    the same, where three rows of the row's source, GPU and format, drawn at
//                     random kDraws times, have corrected the constants; the others are judged.
//   mlperf            steady steps of mlperf_training.csv, by constants fitted on iteration.csv.
// The width of a fold's intervals is that of the other sources' left-out errors: of those whose
// stack, architecture and format their fit knew as well or as little.
//
// Mapping pairs: two measured layouts of one job (source and software version, model, GPU, number
// of GPUs, sequence, batch, format, tuning); right if the faster one is predicted to be the faster.
//
// Peers: the eight rows of Korthikanti et al. 2022, table 5, on which Calculon is validated, by
// constants fitted without that source.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "orrery/base/bundle.h"
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

// `dir`: data/training. `table`: only this one; empty: all.
TrainingValidation validate_training(const std::filesystem::path& dir, const std::string& table,
                                     const Bundle& bundle);

nlohmann::ordered_json to_json(const TrainingValidation& validation);
// What `orrery validate` prints below the table of errors.
std::string remarks(const TrainingValidation& validation);
std::string to_markdown(const TrainingValidation& validation);

}  // namespace orrery
