#include "orrery/validate/fit/service_constants.h"

#include <fmt/format.h>

#include <cmath>

namespace orrery {

std::size_t place(std::size_t gpu_class, std::size_t constant) {
  return constant + (kServiceConstants[constant].host ? 0 : gpu_class * kServiceConstants.size());
}

std::vector<double> service_start(std::size_t classes) {
  std::vector<double> x;
  for (std::size_t c = 0; c < classes; ++c)
    for (const ServiceConstant& constant : kServiceConstants) x.push_back(std::log(constant.start));
  return x;
}

std::vector<double> of_class(const std::vector<double>& x, std::size_t gpu_class) {
  std::vector<double> out;
  for (std::size_t i = 0; i < kServiceConstants.size(); ++i) out.push_back(x[place(gpu_class, i)]);
  return out;
}

std::string service_text_of(const ServiceConstant& c, double value) {
  return *c.unit ? fmt::format("{:.4g} {}", value, c.unit) : fmt::format("{:.4g}", value);
}

}  // namespace orrery
