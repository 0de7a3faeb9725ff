// The choice of the constants that predict the rows of a validation.
#pragma once

namespace orrery {

enum class ConstantsChoice {
  kLeftOut,    // fitted without the row's group: figures that hold for what no fit has seen
  kCommitted,  // those of the catalog, which a user has and which may be fitted on the row
};

// The line that a report by kCommitted begins with.
inline constexpr const char* kInSample =
    "In sample: the catalog's constants may be fitted on these rows; no headline.";

}  // namespace orrery
