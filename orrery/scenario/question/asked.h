// The question of a scenario as a value whose type only its kind knows.
//
//   Asked asked = ReplayQuestion{...};       // the kind follows from the type
//   asked.kind().name;                       // "replay"
//   asked.find<ReplayQuestion>();            // null if it is another kind's
//
// The header of a question declares, in its namespace, the function by which its kind is found:
//
//   const QuestionKind& kind_of(const ReplayQuestion& question);
#pragma once

#include <any>
#include <concepts>
#include <type_traits>
#include <utility>

namespace orrery {

struct QuestionKind;

class Asked {
 public:
  template <class Question>
    requires(!std::same_as<std::remove_cvref_t<Question>, Asked>)
  Asked(Question question)  // NOLINT: a question is asked
      : kind_(&kind_of(question)), value_(std::move(question)) {}

  const QuestionKind& kind() const { return *kind_; }

  template <class Question>
  const Question* find() const {
    return std::any_cast<Question>(&value_);
  }
  template <class Question>
  Question* find() {
    return std::any_cast<Question>(&value_);
  }

 private:
  const QuestionKind* kind_;
  std::any value_;
};

}  // namespace orrery
