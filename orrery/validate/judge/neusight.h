// `orrery validate neusight`: whole models in fp32 eager PyTorch against measured inference and
// training passes, with the predictions of NeuSight (Lee et al., ASPLOS 2025) for the same rows.
//
// The prediction of a row is the sum of its kernels (eager_models.h) by the `pytorch` classes of
// the catalog, which are measured where the GPU has a sweep and transferred elsewhere. A training
// pass is forward and backward without the optimizer. Over several GPUs of a node, tensor
// parallelism adds two all-reduces of the residual stream for each layer and pass, data parallelism
// adds one of the gradients, and each is a ring over the scale-up link. A pipeline of p stages and
// m micro-batches takes (m + p - 1) / p times the whole pass of a micro-batch.
#pragma once

#include <filesystem>

#include "orrery/base/bundle.h"
#include "orrery/validate/report/report.h"

namespace orrery {

// `dir` is data/training; its only `table` is neusight_labels.csv. `by` of a row holds device,
// mode, subset (eager, fused, distributed) and predictor. A row is in the report once with the
// predictor orrery, and once more with the predictor neusight where NeuSight has a prediction.
ValidationReport validate_neusight(const std::filesystem::path& dir, const std::string& table,
                                   const Bundle& bundle);

}  // namespace orrery
