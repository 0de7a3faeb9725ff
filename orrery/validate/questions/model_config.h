// A config.json for a model that only a measured table describes.
#pragma once

#include <optional>
#include <string>

#include "orrery/model/architecture/architecture.h"

namespace orrery {

// Whether two models are the same to a training job, whatever they are called. What takes neither
// time nor memory there has no part in it: the longest context, the format of the checkpoint,
// layers for drafts, how rotary and ALiBi positions differ.
bool same_model(const Architecture& a, const Architecture& b);

// The text of a config.json that is read as the same model. Nothing if it has several kinds of
// layers or no family that is tried makes it (GPT-2, BLOOM, Falcon, MPT, InternLM, Llama, Mixtral).
std::optional<std::string> model_config(const Architecture& model);

}  // namespace orrery
