// A question about a chip of a user's own: the cycles, the energy and the area of tensor operations
// on it.
//
//   accelerator: {ask: map, arch: simba-like, workload: resnet50-conv2_3x3, valid: 1000}
//   accelerator: {arch: [nvdla, tpu_v4i], workload: matmul_1024, mapping: map.txt,
//                 convention: looptree}
//   accelerator: {ask: systolic, config: scale.cfg, topology: resnet18.csv}
//
// A file may be given by its text, too: a value of several lines is the text itself.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "orrery/base/fields.h"

namespace orrery {

struct QuestionKind;

// An op of a model's step, in the place of a workload's file.
struct ModelOp {
  std::string model, op, phase = "prefill";
  std::int64_t batch = 1, isl = 1024;
  int tp = 1;
};

struct AcceleratorQuestion {
  // "evaluate" a mapping, "explain" it level by level, "map": search for one; layers on a chip of
  // a fixed dataflow: "systolic" as SCALE-Sim, "directives" as MAESTRO.
  std::string ask = "evaluate";

  // The chip and its work, of evaluate, explain and map: names of bundled files, paths, or texts.
  std::string arch, workload, einsum;
  ModelOp model_op;         // in use where `workload` is empty
  std::string energies;     // an energy reference table of Accelergy; empty: none
  std::string mapping;      // of evaluate and explain; of directives the layers and their dataflows
  std::string sparse;       // formats, gating and skipping; empty: those of `arch`
  std::string constraints;  // of map; empty: those of `arch`
  std::string convention = "timeloop";
  std::string buffers;               // of convention exact: "double" or "single"; empty: double
  std::vector<std::string> defines;  // NAME=VALUE of names in AccelForge's templates

  std::string mapper = "random-search", objective = "edp";
  std::int64_t valid = 1000, seed = 1;  // mappings to evaluate; of the search

  std::string config, topology;  // of systolic: the array and the layers
  std::string hardware;          // of directives; empty: the usual machine

  bool maps_nest() const { return ask == "evaluate" || ask == "explain" || ask == "map"; }
};

// Defined by the kind (accelerator_kind.cc).
const QuestionKind& kind_of(const AcceleratorQuestion& question);

void declare(Fields& fields, AcceleratorQuestion& question);

}  // namespace orrery
