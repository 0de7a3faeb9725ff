#include "apps/server/asked.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <nlohmann/json.hpp>

#include "apps/face/answers.h"
#include "apps/face/question.h"
#include "orrery/base/error.h"
#include "orrery/planner/answer/planner.h"
#include "orrery/planner/answer/run_planner.h"

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

}  // namespace

const std::vector<std::string>& api_verbs() {
  static const std::vector<std::string> verbs = {"estimate", "memory", "simulate", "train",
                                                 "network",  "kernel", "plan",     "run"};
  return verbs;
}

std::string error_json(std::string_view kind, const std::string& message) {
  nlohmann::ordered_json error = {{"kind", kind}, {"message", message}};
  if (const std::string key = key_of(message); !key.empty()) error["key"] = key;
  using Json = nlohmann::ordered_json;
  return Json{{"error", error}}.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

ScenarioSweep points_of(const AskedQuestion& asked, const Bundle& bundle) {
  const Node body = asked.form == "yaml" ? parse_yaml(asked.body, "question")
                                         : parse_json(asked.body, "question");
  if (!body.is_map()) throw InputError("expected a map of keys, as in {\"model\": ...}");
  if (asked.verb == "run") return read_scenario(body);
  face::Question question(asked.verb);
  question.give(body);
  return question.points(bundle);
}

Reply reply_to(const AskedQuestion& asked, Runner& runner, const ServeLimits& limits,
               const WorkedOn& how) {
  try {
    const ScenarioSweep question = points_of(asked, runner.bundle());
    check_size(question, limits);
    if (how.quick_only && !is_quick(question)) return {0, ""};
    Desk desk({nullptr, how.watcher, nullptr});
    runner.set_planner([&desk](Runner& by, const Scenario& s) {
      const bool run = s.as<PlanQuestion>().training.has_value();
      return run ? find_run_plans(by, s, desk).answer : find_plans(by, s, desk).answer;
    });
    RunOptions options;
    options.meter = how.meter;
    const Answer answer = face::answer(runner, asked.verb, question, options);
    std::string text = face::json_text({&answer, 1}, true);
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
