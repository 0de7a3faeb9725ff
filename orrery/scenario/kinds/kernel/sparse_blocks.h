// The blocks of sparse attention that questions about kernels know by the models that have them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "orrery/workload/ops/op.h"

namespace orrery {

// "deepseek-v3.2", "glm-5", "glm-5.2-reuse" (a layer that takes the choice of an earlier one), and
// for DeepSeek-V4 and MiniMax-M3 a block for each kind of layer.
const std::vector<std::string>& sparse_block_names();

// The block of a rank with `heads` query heads. REQUIRES a name of sparse_block_names().
SparseAttentionBlock sparse_block(std::string_view name, int heads);

}  // namespace orrery
