// Declares the parameters of a struct once; reading, checking, writing, JSON Schema, flags and docs
// follow.
//
//   struct Parallel { int tp = 1; ... };
//   void declare(Fields& f, Parallel& p) {
//     f.add("tp", p.tp, "tensor-parallel ranks").alias("tensor_parallel_size").range(1, 1024);
//   }
//   Parallel p;
//   Fields fields;  declare(fields, p);  fields.read(node);     // InputError with file:line:key
//   fields.json();  Fields::schema(fields);                     // resolved values; JSON Schema
//
// A Fields object borrows the struct that it was declared on and must not outlive it. The value
// that a field holds when it is declared is its default. Keys are compared with '-' as '_'. Unknown
// keys are errors that name the nearest key.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/dtype.h"
#include "orrery/base/node.h"
#include "orrery/base/units.h"

namespace orrery {

class Fields;

// One declared parameter. The setters return *this so that a declaration is one expression.
class Field {
 public:
  enum class Type { kBool, kInt, kNumber, kText, kQuantity, kList, kGroup };

  Field& range(double least, double most) { return least_ = least, most_ = most, *this; }
  Field& required() { return required_ = true, *this; }
  Field& alias(std::string name) { return aliases_.push_back(std::move(name)), *this; }
  // A switch of another tool's that means one value of this: `name: true` reads as `value`.
  Field& alias_of(std::string value, std::string name) {
    return switches_.push_back({std::move(name), std::move(value)}), *this;
  }
  // Another tool's name of a choice (`adamw` of adam).
  Field& spelled(std::string other, std::string choice) {
    return spellings_.push_back({std::move(other), std::move(choice)}), *this;
  }
  // The only texts allowed.
  Field& one_of(std::vector<std::string> names) { return choices_ = std::move(names), *this; }
  // Names the switch without which the field has no effect. `what` is the text that turns the
  // switch on ("arrivals gamma"). `on` tells, once the whole document is read, whether it is on.
  // Without `on` a fact outside of the document decides (Fields::undecided). Fields::read throws
  // InputError if the field is set while the switch is off. A value in a file that equals the
  // default does not count as set, because a resolved configuration states every value; a value
  // from a flag always does.
  Field& needs(std::string what, std::function<bool()> on = {});
  // Takes a text that may hold commas, such as a path or a sentence: commas do not separate values
  // of a sweep in it.
  Field& verbatim() { return verbatim_ = true, *this; }
  // A list of texts that commas separate, and whose flag may be given several times: each adds its
  // values.
  Field& repeats() { return repeats_ = true, *this; }
  // Declares a parameter whose lists and ranges have a special form. `values` splits such a text
  // into the texts of its values, each of which read() accepts. It throws InputError if the text
  // has not this form.
  using TakeApart = std::function<std::vector<std::string>(const Node&)>;
  Field& listed(TakeApart values) { return values_ = std::move(values), *this; }
  // The unit of a plain number, for docs and help ("tokens").
  Field& unit(std::string name) { return unit_ = std::move(name), *this; }

  const std::string& name() const { return name_; }
  const std::string& doc() const { return doc_; }
  const std::string& unit() const { return unit_; }
  const std::string& default_text() const { return default_; }  // empty: none
  const std::vector<std::string>& aliases() const { return aliases_; }
  struct Switch {
    std::string name, value;
  };
  const std::vector<Switch>& switches() const { return switches_; }
  const std::vector<std::string>& choices() const { return choices_; }
  const std::vector<Switch>& spellings() const { return spellings_; }
  Type type() const { return type_; }
  Dimension dimension() const { return dimension_; }
  bool is_required() const { return required_; }
  const std::string& need() const { return need_; }  // empty: it has an effect by itself
  bool is_verbatim() const { return verbatim_; }
  bool is_repeated() const { return repeats_; }
  const TakeApart& values() const { return values_; }  // empty: not listed()
  double least() const { return least_; }
  double most() const { return most_; }
  const Fields* group() const { return group_.get(); }  // the members of a kGroup

  // Reads `node` into the struct; InputError if it is not what was declared.
  void read(const Node& node) const;
  nlohmann::ordered_json json() const;

 private:
  friend class Fields;
  void check_range(const Node& node, double value) const;
  // The choice that `text` names, or `text` where any is allowed; InputError at `node` otherwise.
  std::string checked_choice(const Node& node, std::string_view text) const;

  // Whether `node`, which it was read from, sets it (needs()).
  bool is_set_by(const Node& node) const;

  std::string name_, doc_, unit_, default_, need_;
  std::vector<std::string> aliases_, choices_;
  std::vector<Switch> switches_;
  std::vector<Switch> spellings_;  // name: another tool's; value: the choice
  Type type_ = Type::kText;
  Dimension dimension_ = Dimension::kNone;
  bool required_ = false;
  bool verbatim_ = false;
  bool repeats_ = false;
  TakeApart values_;
  bool optional_ = false;  // null is a value
  double least_ = -std::numeric_limits<double>::infinity();
  double most_ = std::numeric_limits<double>::infinity();
  std::shared_ptr<Fields> group_;
  std::function<void(const Field&, const Node&)> read_;
  std::function<nlohmann::ordered_json()> json_;
  std::function<bool()> on_;  // of need_; empty: decided later
  std::string unset_;         // the value that it held when need_ was declared, as JSON
};

class Fields {
 public:
  Field& add(std::string name, bool& value, std::string doc);
  Field& add(std::string name, int& value, std::string doc);
  Field& add(std::string name, std::int64_t& value, std::string doc);
  Field& add(std::string name, double& value, std::string doc);
  Field& add(std::string name, std::string& value, std::string doc);
  Field& add(std::string name, Dtype& value, std::string doc);
  Field& add(std::string name, std::vector<std::string>& value, std::string doc);
  Field& add(std::string name, std::vector<double>& value, std::string doc);
  Field& add(std::string name, std::vector<std::int64_t>& value, std::string doc);

  // A field that was declared elsewhere.
  Field& add(Field field) { return fields_.emplace_back(std::move(field)); }

  // A quantity is written with its unit ("80 GiB"); a bare number is an error.
  template <int S, int B, int F, int J>
  Field& add(std::string name, Quantity<S, B, F, J>& value, std::string doc) {
    using Q = Quantity<S, B, F, J>;
    static_assert(kDimensionOf<Q> != Dimension::kNone);
    return add_quantity(
        std::move(name), kDimensionOf<Q>, [&value](double v) { value = Q(v); },
        [&value] { return value.value(); }, std::move(doc));
  }

  // An optional value: null in JSON where absent.
  template <class T>
  Field& add(std::string name, std::optional<T>& value, std::string doc);

  // An enum by its names, in the order of its values.
  template <class E>
  Field& add_enum(std::string name, E& value, std::vector<std::string> names, std::string doc) {
    return add_choice(
        std::move(name), [&value](std::size_t i) { value = static_cast<E>(i); },
        [&value] { return static_cast<std::size_t>(value); }, std::move(names), std::move(doc));
  }

  // A nested map; `declare_members` is called with its Fields at once.
  Field& group(std::string name, const std::function<void(Fields&)>& declare_members,
               std::string doc);

  // A field that reads itself (a list of structs, one of several shapes).
  Field& custom(std::string name, Field::Type type, std::function<void(const Node&)> read,
                std::function<nlohmann::ordered_json()> json, std::string doc);

  // Reads every key of `map` into its field. InputError: not a map, unknown key, missing required
  // key, a value that is not what was declared, one whose switch is off (Field::needs).
  void read(const Node& map) const;

  // As read, without refusing values whose switch is off.
  void assign(const Node& map) const { read_values(map); }

  // A value of a document that needs something.
  struct Undecided {
    Node node;
    std::string key;  // dotted, as the document has it
    std::string need;
    // InputError at the node: it has no effect.
    [[noreturn]] void refuse() const;
  };
  // After assign(map): the values in it whose switch is off.
  std::vector<Undecided> without_effect(const Node& map) const;
  // After read(map) or assign(map): the values in it that a fact outside of the document decides
  // about.
  std::vector<Undecided> undecided(const Node& map) const;

  const std::deque<Field>& all() const { return fields_; }
  // By name or alias, '-' as '_'; dotted names reach into groups. nullptr if there is none.
  const Field* find(std::string_view name) const;

  // The values now held, in order of declaration.
  nlohmann::ordered_json json() const;
  // JSON Schema (draft 2020-12) of the map.
  nlohmann::ordered_json schema() const;

 private:
  Field& append(std::string name, Field::Type type, std::string doc);
  void read_values(const Node& map) const;
  // Each value of `map` that is set and needs something, in the order of the text.
  using VisitNeed = std::function<void(const Field&, const Node&, const std::string& key)>;
  void each_need(const Node& map, const std::string& prefix, const VisitNeed& visit) const;
  Field& add_quantity(std::string name, Dimension dimension, std::function<void(double)> set,
                      std::function<double()> get, std::string doc);
  Field& add_choice(std::string name, std::function<void(std::size_t)> set,
                    std::function<std::size_t()> get, std::vector<std::string> names,
                    std::string doc);

  std::deque<Field> fields_;  // addresses stay valid while fields are added
};

}  // namespace orrery

#include "orrery/base/fields_optional.h"
