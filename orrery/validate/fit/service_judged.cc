#include "orrery/validate/fit/service_judged.h"

#include "orrery/network/fit/joined_texts.h"
#include "orrery/validate/fit/service_texts.h"

namespace orrery {
namespace {

// The errors that the groups other than `skipped` ask for on GPUs of class `of`. What is not of the
// steps in first tokens does not depend on the GPU: those of all classes are asked, and those of
// rows that are not fitted, since nobody can tell before whether a service will be like them.
ServiceErrors errors_of(const JudgedClasses& judged, std::size_t of, const std::string& skipped) {
  std::vector<LeftOut> rows, firsts;
  std::size_t groups = 0;
  const auto add = [&skipped](std::vector<LeftOut>& to, const auto& of_groups) {
    std::size_t n = 0;
    for (const auto& [group, left_out] : of_groups) {
      if (group == skipped) continue;
      to.insert(to.end(), left_out.begin(), left_out.end());
      ++n;
    }
    return n;
  };
  add(rows, judged[of].rows);
  for (const JudgedClass& j : judged) groups += add(firsts, j.firsts);
  return ask_errors(rows, firsts, groups);
}

}  // namespace

void write_texts(const JudgedClasses& judged, const std::string& date,
                 std::vector<FittedServices>& fitted) {
  for (std::size_t c = 0; c < fitted.size(); ++c) {
    FittedServices& f = fitted[c];
    const JudgedClass& j = judged[c];
    if (j.constants.empty()) continue;
    f.errors = errors_of(judged, c, "");
    std::map<std::string, std::string> folds;
    for (const auto& [group, constants] : j.without)
      folds[group] = services_text(constants, j.shapes) + errors_of(judged, c, group).yaml();
    f.folds = made_services(date) + joined_texts(folds);
    f.yaml = made_services(date) + services_summary(f) + services_text(j.constants, j.shapes) +
             f.errors.yaml();
  }
}

}  // namespace orrery
