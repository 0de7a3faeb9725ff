// Python values as a document.
#pragma once

#include <pybind11/pybind11.h>

#include <string>

#include "orrery/base/node.h"

namespace orrery::python {

// A dict, list, number, text, path or None as a document, which messages call `name`. Any other
// iterable, such as a range or an array of numpy, is a list. Texts are read as flags are: "1-64*2"
// is a range. InputError: a value of another type, or a key that is no text.
Node node_of(pybind11::handle value, const std::string& name);

// A document as dicts, lists, whole numbers, bools and texts. node_of() of it is the same document.
pybind11::object value_of(const Node& node);

}  // namespace orrery::python
