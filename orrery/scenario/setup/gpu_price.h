// The price of a GPU that a scenario asks for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orrery/energy/account/price_book.h"
#include "orrery/hardware/gpu.h"
#include "orrery/scenario/question/account_choice.h"
#include "orrery/scenario/setup/facts.h"

namespace orrery {

// Nothing: the scenario asks for no cost. Adds what the price is to `notes`. InputError: the price
// book has no such price, or cannot be read.
std::optional<GpuPrice> gpu_price(Facts& facts, const CostChoice& cost, const Gpu& gpu,
                                  std::vector<std::string>& notes);

}  // namespace orrery
