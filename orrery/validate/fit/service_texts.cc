#include "orrery/validate/fit/service_texts.h"

#include <fmt/format.h>

#include <cmath>

#include "orrery/validate/fit/service_constants.h"

namespace orrery {

std::string made_services(const std::string& date) {
  return fmt::format(
      "# Made by `orrery fit services` from data/inference/serving_steady on {}: do not edit.\n",
      date);
}

std::string services_summary(const FittedServices& f) {
  return fmt::format(
      "# {} rows of all groups. Median error of TPOT {:.1f} % before, {:.1f} % after,\n"
      "# {:.1f} % with the row's model and system left out; of TTFT {:.1f} %, {:.1f} %, {:.1f} "
      "%.\n",
      f.rows, f.tpot_before, f.tpot_after, f.tpot_left_out, f.ttft_before, f.ttft_after,
      f.ttft_left_out);
}

std::string services_text(const std::vector<double>& x, bool shapes) {
  std::string out;
  for (const char* group : {"execution", "kernels"}) {
    out += fmt::format("{}:\n", group);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const ServiceConstant& c = kServiceConstants[i];
      const std::string key = c.key;
      const std::size_t dot = key.find('.');
      if (key.substr(0, dot) == group && (shapes || !c.shapes))
        out += fmt::format("  {}: {}\n", key.substr(dot + 1), service_text_of(c, std::exp(x[i])));
    }
  }
  return out;
}

std::string host_text(const std::string& fitted_on, const std::vector<double>& x,
                      const std::string& date) {
  std::string out =
      made_services(date) +
      fmt::format("# The host's part of what was fitted on {}.\nexecution:\n", fitted_on);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const ServiceConstant& c = kServiceConstants[i];
    const std::string key = c.key;
    if (c.host && !c.shapes)
      out += fmt::format("  {}: {}\n", key.substr(key.find('.') + 1),
                         service_text_of(c, std::exp(x[i])));
  }
  return out;
}

}  // namespace orrery
