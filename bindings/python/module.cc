// The compiled part of the Python module `orrery`: questions in, answers out. orrery/__init__.py is
// what users import.
#include <fmt/format.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "apps/cli/output/output.h"
#include "apps/cli/program.h"
#include "apps/cli/version.h"
#include "apps/face/answers.h"
#include "apps/face/comparison.h"
#include "apps/face/pictures.h"
#include "apps/face/question.h"
#include "apps/face/runner_pool.h"
#include "apps/server/limits.h"
#include "bindings/python/interruptible.h"
#include "bindings/python/key_docs.h"
#include "bindings/python/python_node.h"
#include "orrery/base/error.h"
#include "orrery/hardware/catalog.h"
#include "orrery/kernel/fit/calibrate.h"
#include "orrery/kinds/all_kinds.h"
#include "orrery/scenario/answer/search_watcher.h"
#include "orrery/scenario/document/scenario_file.h"

namespace py = pybind11;

namespace orrery::python {
namespace {

face::RunnerPool& pool() {
  static auto* const kept = new face::RunnerPool;  // lives as long as the interpreter
  return *kept;
}

// An answer as it was computed. Its texts are made when they are asked for.
struct Answered {
  Answer answer;
  bool breakdown = true;

  std::string text(const std::string& format, bool with_breakdown) const {
    const std::span<const Answer> all(&answer, 1);
    if (format == "json") return face::json_text(all, with_breakdown);
    if (format == "csv") return cli::csv(all);
    if (format == "md") return cli::markdown(answer, with_breakdown);
    if (format == "html") return cli::html(all);
    constexpr std::size_t kColumns = 100;
    return cli::table(answer, with_breakdown, false, kColumns);
  }

  // The picture with this name as a file of its own; the first one for an empty name.
  std::string svg(const std::string& name) const {
    return face::picture_of(answer, Catalog(), name, "svg");
  }
  // The first picture as an element of a page; empty: the answer has none.
  std::string element() const {
    const std::vector<face::Picture> all = face::pictures_of(answer, Catalog());
    return all.empty() ? "" : all.front().svg;
  }
};

struct Options {
  bool breakdown = true, intervals = true;
  std::string catalog;

  RunOptions run() const {
    RunOptions o;
    o.breakdown = breakdown;
    o.intervals = intervals;
    return o;
  }
};

Options read_options(const py::dict& keys) {
  Options o;
  const auto take = [&keys](const char* name, auto& value) {
    if (!keys.contains(name)) return;
    const py::object given = keys.attr("pop")(name);
    if (!given.is_none()) value = given.cast<std::decay_t<decltype(value)>>();
  };
  take("breakdown", o.breakdown);
  take("intervals", o.intervals);
  take("catalog", o.catalog);
  return o;
}

face::RunnerPool::Lease lease(const Options& o, const Node& document) {
  return o.catalog.empty() ? pool().take(document) : face::RunnerPool::with_catalog(o.catalog);
}

Bundle bundle_of(const Options& o) { return o.catalog.empty() ? Bundle() : Bundle(o.catalog); }

// Ends a search for plans once nobody waits for it.
class Waiter : public SearchWatcher {
 public:
  explicit Waiter(const Abandoned& abandoned) : abandoned_(abandoned) {}
  void see(const SearchState&) override {}
  bool stops() override { return abandoned_; }

 private:
  const Abandoned& abandoned_;
};

// The answer to a question that is not quick, which Ctrl-C ends.
Answer long_answer(const Options& options, const Node& document, const std::string& verb,
                   const ScenarioSweep& question) {
  return interruptible([=](const Abandoned& abandoned) {
    face::RunnerPool::Lease leased = lease(options, document);
    Waiter waiter(abandoned);
    RunOptions run = options.run();
    run.watcher = &waiter;
    return face::answer(leased.runner(), verb, question, run);
  });
}

Answer answer_of(const Options& options, const Node& document, const std::string& verb,
                 const ScenarioSweep& question) {
  if (!server::is_quick(question)) return long_answer(options, document, verb, question);
  face::RunnerPool::Lease leased = lease(options, document);
  return face::answer(leased.runner(), verb, question, options.run());
}

// The answer of a verb to its keys, of which `keys` loses the options.
Answered ask(const std::string& verb, const py::dict& keys) {
  const Options options = read_options(keys);
  face::Question question(verb);
  question.give(node_of(keys, ""));
  const py::gil_scoped_release released;
  const Node document = question.document(bundle_of(options));
  return {answer_of(options, document, verb, read_scenario(all_kinds(), document)),
          options.breakdown};
}

// The answer to a document, given as a dict or by the path of its file, with keys laid over it.
Answered run(const py::object& asked, const py::dict& keys) {
  const Options options = read_options(keys);
  face::Question question("run");
  question.give(node_of(keys, ""));
  Node document;
  std::string name;
  if (PyDict_Check(asked.ptr())) {
    document = node_of(asked, "");
  } else {
    const std::filesystem::path file(py::str(py::module_::import("os").attr("fspath")(asked)));
    document = read_scenario_document(file);
    name = file.stem().string();
  }
  const py::gil_scoped_release released;
  question.lay_over(document);
  ScenarioSweep sweep = read_scenario(all_kinds(), document);
  if (!name.empty()) sweep = named(std::move(sweep), name);
  return {answer_of(options, document, "run", sweep), options.breakdown};
}

// The document of a file, merged with its includes, as a dict.
py::object load(const py::object& path) {
  return value_of(
      read_scenario_document(std::string(py::str(py::module_::import("os").attr("fspath")(path)))));
}

// The comparison of a measured run with its prediction, as JSON. `kind`: "service" or "training".
std::string compare(const std::string& file, const std::string& kind, std::size_t number,
                    const py::dict& keys) {
  const Options options = read_options(keys);
  const bool training = kind == "training";
  face::Question question(training ? "train" : "compare");
  question.give(node_of(keys, ""));
  const py::gil_scoped_release released;
  const Bundle bundle = bundle_of(options);
  const Node document = question.document(bundle);
  if (!training) return face::json_text(face::compare_service(file, number, document, bundle));
  face::RunnerPool::Lease leased = lease(options, document);
  const Answer answer =
      face::answer(leased.runner(), "train", read_scenario(all_kinds(), document), options.run());
  return face::json_text(face::compare_training(file, answer));
}

// Files of a catalog that calibrate kernels on a GPU with measured calls, and what they improve, as
// JSON.
std::string calibrate(const std::string& gpu, const std::string& measured,
                      const std::string& framework, const std::string& catalog) {
  const py::gil_scoped_release released;
  const Bundle bundle = catalog.empty() ? Bundle() : Bundle(catalog);
  const PointFit fit = calibrate_from(measured, Catalog(bundle).gpu(gpu), framework, bundle);
  if (fit.files.empty()) throw InputError(fmt::format("{}: no row calibrates {}", measured, gpu));
  nlohmann::ordered_json classes = nlohmann::ordered_json::array();
  for (const CalibratedClass& c : fit.classes)
    classes.push_back({{"family", c.family},
                       {"framework", c.framework},
                       {"class", c.kernel_class},
                       {"points", c.points},
                       {"error_before", c.before},
                       {"error_after", c.after}});
  return nlohmann::ordered_json{
      {"classes", classes}, {"files", fit.files}, {"refused", fit.refused}}
      .dump(1);
}

// The verbs of all kinds: {name: {help, words}}.
py::dict verbs() {
  py::dict all;
  for (const auto& [kind, verb] : all_kinds().verbs()) {
    py::dict one;
    one["help"] = std::string(verb->help);
    one["words"] = std::vector<std::string>(verb->words.begin(), verb->words.end());
    all[py::str(std::string(verb->name))] = one;
  }
  return all;
}

int main_of(const std::vector<std::string>& words) {
  std::vector<std::string> kept = words;
  std::vector<char*> pointers;
  for (std::string& word : kept) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const py::gil_scoped_release released;
  const int code = cli::run_program(static_cast<int>(kept.size()), pointers.data());
  std::fflush(nullptr);
  return code;
}

// The classes of orrery/_errors.py, by the kind of an error.
void raise(const char* name, const char* message) {
  const py::object kind = py::module_::import("orrery._errors").attr(name);
  PyErr_SetString(kind.ptr(), message);
}

void translate(std::exception_ptr thrown) {
  try {
    if (thrown) std::rethrow_exception(thrown);
  } catch (const InputError& e) {
    raise("InputError", e.what());
  } catch (const Infeasible& e) {
    raise("Infeasible", e.what());
  } catch (const NoData& e) {
    raise("NoData", e.what());
  } catch (const std::bad_alloc&) {
    PyErr_SetString(PyExc_MemoryError, "this question is too large for this machine");
  } catch (const py::builtin_exception&) {
    throw;
  } catch (const py::error_already_set&) {
    throw;
  } catch (const std::exception& e) {
    raise("InternalError", e.what());
  }
}

}  // namespace
}  // namespace orrery::python

PYBIND11_MODULE(_orrery, m) {
  using namespace orrery::python;
  m.doc() = "The compiled part of orrery.";
  py::register_exception_translator(translate);

  py::class_<Answered>(m, "Answered")
      .def("text", &Answered::text)
      .def("svg", &Answered::svg)
      .def("element", &Answered::element)
      .def_readonly("breakdown", &Answered::breakdown)
      .def_property_readonly("points", [](const Answered& a) { return a.answer.points.size(); });

  m.def("ask", &ask);
  m.def("run", &run);
  m.def("load", &load);
  m.def("compare", &compare);
  m.def("calibrate", &calibrate);
  m.def("keys", &keys_of);
  m.def("doc", &doc_of);
  m.def("verbs", &verbs);
  m.def("main", &main_of);
  m.def("version", [] { return std::string(orrery::cli::version_text()); });
}
