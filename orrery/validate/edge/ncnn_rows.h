// Latencies of networks by ncnn's benchmark list: the tables cnn_edge.csv and cnn_ops.csv of the
// measured edge tables (docs/data.md).
//
// A run is a processor of a device: some of its cores, or a GPU. Networks are known by the kernels
// that ncnn has fused. The latency of a row is the least of its loops, where the list states it.
// Networks of bytes on a line of a GPU are refused: ncnn executes them on the cores, and the list
// does not say on how many. The list has some networks twice for one run, by different versions of
// ncnn: such rows, which differ by 11 % on average, are one row with their geometric mean.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "orrery/edge/predict/edge_law.h"
#include "orrery/validate/report/report.h"

namespace orrery {

struct EdgeRow {
  std::string network;       // "mobilenet_int8"; empty: not one whose deviation a law may know
  std::string architecture;  // "mobilenet"
  EdgeWork work{};
  Seconds time;
  std::string name;  // file and line
};

struct EdgeRun {
  std::string device;     // id
  std::string processor;  // "CPU, 4 fast cores", "GPU Mali-G52"
  std::string law;        // "ncnn-cpu", "ncnn-gpu"
  bool gpu = false;
  EdgeFacts facts;
  std::vector<EdgeRow> rows;
};

// The kernels of each network of cnn_ops.csv whose shapes are all known.
std::map<std::string, std::vector<EdgeKernel>> read_ncnn_kernels(const std::filesystem::path& file);

// The runs of `dir`/cnn_edge.csv, sorted by device and processor. Rows of unknown devices and
// networks are counted in `report`.
std::vector<EdgeRun> read_edge_runs(const std::filesystem::path& dir, const EdgeDevices& devices,
                                    ValidationReport& report);

}  // namespace orrery
