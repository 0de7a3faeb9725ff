// Networks on phones, boards and laptops: the question of `orrery edge` and its answer.
#pragma once

#include <string>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/edge/graph/edge_models.h"
#include "orrery/edge/predict/edge_answer.h"

namespace orrery::face {

struct EdgeQuestion {
  std::vector<std::string> networks;  // file.onnx, file.param or a bundled network
  std::vector<std::string> devices;   // or "all"
  EdgeProcessor processor;
  bool slow = false;  // the slow cores first
  std::string precision = "float";
  std::string runtime;   // empty: ncnn, and TensorRT or OpenVINO on a GPU of catalog/gpus
  std::string measured;  // a CSV of networks timed on the device, to calibrate; empty: none
  OnnxOptions onnx;
};

struct EdgeLine {
  std::string network, device;
  EdgeAnswer answer;
};

// A line for each network on each device. A device that is no edge device is a GPU of catalog/gpus,
// which an engine runs (edge/engine/engine_answer.h). InputError: an unknown device, network,
// precision or runtime, with the nearest.
std::vector<EdgeLine> answer(EdgeQuestion question, const Bundle& bundle);

// The JSON that -o json prints. `explain`: with the time of every kernel.
std::string json_text(const std::vector<EdgeLine>& lines, bool explain);

// "3x3/2": the window of a kernel and its stride; empty: none.
std::string window_text(const EdgeKernel& kernel);
// "64x112x112".
std::string shape_text(const EdgeShape& shape);

}  // namespace orrery::face
