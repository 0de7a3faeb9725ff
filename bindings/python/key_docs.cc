#include "bindings/python/key_docs.h"

#include <fmt/format.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <vector>

#include "apps/face/verb_keys.h"

namespace py = pybind11;

namespace orrery::python {
namespace {

std::string keyword_of(const VerbKey& key) {
  std::string name = key.names.front();
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

const char* type_of(const Field& f) {
  switch (f.type()) {
    case Field::Type::kBool:
      return "bool";
    case Field::Type::kInt:
      return "int";
    case Field::Type::kNumber:
      return "float";
    default:
      return "str";
  }
}

}  // namespace

py::list keys_of(const std::string& verb) {
  py::list out;
  for (const VerbKey& key : face::VerbKeys::of(verb).all()) {
    std::vector<std::string> choices = key.field->choices();
    std::erase(choices, "");
    py::dict one;
    one["name"] = keyword_of(key);
    one["path"] = key.path;
    one["type"] = key.switched.empty() ? type_of(*key.field) : "bool";
    one["list"] = key.field->type() == Field::Type::kList;
    one["help"] = key.help;
    one["heading"] = key.heading;
    one["choices"] = choices;
    one["switch"] = !key.switched.empty();
    out.append(one);
  }
  return out;
}

std::string doc_of(const std::string& verb) {
  const auto& keys = face::VerbKeys::of(verb).all();
  std::vector<std::string> headings;
  for (const VerbKey& key : keys) {
    if (std::find(headings.begin(), headings.end(), key.heading) == headings.end())
      headings.push_back(key.heading);
  }
  std::string out;
  for (const std::string& heading : headings) {
    out += fmt::format("\n{}\n", heading.empty() ? "the question" : heading);
    for (const VerbKey& key : keys)
      if (key.heading == heading) out += fmt::format("    {}: {}\n", keyword_of(key), key.help);
  }
  return out;
}

}  // namespace orrery::python
