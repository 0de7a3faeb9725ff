// The kinds of questions that a program knows, in the order of the keys of a document.
//
// Readers take them as an argument; orrery/kinds/all_kinds.h has those of this program.
#pragma once

#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "orrery/base/fields.h"
#include "orrery/scenario/kind/question_kind.h"

namespace orrery {

// The declaration of keys together with the values that they read and write. Declaring several
// hundred keys takes a third of a millisecond, longer than an estimate takes, so that a form is
// declared once and used for one document after another.
struct ScenarioForm {
  ScenarioForm() = default;
  ScenarioForm(const ScenarioForm&) = delete;
  ScenarioForm& operator=(const ScenarioForm&) = delete;

  KeyValues values;
  Fields fields;  // borrows `values`, which keep their place
};

class Kinds {
 public:
  // REQUIRES at least one, of which the first is asked by documents without a group of a kind.
  explicit Kinds(std::vector<const QuestionKind*> kinds);
  Kinds(const Kinds&) = delete;
  Kinds& operator=(const Kinds&) = delete;

  const std::vector<const QuestionKind*>& all() const { return kinds_; }
  // The kind that a document asks.
  const QuestionKind& asked_by(const Node& document) const;
  // The kind that declares this key at the top of a document; null: it is common.
  const QuestionKind* owner_of(std::string_view key) const;

  struct KindVerb {
    const QuestionKind* kind;
    const Verb* verb;
  };
  // The verbs of all kinds, in the order of lists.
  const std::vector<KindVerb>& verbs() const { return verbs_; }
  // Null: no kind has a verb of this name.
  const KindVerb* find_verb(std::string_view name) const;

  // The figure of a metric: in the table of all questions (answer/figures.h), or in that of a kind.
  // Null: there is none.
  const Figure* figure_of(std::string_view metric) const;
  // The figures of the table, then those of the kinds.
  std::vector<Figure> figures() const;

  // The keys of a document with their defaults.
  const Fields& keys() const { return declared_.fields; }

  // A form that is lent as long as this object lives; it holds the default of every key.
  class Lent {
   public:
    explicit Lent(const Kinds& kinds);
    ~Lent();
    Lent(const Lent&) = delete;
    Lent& operator=(const Lent&) = delete;

    KeyValues& values() { return form_->values; }
    const Fields& fields() const { return form_->fields; }

   private:
    const Kinds& kinds_;
    std::unique_ptr<ScenarioForm> form_;
  };

 private:
  void declare(ScenarioForm& form) const;

  std::vector<const QuestionKind*> kinds_;
  std::vector<KindVerb> verbs_;
  ScenarioForm declared_;
  std::vector<std::pair<std::string_view, const QuestionKind*>> owners_;  // by declared keys
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<ScenarioForm>> kept_;
};

}  // namespace orrery
