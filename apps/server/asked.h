// A question as it comes over the network, answered: a verb and a body. What a question may be is
// the faces' business (apps/face); what is forbidden here is to name files.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/server/limits.h"
#include "orrery/scenario/answer/search_watcher.h"
#include "orrery/scenario/runner/runner.h"
#include "orrery/serving/requests/work_meter.h"

namespace orrery::server {

// The verb that takes the document of a scenario, as a file has it.
inline constexpr const char* kDocumentVerb = "run";
// The verbs of the interface: those of all kinds of questions, each of which takes a map of its
// keys, and kDocumentVerb.
const std::vector<std::string>& api_verbs();

struct AskedQuestion {
  // `verb`: one of api_verbs(), or one with a view: "train/timeline" (view_of). `form`: "json" or
  // "yaml".
  std::string verb, form, body;
};

// The part of the answer that is asked for. Points have an index, from 0.
struct AskedView {
  std::string verb;
  std::optional<std::size_t> timeline;  // of this point, and nothing else
  std::optional<std::size_t> kernels;   // of this point, and the rest of the answer; none: of all
};

// The view that the end of a path names: "train", "train/timeline", "train/timeline/3" or
// "estimate/kernels/3"; nothing where there is no such view.
std::optional<AskedView> view_of(std::string_view path);

struct Reply {
  int status = 200;
  std::string body;  // JSON
};

// The points of a question. InputError: it is none, or includes a file.
ScenarioSweep points_of(const AskedQuestion& asked, const Bundle& bundle);

// How a question is worked on.
struct WorkedOn {
  bool quick_only = false;           // a long one is left to others: the reply has status 0
  WorkMeter* meter = nullptr;        // told how far the work is
  SearchWatcher* watcher = nullptr;  // the same of a plan
};

// The answer as -o json prints it (with the kernels of one point alone, where the view names it),
// the timeline of a point as `train --timeline` and `simulate --steps-file FILE.json` write it, or
// the error as JSON with its status: 400 for input, 422 for what does not fit and for what no data
// is known of, 500 for a fault of the program.
Reply reply_to(const AskedQuestion& asked, Runner& runner, const ServeLimits& limits,
               const WorkedOn& how = {});

// An error as JSON: {"error": {"kind": ..., "message": ..., "key": ...}}. `key` is the dotted key
// at fault, where the message begins with one.
std::string error_json(std::string_view kind, const std::string& message);

}  // namespace orrery::server
