// The texts that `orrery fit services` writes: files of catalog/engines/fitted and folds.
#pragma once

#include <string>
#include <vector>

#include "orrery/validate/fit/fit_services.h"

namespace orrery {

// The line that names the recipe.
std::string made_services(const std::string& date);

// The number of rows of the class, and its median errors, as comments.
std::string services_summary(const FittedServices& f);

// Keys of a profile for the constants `x` of a class, logarithms. Those of ServiceConstant::shapes
// only if `shapes`.
std::string services_text(const std::vector<double>& x, bool shapes);

// The file of a class without a fit: the host's constants `x` of the engine on GPUs of class
// `fitted_on`.
std::string host_text(const std::string& fitted_on, const std::vector<double>& x,
                      const std::string& date);

}  // namespace orrery
