// Unsound rows of the table linear_attention, which two families read.
#pragma once

#include "orrery/base/csv.h"

namespace orrery {

// True for a row of a sweep that something disturbed (linear_attention_tables.cc says what).
// `values`: how many values it processes, tokens times channels.
bool is_disturbed(const CsvReader& row, double values);

}  // namespace orrery
