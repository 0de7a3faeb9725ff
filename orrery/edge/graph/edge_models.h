// The networks that the program knows by name (catalog/edge/models), and files given by the user.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/edge/graph/graph.h"
#include "orrery/edge/graph/onnx_model.h"

namespace orrery {

// "mobilenet", "resnet50", "resnet50_int8", ...: the ids of catalog/edge/models, sorted. Eight of
// them are there twice, as ncnn's benchmark has them: with "_int8" they compute with bytes.
std::vector<std::string> edge_model_names(const Bundle& bundle);

// The graph of one of these, or of any of them with "_int8" behind its name. InputError with the
// nearest name where there is none.
EdgeGraph edge_model(const Bundle& bundle, std::string_view name);

// The graph of a file by its ending: .onnx or .param.
EdgeGraph read_edge_graph(const std::filesystem::path& path, const OnnxOptions& options = {});

}  // namespace orrery
