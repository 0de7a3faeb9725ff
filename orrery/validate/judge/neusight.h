// `orrery validate neusight`: whole models in fp32 eager PyTorch against measured inference and
// training passes, beside the predictions of NeuSight (Lee et al., ASPLOS 2025) on the same rows.
//
// A row's prediction is the sum of its kernels (eager_models.h) by the `pytorch` classes of the
// catalog: measured where the GPU has a sweep, else transferred. Training is forward and backward
// without optimizer. Over several GPUs of a node: tensor parallelism adds two all-reduces of the
// stream a layer and pass, data parallelism one of the gradients, each a ring over the scale-up
// link; a pipeline of p stages takes (micro-batches + p - 1) / p times a micro-batch's whole pass.
#pragma once

#include <filesystem>

#include "orrery/base/bundle.h"
#include "orrery/validate/report/report.h"

namespace orrery {

// `dir`: data/training, with neusight_labels.csv, which is the only `table`. The report has every
// row twice: `by` holds device, mode, model, subset (eager, fused, distributed) and predictor:
// orrery, or neusight where it has a prediction.
ValidationReport validate_neusight(const std::filesystem::path& dir, const std::string& table,
                                   const Bundle& bundle);

}  // namespace orrery
