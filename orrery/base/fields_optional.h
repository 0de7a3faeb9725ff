// The template part of fields.h: fields of std::optional type.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>

#include "orrery/base/fields.h"

namespace orrery {

template <class T>
Field& Fields::add(std::string name, std::optional<T>& value, std::string doc) {
  // A field of the plain type does the work on a buffer; the optional is set when it has read.
  auto buffer = std::make_shared<T>(value.value_or(T{}));
  auto plain = std::make_shared<Fields>();
  const Field& inner = plain->add(name, *buffer, doc);
  Field& f = append(std::move(name), inner.type_, std::move(doc));
  f.dimension_ = inner.dimension_;
  f.choices_ = inner.choices_;
  f.unit_ = inner.unit_;
  f.least_ = inner.least_;
  f.most_ = inner.most_;
  f.optional_ = true;
  if (value) f.default_ = inner.default_;
  f.read_ = [&value, buffer, plain, &inner](const Field& self, const Node& node) {
    if (node.is_null()) return value.reset();
    Field checked = inner;
    checked.least_ = self.least_;
    checked.most_ = self.most_;
    checked.choices_ = self.choices_;
    checked.read(node);
    value = *buffer;
  };
  f.json_ = [&value, buffer, plain, &inner]() -> nlohmann::ordered_json {
    if (!value) return nullptr;
    *buffer = *value;
    return inner.json();
  };
  return f;
}

}  // namespace orrery
