#include "apps/server/asked.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <new>
#include <nlohmann/json.hpp>

#include "apps/face/answers.h"
#include "apps/face/question.h"
#include "orrery/base/error.h"
#include "orrery/kinds/all_kinds.h"

namespace orrery::server {
namespace {

// The dotted key that a message begins with: "workload.isl" of "question:1: workload.isl: ...".
std::string key_of(const std::string& message) {
  for (std::size_t begin = 0; begin < message.size();) {
    const std::size_t end = message.find(": ", begin);
    if (end == std::string::npos) return "";
    const std::string word = message.substr(begin, end - begin);
    const bool is_key = !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
    });
    if (is_key) return word;
    if (word.find(' ') != std::string::npos) return "";
    begin = end + 2;
  }
  return "";
}

void require_point(std::size_t index, std::size_t points, std::string_view of) {
  if (index < points) return;
  throw InputError(
      fmt::format("the {} has {} points, counted from 0; there is no point {}", of, points, index));
}

// The question of one of its points.
ScenarioSweep point_of(ScenarioSweep question, std::size_t index) {
  require_point(index, question.points.size(), "question");
  question.points = {std::move(question.points[index])};
  return question;
}

void keep_kernels_of(std::size_t index, Answer& answer) {
  require_point(index, answer.points.size(), "answer");
  for (std::size_t i = 0; i < answer.points.size(); ++i) {
    if (i != index) answer.points[i].kernels.clear();
  }
}

std::string timeline_of(const Answer& answer) {
  const Point& p = answer.points.at(0);
  if (!p.feasibility.fits) throw Infeasible(p.feasibility.reason);
  std::string text = p.timeline().trace;
  if (text.empty()) throw InputError("a point of this question has no timeline");
  return text;
}

}  // namespace

const std::vector<std::string>& api_verbs() {
  static const std::vector<std::string> verbs = [] {
    std::vector<std::string> all = face::VerbKeys::verbs();
    all.emplace_back(kDocumentVerb);
    return all;
  }();
  return verbs;
}

std::string error_json(std::string_view kind, const std::string& message) {
  nlohmann::ordered_json error = {{"kind", kind}, {"message", message}};
  if (const std::string key = key_of(message); !key.empty()) error["key"] = key;
  using Json = nlohmann::ordered_json;
  return Json{{"error", error}}.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::optional<AskedView> view_of(std::string_view path) {
  constexpr std::string_view kTimeline = "/timeline", kKernels = "/kernels";
  const std::size_t slash = std::min(path.find('/'), path.size());
  AskedView view{std::string(path.substr(0, slash)), {}, {}};
  const auto& verbs = api_verbs();
  if (std::find(verbs.begin(), verbs.end(), view.verb) == verbs.end()) return std::nullopt;
  path.remove_prefix(slash);
  if (path.empty()) return view;
  const bool kernels = path.starts_with(kKernels);
  if (!kernels && !path.starts_with(kTimeline)) return std::nullopt;
  path.remove_prefix((kernels ? kKernels : kTimeline).size());
  std::size_t& index = (kernels ? view.kernels : view.timeline).emplace(0);
  if (path.empty()) return view;
  const auto [end, error] = std::from_chars(path.data() + 1, path.data() + path.size(), index);
  if (path.front() != '/' || error != std::errc() || end != path.data() + path.size())
    return std::nullopt;
  return view;
}

ScenarioSweep points_of(const AskedQuestion& asked, const Bundle& bundle) {
  const Node body = asked.form == "yaml" ? parse_yaml(asked.body, "question")
                                         : parse_json(asked.body, "question");
  if (!body.is_map()) throw InputError("expected a map of keys, as in {\"model\": ...}");
  if (asked.verb == kDocumentVerb) return read_scenario(all_kinds(), body);
  face::Question question(asked.verb);
  question.give(body);
  return question.points(bundle);
}

Reply reply_to(const AskedQuestion& asked, Runner& runner, const ServeLimits& limits,
               const WorkedOn& how) {
  try {
    const AskedView view = view_of(asked.verb).value();
    ScenarioSweep question = points_of({view.verb, asked.form, asked.body}, runner.bundle());
    check_size(question, limits);
    if (view.timeline) question = point_of(std::move(question), *view.timeline);
    if (how.quick_only && !is_quick(question)) return {0, ""};
    RunOptions options;
    options.meter = how.meter;
    options.watcher = how.watcher;
    options.steps = view.timeline.has_value();
    Answer answer = face::answer(runner, view.verb, question, options);
    if (view.kernels) keep_kernels_of(*view.kernels, answer);
    std::string text = view.timeline ? timeline_of(answer) : face::json_text({&answer, 1}, true);
    if (text.size() > limits.answer)
      return {413,
              error_json("limit", fmt::format("the answer has {} MiB, more than {} MiB; ask for "
                                              "fewer points at once",
                                              text.size() >> 20, limits.answer >> 20))};
    return {200, std::move(text)};
  } catch (const InputError& e) {
    return {400, error_json("input", e.what())};
  } catch (const Infeasible& e) {
    return {422, error_json("infeasible", e.what())};
  } catch (const NoData& e) {
    return {422, error_json("no_data", e.what())};
  } catch (const Stopped& e) {
    return {422, error_json("infeasible", e.what())};
  } catch (const std::bad_alloc&) {
    return {413, error_json("limit", "this question needs more memory than the server gives one")};
  } catch (const std::exception& e) {
    return {500, error_json("internal", e.what())};
  }
}

}  // namespace orrery::server
