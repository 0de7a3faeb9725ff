#include "orrery/scenario/document/scenario_form.h"

#include <utility>
#include <vector>

namespace orrery {
namespace {

std::vector<std::unique_ptr<ScenarioForm>>& kept_forms() {
  thread_local std::vector<std::unique_ptr<ScenarioForm>> kept;
  return kept;
}

}  // namespace

LentForm::LentForm(ScenarioValues values) {
  auto& kept = kept_forms();
  if (kept.empty()) {
    form_ = std::make_unique<ScenarioForm>();
  } else {
    form_ = std::move(kept.back());
    kept.pop_back();
  }
  form_->values = std::move(values);
}

LentForm::LentForm() : LentForm(ScenarioValues()) {}

LentForm::LentForm(const Scenario& scenario) : LentForm(ScenarioValues(scenario)) {}

LentForm::~LentForm() { kept_forms().push_back(std::move(form_)); }

const Fields& declared_keys() {
  static const ScenarioForm form;
  return form.fields;
}

}  // namespace orrery
