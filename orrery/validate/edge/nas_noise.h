// The noise of a column of a search space (judge_nas.h), as far as the table shows one: what the
// best law could reach if all architectures of the device were measured.
//
//   twins       architectures that execute the same work, in another order or at other places: each
//               is predicted by the geometric mean of the others. FBNet has hardly any.
//   regression  the sum of work at the costs that make the squares of the relative errors least
//               over all architectures, each predicted one among them
//
// No law of the work alone can be expected to order twins. The regression is the best sum of the
// kinds of work (edge_work.h); a law of ten measured architectures is not better in the mean.
#pragma once

#include <utility>
#include <vector>

#include "orrery/validate/edge/ncnn_rows.h"

namespace orrery {

// Measured and predicted times, ms.
using NasPairs = std::vector<std::pair<double, double>>;

NasPairs twins_of(const std::vector<EdgeRow>& rows);
NasPairs regression_of(const std::vector<EdgeRow>& rows);

}  // namespace orrery
