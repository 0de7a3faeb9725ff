#include "bindings/python/python_node.h"

#include <fmt/format.h>

#include <cstdlib>

#include "orrery/base/error.h"
#include "orrery/base/node_builder.h"

namespace py = pybind11;

namespace orrery::python {
namespace {

std::string type_of(py::handle value) { return py::str(py::type::of(value).attr("__name__")); }

// The text of a number as a document writes it; empty: it is none.
std::string number_text(py::handle value) {
  if (PyBool_Check(value.ptr())) return value.ptr() == Py_True ? "true" : "false";
  if (PyLong_Check(value.ptr())) return py::str(value);
  if (PyFloat_Check(value.ptr())) return fmt::format("{}", value.cast<double>());
  // Numbers of other libraries, such as numpy's.
  if (PyIndex_Check(value.ptr())) {
    PyObject* whole = PyNumber_Index(value.ptr());
    if (whole == nullptr) throw py::error_already_set();
    return py::str(py::reinterpret_steal<py::object>(whole));
  }
  if (py::hasattr(value, "__float__") && !py::hasattr(value, "__len__"))
    return fmt::format("{}", py::float_(py::reinterpret_borrow<py::object>(value)).cast<double>());
  return "";
}

void add(NodeBuilder& out, py::handle value, const std::string& name) {
  if (value.is_none()) return out.null(0);
  if (PyUnicode_Check(value.ptr())) return out.scalar(value.cast<std::string>(), false, 0);
  if (PyDict_Check(value.ptr())) {
    out.open(Node::Kind::kMap, 0);
    for (const auto& [key, member] : py::reinterpret_borrow<py::dict>(value)) {
      if (!PyUnicode_Check(key.ptr()))
        throw InputError(fmt::format("{}: expected names as keys, got '{}'", name, type_of(key)));
      out.key(key.cast<std::string>(), 0);
      add(out, member, name);
    }
    return out.close();
  }
  if (const std::string text = number_text(value); !text.empty()) return out.scalar(text, false, 0);
  if (py::hasattr(value, "__fspath__"))
    return out.scalar(py::str(value.attr("__fspath__")()), false, 0);
  if (py::hasattr(value, "__iter__") && !PyBytes_Check(value.ptr())) {
    out.open(Node::Kind::kList, 0);
    for (const py::handle item : py::reinterpret_borrow<py::object>(value)) add(out, item, name);
    return out.close();
  }
  throw InputError(
      fmt::format("{}: expected a number, text, list or dict, got '{}'", name, type_of(value)));
}

// Whether str(int(text)) is the text.
bool is_whole(const std::string& text) {
  constexpr std::size_t kMostDigits = 18;
  const std::size_t sign = text.starts_with('-') ? 1 : 0;
  if (text.size() == sign || text.size() > kMostDigits) return false;
  if (text.find_first_not_of("0123456789", sign) != text.npos) return false;
  return text == "0" || text[sign] != '0';
}

// Whether the text is that of a float in decimals, as number_text() writes it.
bool is_decimal(const std::string& text) {
  if (text.find('.') == text.npos || text.find_first_not_of("0123456789.-") != text.npos)
    return false;
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  return *end == '\0' && fmt::format("{}", value) == text;
}

}  // namespace

Node node_of(py::handle value, const std::string& name) {
  NodeBuilder builder(name);
  add(builder, value, name.empty() ? "the question" : name);
  return builder.take();
}

py::object value_of(const Node& node) {
  if (node.is_map()) {
    py::dict out;
    for (std::size_t i = 0; i < node.keys().size(); ++i)
      out[py::str(node.keys()[i])] = value_of(node.items()[i]);
    return out;
  }
  if (node.is_list()) {
    py::list out;
    for (const Node& item : node.items()) out.append(value_of(item));
    return out;
  }
  if (node.is_null()) return py::none();
  const std::string& text = node.text();
  if (!node.quoted() && (text == "true" || text == "false")) return py::bool_(text == "true");
  if (is_whole(text)) return py::int_(std::stoll(text));
  if (!node.quoted() && is_decimal(text)) return py::float_(std::strtod(text.c_str(), nullptr));
  return py::str(text);
}

}  // namespace orrery::python
