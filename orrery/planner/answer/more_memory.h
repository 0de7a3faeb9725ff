// The catalog with more memory on the boards of one type of GPU, so that a search can say what a GB
// is worth. All else of the GPU is as it was.
#pragma once

#include <string>

#include "orrery/base/bundle.h"
#include "orrery/base/units.h"

namespace orrery {

// `gpu`: the id of a GPU of the catalog. InputError: the catalog has no file of it.
Bundle with_more_memory(const Bundle& bundle, const std::string& gpu, Bytes more);

}  // namespace orrery
