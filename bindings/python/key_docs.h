// The keys of a verb for Python: a docstring, and facts for signatures and stubs.
#pragma once

#include <pybind11/pybind11.h>

#include <string>

namespace orrery::python {

// The keys of a verb as keyword arguments: dicts with name, type ("int", "float", "bool", "str"),
// help, heading, choices, and `switch` where naming it means one value of another key.
pybind11::list keys_of(const std::string& verb);

// The docstring of the verb's keys, under their headings.
std::string doc_of(const std::string& verb);

}  // namespace orrery::python
