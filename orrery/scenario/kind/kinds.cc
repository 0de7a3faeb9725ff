#include "orrery/scenario/kind/kinds.h"

#include <algorithm>

namespace orrery {
namespace {

// The keys of the reader itself.
void declare_reader_keys(Fields& f) {
  const auto nothing = [] { return nlohmann::ordered_json(nullptr); };
  f.custom(
      "format", Field::Type::kText, [](const Node&) {}, nothing,
      "version of this form that the file is written for, such as 1.0; a newer one than the "
      "program's is refused");
  f.custom(
      "include", Field::Type::kText,
      [](const Node& n) { n.fail("only a file can include another; flags cannot"); }, nothing,
      "path of another scenario file, relative to this one; its keys hold where this file has "
      "none");
  f.custom(
      "sweep", Field::Type::kGroup, [](const Node& n) { n.fail("a sweep within a sweep"); },
      nothing, "swept keys in the shape of a scenario, each with the list of its values");
}

}  // namespace

Kinds::Kinds(std::vector<const QuestionKind*> kinds) : kinds_(std::move(kinds)) {
  for (const QuestionKind* kind : kinds_)
    for (const Verb& verb : kind->verbs) verbs_.push_back({kind, &verb});
  std::stable_sort(verbs_.begin(), verbs_.end(), [](const KindVerb& a, const KindVerb& b) {
    return a.verb->place < b.verb->place;
  });
  declare_reader_keys(declared_.fields);
  orrery::declare(declared_.fields, declared_.values.scenario, declared_.values.batch);
  for (const QuestionKind* kind : kinds_) {
    const std::size_t before = declared_.fields.all().size();
    if (kind->keys.declare) kind->keys.declare(declared_.fields, declared_.values);
    for (std::size_t i = before; i < declared_.fields.all().size(); ++i)
      owners_.emplace_back(declared_.fields.all()[i].name(), kind);
  }
}

void Kinds::declare(ScenarioForm& form) const {
  declare_reader_keys(form.fields);
  orrery::declare(form.fields, form.values.scenario, form.values.batch);
  for (const QuestionKind* kind : kinds_)
    if (kind->keys.declare) kind->keys.declare(form.fields, form.values);
}

const QuestionKind& Kinds::asked_by(const Node& document) const {
  const auto asked = std::find_if(kinds_.rbegin(), kinds_.rend(), [&](const QuestionKind* kind) {
    return !kind->group.empty() && document.find(kind->group) != nullptr;
  });
  return asked == kinds_.rend() ? *kinds_.front() : **asked;
}

const QuestionKind* Kinds::owner_of(std::string_view key) const {
  const auto owner = std::find_if(owners_.begin(), owners_.end(),
                                  [&](const auto& one) { return one.first == key; });
  return owner == owners_.end() ? nullptr : owner->second;
}

const Kinds::KindVerb* Kinds::find_verb(std::string_view name) const {
  const auto found = std::find_if(verbs_.begin(), verbs_.end(),
                                  [&](const KindVerb& one) { return one.verb->name == name; });
  return found == verbs_.end() ? nullptr : &*found;
}

const Figure* Kinds::figure_of(std::string_view metric) const {
  if (const Figure* common = find_figure(metric)) return common;
  for (const QuestionKind* kind : kinds_) {
    for (const Figure& own : kind->figures)
      if (own.name == metric) return &own;
  }
  return nullptr;
}

std::vector<Figure> Kinds::figures() const {
  std::vector<Figure> all(kFigures.begin(), kFigures.end());
  for (const QuestionKind* kind : kinds_)
    all.insert(all.end(), kind->figures.begin(), kind->figures.end());
  return all;
}

Kinds::Lent::Lent(const Kinds& kinds) : kinds_(kinds) {
  {
    const std::lock_guard lock(kinds_.mutex_);
    if (!kinds_.kept_.empty()) {
      form_ = std::move(kinds_.kept_.back());
      kinds_.kept_.pop_back();
    }
  }
  if (form_ == nullptr) {
    form_ = std::make_unique<ScenarioForm>();
    kinds_.declare(*form_);
    return;
  }
  form_->values.scenario = Scenario();
  form_->values.batch = SteadyQuestion();
  for (const QuestionKind* kind : kinds_.kinds_)
    if (kind->keys.reset) kind->keys.reset(form_->values);
}

Kinds::Lent::~Lent() {
  const std::lock_guard lock(kinds_.mutex_);
  kinds_.kept_.push_back(std::move(form_));
}

}  // namespace orrery
