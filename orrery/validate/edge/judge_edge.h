// `orrery validate edge`: latencies of networks on phones, boards and computers, against ncnn's
// benchmark list (ncnn_rows.h).
//
//   table ncnn                         a fifth of the devices, by a law fitted on the others
//   table ncnn, network left out, too  the same by a law that has not seen the network's
//                                      architecture (an eighth of them at a time) on any device
//   table nas                          architectures of search spaces (judge_nas.h)
//   table mlperf                       single-stream times of MLPerf (judge_mlperf.h)
//   table llm, ...                     LLMs on consumer devices (judge_llm.h); the table "llm,
//                                      settings by fold" only where it is asked for by its name
//
// The metrics of the first two are "facts alone", "5 measured" and "10 measured": how many networks
// of the run were measured, chosen by the hash of their names. The figures are of the run's other
// networks.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/base/part_meter.h"
#include "orrery/validate/report/report.h"

namespace orrery {

// `dir` is the folder of measured edge tables. `table`: the only table wanted; empty: all.
// InputError: another table.
ValidationReport validate_edge(const std::filesystem::path& dir, const std::string& table,
                               const Bundle& bundle);

// The laws fitted on all rows of the tables that `dir` has: paths below catalog/ and the text of
// each file. A law is a part of `meter`, which may be null.
std::vector<std::pair<std::string, std::string>> fit_edge(const std::filesystem::path& dir,
                                                          const std::string& date,
                                                          const Bundle& bundle,
                                                          PartMeter* meter = nullptr);

}  // namespace orrery
