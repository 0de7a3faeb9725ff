#include "orrery/base/fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "orrery/base/node_builder.h"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

// Whether two names are the same key: '-' counts as '_'.
bool same_key(std::string_view a, std::string_view b) {
  const auto underscored = [](char c) { return c == '-' ? '_' : c; };
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [&](char x, char y) {
           return underscored(x) == underscored(y);
         });
}

// "[a, b]", or a single value standing for a list of one.
template <class T, class Read>
std::vector<T> read_list(const Node& node, Read read_one) {
  std::vector<T> out;
  if (!node.is_list()) return {read_one(node)};
  for (const Node& item : node.items()) out.push_back(read_one(item));
  return out;
}

// The same where a flag separates the values by commas: "0.8,0.7".
template <class T, class Read>
std::vector<T> read_separated(const Node& node, Read read_one) {
  if (node.is_list() || node.text().find(',') == std::string::npos)
    return read_list<T>(node, read_one);
  std::vector<T> out;
  const std::string& text = node.text();
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t next = std::min(text.find(',', at), text.size());
    out.push_back(read_one(scalar_node(text.substr(at, next - at), node.where())));
    at = next + 1;
  }
  return out;
}

}  // namespace

void Field::check_range(const Node& node, double value) const {
  if (value >= least_ && value <= most_) return;
  const bool quantity = dimension_ != Dimension::kNone;
  const auto limit = [&](double v) {
    return quantity ? exact_text(dimension_, v) : fmt::format("{}", v);
  };
  const std::string unit = quantity || unit_.empty() ? "" : " " + unit_;
  if (std::isinf(most_))
    node.fail(fmt::format("{} is too small: at least {}{}", node.text(), limit(least_), unit));
  if (std::isinf(least_))
    node.fail(fmt::format("{} is too large: at most {}{}", node.text(), limit(most_), unit));
  node.fail(fmt::format("{} is out of range: {} to {}{}", node.text(), limit(least_), limit(most_),
                        unit));
}

std::string Field::checked_choice(const Node& node, std::string_view text) const {
  if (choices_.empty()) return std::string(text);
  for (const std::string& c : choices_) {
    if (canonical_name(c) == canonical_name(text)) return c;
  }
  for (const Switch& s : spellings_) {
    if (canonical_name(s.name) == canonical_name(text)) return s.value;
  }
  std::vector<std::string> named = choices_;
  std::erase(named, "");  // stands for a default
  node.fail(fmt::format("expected one of {}, got '{}'{}", fmt::join(named, ", "), shortened(text),
                        did_you_mean(text, named)));
}

Field& Field::needs(std::string what, std::function<bool()> on) {
  need_ = std::move(what);
  on_ = std::move(on);
  unset_ = json_().dump();
  return *this;
}

bool Field::is_set_by(const Node& node) const {
  const bool of_a_file = node.line() > 0;
  return !of_a_file || json_().dump() != unset_;
}

void Field::read(const Node& node) const { read_(*this, node); }

Json Field::json() const { return json_(); }

Field& Fields::append(std::string name, Field::Type type, std::string doc) {
  Field& f = fields_.emplace_back();
  f.name_ = std::move(name);
  f.type_ = type;
  f.doc_ = std::move(doc);
  return f;
}

Field& Fields::add(std::string name, bool& value, std::string doc) {
  Field& f = append(std::move(name), Field::Type::kBool, std::move(doc));
  f.default_ = value ? "true" : "false";
  f.read_ = [&value](const Field&, const Node& n) { value = n.as_bool(); };
  f.json_ = [&value] { return Json(value); };
  return f;
}

Field& Fields::add(std::string name, int& value, std::string doc) {
  Field& f = append(std::move(name), Field::Type::kInt, std::move(doc));
  f.least_ = std::numeric_limits<int>::min();
  f.most_ = std::numeric_limits<int>::max();
  f.default_ = std::to_string(value);
  f.read_ = [&value](const Field& self, const Node& n) {
    const std::int64_t v = n.as_int();
    self.check_range(n, static_cast<double>(v));
    if (!std::in_range<int>(v)) n.fail(fmt::format("{} is out of range", v));  // of a wider range()
    value = static_cast<int>(v);
  };
  f.json_ = [&value] { return Json(value); };
  return f;
}

Field& Fields::add(std::string name, std::int64_t& value, std::string doc) {
  Field& f = append(std::move(name), Field::Type::kInt, std::move(doc));
  f.default_ = std::to_string(value);
  f.read_ = [&value](const Field& self, const Node& n) {
    const std::int64_t v = n.as_int();
    self.check_range(n, static_cast<double>(v));
    value = v;
  };
  f.json_ = [&value] { return Json(value); };
  return f;
}

Field& Fields::add(std::string name, double& value, std::string doc) {
  Field& f = append(std::move(name), Field::Type::kNumber, std::move(doc));
  f.default_ = fmt::format("{}", value);
  f.read_ = [&value](const Field& self, const Node& n) {
    const double v = n.as_double();
    self.check_range(n, v);
    value = v;
  };
  f.json_ = [&value] { return Json(value); };
  return f;
}

Field& Fields::add(std::string name, std::string& value, std::string doc) {
  Field& f = append(std::move(name), Field::Type::kText, std::move(doc));
  f.default_ = value;
  f.read_ = [&value](const Field& self, const Node& n) {
    value = self.checked_choice(n, n.as_string());
  };
  f.json_ = [&value] { return Json(value); };
  return f;
}

Field& Fields::add(std::string name, Dtype& value, std::string doc) {
  Field& f = append(std::move(name), Field::Type::kText, std::move(doc));
  f.default_ = std::string(to_text(value));
  f.read_ = [&value](const Field& self, const Node& n) {
    const auto d = parse_dtype(n.as_string());
    if (!d) {
      n.fail(fmt::format("expected a number format ({}), got '{}'{}",
                         fmt::join(dtype_names(), ", "), shortened(n.text()),
                         did_you_mean(n.text(), dtype_names())));
    }
    self.checked_choice(n, to_text(*d));
    value = *d;
  };
  f.json_ = [&value] { return Json(std::string(to_text(value))); };
  return f;
}

Field& Fields::add(std::string name, std::vector<std::string>& value, std::string doc) {
  Field& f = append(std::move(name), Field::Type::kList, std::move(doc));
  f.read_ = [&value](const Field& self, const Node& n) {
    const auto read = [&self](const Node& i) { return self.checked_choice(i, i.as_string()); };
    value =
        self.is_repeated() ? read_separated<std::string>(n, read) : read_list<std::string>(n, read);
  };
  f.json_ = [&value] { return Json(value); };
  return f;
}

Field& Fields::add(std::string name, std::vector<double>& value, std::string doc) {
  Field& f = append(std::move(name), Field::Type::kList, std::move(doc));
  f.read_ = [&value](const Field& self, const Node& n) {
    value = read_separated<double>(n, [&self](const Node& i) {
      const double v = i.as_double();
      self.check_range(i, v);
      return v;
    });
  };
  f.json_ = [&value] { return Json(value); };
  return f;
}

Field& Fields::add(std::string name, std::vector<std::int64_t>& value, std::string doc) {
  Field& f = append(std::move(name), Field::Type::kList, std::move(doc));
  f.read_ = [&value](const Field& self, const Node& n) {
    value = read_separated<std::int64_t>(n, [&self](const Node& i) {
      const std::int64_t v = i.as_int();
      self.check_range(i, static_cast<double>(v));
      return v;
    });
  };
  f.json_ = [&value] { return Json(value); };
  return f;
}

Field& Fields::add_quantity(std::string name, Dimension dimension, std::function<void(double)> set,
                            std::function<double()> get, std::string doc) {
  Field& f = append(std::move(name), Field::Type::kQuantity, std::move(doc));
  f.dimension_ = dimension;
  f.least_ = 0;
  f.unit_ = std::string(base_unit(dimension));
  f.default_ = exact_text(dimension, get());
  f.read_ = [set = std::move(set), dimension](const Field& self, const Node& n) {
    const auto v = parse_quantity(dimension, n.as_string());
    if (!v) {
      n.fail(fmt::format("expected a number with its unit such as '{}', got '{}'",
                         unit_example(dimension), shortened(n.text())));
    }
    self.check_range(n, *v);
    set(*v);
  };
  f.json_ = [get = std::move(get), dimension] { return Json(exact_text(dimension, get())); };
  return f;
}

Field& Fields::add_choice(std::string name, std::function<void(std::size_t)> set,
                          std::function<std::size_t()> get, std::vector<std::string> names,
                          std::string doc) {
  Field& f = append(std::move(name), Field::Type::kText, std::move(doc));
  f.default_ = names[get()];
  f.choices_ = std::move(names);
  f.read_ = [set = std::move(set)](const Field& self, const Node& n) {
    const std::string choice = self.checked_choice(n, n.as_string());
    const auto at = std::find(self.choices_.begin(), self.choices_.end(), choice);
    set(static_cast<std::size_t>(at - self.choices_.begin()));
  };
  f.json_ = [get = std::move(get), choices = f.choices_] { return Json(choices[get()]); };
  return f;
}

Field& Fields::group(std::string name, const std::function<void(Fields&)>& declare_members,
                     std::string doc) {
  Field& f = append(std::move(name), Field::Type::kGroup, std::move(doc));
  f.group_ = std::make_shared<Fields>();
  declare_members(*f.group_);
  f.read_ = [members = f.group_](const Field&, const Node& n) { members->read_values(n); };
  f.json_ = [members = f.group_] { return members->json(); };
  return f;
}

Field& Fields::custom(std::string name, Field::Type type, std::function<void(const Node&)> read,
                      std::function<Json()> json, std::string doc) {
  Field& f = append(std::move(name), type, std::move(doc));
  f.read_ = [read = std::move(read)](const Field&, const Node& n) { read(n); };
  f.json_ = std::move(json);
  return f;
}

const Field* Fields::find(std::string_view name) const {
  const std::size_t dot = name.find('.');
  const std::string_view head = name.substr(0, dot);
  for (const Field& f : fields_) {
    bool match = same_key(f.name_, head);
    for (const std::string& a : f.aliases_) match |= same_key(a, head);
    for (const Field::Switch& s : f.switches_) match |= same_key(s.name, head);
    if (!match) continue;
    if (dot == std::string_view::npos) return &f;
    return f.group_ ? f.group_->find(name.substr(dot + 1)) : nullptr;
  }
  return nullptr;
}

void Fields::read(const Node& map) const {
  read_values(map);
  each_need(map, "", [](const Field& f, const Node& value, const std::string& key) {
    if (f.on_ && !f.on_()) Undecided{value, key, f.need_}.refuse();
  });
}

void Fields::Undecided::refuse() const {
  node.fail(fmt::format("has no effect here: it needs {}", need));
}

std::vector<Fields::Undecided> Fields::without_effect(const Node& map) const {
  std::vector<Undecided> out;
  each_need(map, "", [&out](const Field& f, const Node& value, const std::string& key) {
    if (f.on_ && !f.on_()) out.push_back({value, key, f.need_});
  });
  return out;
}

std::vector<Fields::Undecided> Fields::undecided(const Node& map) const {
  std::vector<Undecided> out;
  each_need(map, "", [&out](const Field& f, const Node& value, const std::string& key) {
    if (!f.on_) out.push_back({value, key, f.need_});
  });
  return out;
}

void Fields::each_need(const Node& map, const std::string& prefix, const VisitNeed& visit) const {
  for (std::size_t i = 0; i < map.keys().size(); ++i) {
    const Field* f = find(map.keys()[i]);
    const Node& value = map.items()[i];
    if (f == nullptr) continue;
    const std::string key = prefix + map.keys()[i];
    if (f->group_) f->group_->each_need(value, key + ".", visit);
    if (!f->need_.empty() && f->is_set_by(value)) visit(*f, value, key);
  }
}

void Fields::read_values(const Node& map) const {
  if (!map.is_map() && !map.is_null()) map.fail("expected a map of keys");  // nothing: an empty map
  std::vector<const Field*> seen;
  for (std::size_t i = 0; i < map.keys().size(); ++i) {
    const std::string& key = map.keys()[i];
    const Node& value = map.items()[i];
    const Field* f = key.find('.') == std::string::npos ? find(key) : nullptr;
    if (!f) {
      std::vector<std::string> known;
      for (const Field& k : fields_) {
        known.push_back(k.name_);
        known.insert(known.end(), k.aliases_.begin(), k.aliases_.end());
      }
      std::string hint = did_you_mean(key, known);
      if (hint.empty() && !fields_.empty()) {
        std::vector<std::string> names;
        for (const Field& k : fields_) names.push_back(k.name_);
        hint = fmt::format(" (known: {})", fmt::join(names, ", "));
      }
      value.fail("unknown key" + hint);
    }
    for (const Field* s : seen) {
      if (s == f) value.fail(fmt::format("'{}' was given already under another name", f->name_));
    }
    seen.push_back(f);
    const auto is_key = [&key](const Field::Switch& s) { return same_key(s.name, key); };
    const auto by_switch = std::find_if(f->switches_.begin(), f->switches_.end(), is_key);
    if (by_switch == f->switches_.end()) {
      f->read(value);
    } else if (value.as_bool()) {
      f->read(scalar_node(by_switch->value, value.where()));
    }
  }
  for (const Field& f : fields_) {
    if (!f.required_) continue;
    bool given = false;
    for (const Field* s : seen) given |= s == &f;
    if (!given) map.fail(fmt::format("'{}' is missing ({})", f.name_, f.doc_));
  }
}

Json Fields::json() const {
  // Names are unique, so that no member has to be searched for before it is added.
  Json::object_t members;
  members.reserve(fields_.size());
  for (const Field& f : fields_) members.emplace_back(f.name_, f.json());
  return members;
}

Json Fields::schema() const {
  Json properties = Json::object(), required = Json::array();
  for (const Field& f : fields_) {
    Json p, types = Json::array();
    if (f.group_) p = f.group_->schema();
    switch (f.type_) {
      case Field::Type::kBool:
        types.push_back("boolean");
        break;
      case Field::Type::kInt:
        types.push_back("integer");
        break;
      case Field::Type::kNumber:
        types.push_back("number");
        break;
      case Field::Type::kText:
        types.push_back("string");
        break;
      case Field::Type::kList:  // or a single value
        for (const char* t : {"array", "string", "number"}) types.push_back(t);
        break;
      case Field::Type::kGroup:
        types.push_back("object");
        break;
      case Field::Type::kQuantity:
        types.push_back("string");
        p["pattern"] = "^[-+0-9.eE]+ *[A-Za-z/]+$";
        p["examples"] = Json::array({std::string(unit_example(f.dimension_))});
        break;
    }
    if (f.optional_) types.push_back("null");
    p["type"] = types.size() == 1 ? types[0] : types;
    p["description"] = f.doc_ + (f.unit_.empty() ? "" : " [" + f.unit_ + "]") +
                       (f.need_.empty() ? "" : "; needs " + f.need_);
    if (!f.choices_.empty() && f.type_ == Field::Type::kText) {
      p["enum"] = f.choices_;
      for (const Field::Switch& s : f.spellings_) p["enum"].push_back(s.name);
      if (f.optional_) p["enum"].push_back(nullptr);
    }
    if (f.type_ == Field::Type::kInt || f.type_ == Field::Type::kNumber) {
      if (std::isfinite(f.least_)) p["minimum"] = f.least_;
      if (std::isfinite(f.most_)) p["maximum"] = f.most_;
    }
    if (!f.default_.empty() && !f.required_ && f.type_ != Field::Type::kGroup) {
      p["default"] = f.json();
    }
    properties[f.name_] = std::move(p);
    if (f.required_) required.push_back(f.name_);
  }
  Json out = {{"type", "object"}, {"properties", properties}, {"additionalProperties", false}};
  if (!required.empty()) out["required"] = required;
  return out;
}

}  // namespace orrery
