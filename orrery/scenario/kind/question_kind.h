// A kind of question: everything that the program knows of it, in one entry.
//
// A kind is a folder with its question, its keys, its answer and a function that returns this
// entry, and one line of orrery/kinds/kinds.def. The reader of documents, the runner and all faces
// go over the entries; none of them knows a kind by its name. docs/adding-a-question.md adds one
// step by step.
//
//   const QuestionKind& kernel_kind() {
//     static const QuestionKind kind = {.name = "kernel", .group = "kernel", ...};
//     return kind;
//   }
//
// Members without a REQUIRES may be null or empty, which means the usual thing: no further keys, no
// further checks, no remedy.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/node.h"
#include "orrery/scenario/answer/figures.h"
#include "orrery/scenario/kind/key_values.h"
#include "orrery/scenario/kind/kind_answer.h"
#include "orrery/scenario/kind/verb.h"
#include "orrery/scenario/question/asked.h"
#include "orrery/scenario/question/scenario.h"

namespace orrery {

// The only keys at the top of a document, in the order in which they are written, and the name of
// such a document in messages: "a replay".
struct TopKeys {
  std::vector<std::string_view> keys;
  std::string_view called;
};

struct QuestionKind {
  std::string_view name = {};    // as kinds.def has it
  std::string_view plural = {};  // "replays of a trace", in messages

  // ---- its documents

  // The key at the top of a document that asks this kind; empty: no kind has such a key in it. A
  // document with the keys of several kinds asks the one that is registered last, and only that one
  // may take the groups of the others.
  std::string_view group = {};
  KeySet keys = {};  // its own groups; the one above is among them
  // Kinds whose groups its documents have, too.
  std::vector<const QuestionKind*> takes = {};
  // The keys at the top of its documents. Null: those of the common part and of its own groups, in
  // the order of their declaration.
  TopKeys (*top_keys)(const Scenario& scenario) = nullptr;
  // Why a group of its own is refused in documents that do not ask it: "{} needs a load".
  std::string_view lone_group = {};

  // The question of a document, of the values that were read. REQUIRED.
  Asked (*ask)(const Node& document, const KeyValues& values) = nullptr;
  // The values of a question, for writing. REQUIRED.
  void (*put)(const Scenario& scenario, KeyValues& values) = nullptr;
  // Refuses a document that lacks something, or says what has no effect: InputError.
  void (*check)(const Node& document, const Scenario& scenario) = nullptr;
  // Takes out of a written document what does not belong to the question.
  void (*tidy)(const Scenario& scenario, nlohmann::ordered_json& document) = nullptr;
  // The paths of sizes of which a list is no sweep with these values.
  std::vector<std::string_view> (*unswept)(const KeyValues& values) = nullptr;

  // ---- its answers

  Effort (*effort)(const Scenario& scenario) = nullptr;
  // Refuses values of all points that have no effect, where the catalog decides about it
  // (Scenario::undecided). Null: those that need a model with experts.
  void (*check_undecided)(Facts& facts, std::span<const Scenario> points) = nullptr;
  // The configuration after all defaults; null: the document.
  nlohmann::ordered_json (*resolved)(Facts& facts, const Scenario& scenario) = nullptr;
  // Fills the answer at a point. After an exception the first point has the parts that were known.
  // REQUIRED. Infeasible: the point breaks a rule.
  void (*answer)(const Answering& with, const Scenario& scenario, PointAnswers& out) = nullptr;
  // Whether an infeasible point of a sweep is an answer; otherwise it ends the whole answer.
  bool answers_infeasible = true;
  // Adds what follows from points that differ in sizes only.
  void (*compare)(std::span<Point> points, const RunOptions& options) = nullptr;

  // ---- its check without an answer

  bool checkable = true;  // whether memory and layout are looked at
  // A question with the same memory and without the parts that take long.
  Scenario (*untimed)(const Scenario& scenario, Preview& preview) = nullptr;
  // Changes that may let it fit, in the order in which they are tried.
  std::vector<Remedy> (*remedies)(const Scenario& scenario) = nullptr;

  // ---- its faces

  std::vector<Verb> verbs = {};
  // Figures that no other kind has; figures.h has the others.
  std::span<const Figure> figures = {};
};

// The parts of an entry that follow where its keys are one group of its name, which
// `declare(Fields&, Question&)` declares on the question itself. `doc`: of the group.
template <class Question>
QuestionKind kind_of_one_group(std::string_view name, std::string_view doc) {
  QuestionKind kind;
  kind.name = kind.group = name;
  kind.keys.reset = [](KeyValues& values) { values.of<Question>() = Question(); };
  kind.keys.declare = [name, doc](Fields& fields, KeyValues& values) {
    Question& question = values.of<Question>();
    fields.group(
        std::string(name), [&question](Fields& group) { declare(group, question); },
        std::string(doc));
  };
  kind.ask = [](const Node&, const KeyValues& values) -> Asked { return values.of<Question>(); };
  kind.put = [](const Scenario& s, KeyValues& values) { values.of<Question>() = s.as<Question>(); };
  return kind;
}

}  // namespace orrery
