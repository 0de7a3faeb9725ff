// The declaration of all keys of a scenario together with the values that it reads and writes.
// Declaring several hundred keys takes a third of a millisecond, longer than an estimate takes, so
// that a form is declared once and used for one document after another.
#pragma once

#include <memory>

#include "orrery/base/fields.h"
#include "orrery/scenario/document/scenario_keys.h"

namespace orrery {

struct ScenarioForm {
  ScenarioForm() { declare(fields, values); }
  ScenarioForm(const ScenarioForm&) = delete;
  ScenarioForm& operator=(const ScenarioForm&) = delete;

  ScenarioValues values;
  Fields fields;  // borrows `values`, which keep their place
};

// A form that is lent as long as this object lives. Each thread keeps the forms that its objects
// gave back, so that no thread waits for another.
class LentForm {
 public:
  // The form holds the default of every key.
  LentForm();
  // The form holds the values of `scenario`; keys of other kinds of questions have their defaults.
  explicit LentForm(const Scenario& scenario);
  ~LentForm();
  LentForm(const LentForm&) = delete;
  LentForm& operator=(const LentForm&) = delete;

  ScenarioValues& values() { return form_->values; }
  const Fields& fields() const { return form_->fields; }

 private:
  explicit LentForm(ScenarioValues values);

  std::unique_ptr<ScenarioForm> form_;
};

// The declaration without values of a document, for what asks about keys only.
const Fields& declared_keys();

}  // namespace orrery
