// How a training stack is told the layout of a run: the facts of catalog/launch/runs, one file for
// each way to start a stack.
//
//   stack         id of the training stack
//   file          name of the file that is written
//   whole_groups  interleaved pipelines take micro-batches in groups of pp (Megatron Core)
//   lines         of the file, in their order. A line without `set` is always written. One with
//                 `set` is written if that size (tp, cp, pp, vp, ep) is above 1, or if it is what
//                 `is` says: zero 0 to 3; recompute none, selective, full; format; pipeline with
//                 the name of a schedule; sequence_parallel true. An empty one says that nothing
//                 is needed.
//   sources       where the names can be read
//
// A setting that no line has cannot be told to the stack: a layout that needs it is refused.
#pragma once

#include <string>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/planner/runs/run_plan.h"

namespace orrery {

class RunLaunch {
 public:
  // `path`: below the catalog. InputError: the file is malformed.
  explicit RunLaunch(const Bundle& bundle, const std::string& path);

  const std::string& name() const { return name_; }  // of its file: "megatron-lm"
  const std::string& stack() const { return stack_; }
  const std::string& file() const { return file_; }

  // Why the stack cannot be told the layout; empty: it can. `job`: of the layout.
  std::string refusal(const RunLayout& layout, const TrainingJob& job) const;

  // The text of a layout also depends on these.
  struct Setting {
    std::int64_t gpus_per_node = 8, layers = 1, iterations = 1;  // layers: of the whole model
  };
  // The file of a layout that it does not refuse.
  std::string text(const RunLayout& layout, const TrainingJob& job, const Setting& setting) const;

 private:
  struct Line {
    std::string set, is, text;
  };
  static bool is_written(const Line& line, const std::string& set, const std::string& value);

  std::string name_, stack_, file_;
  bool whole_groups_ = false;
  std::vector<Line> lines_;
  std::vector<std::string> sources_;
};

// The ways to start a stack, in the order of their names; none: nothing is known of them.
std::vector<RunLaunch> run_launches(const Bundle& bundle, std::string_view stack);

// Why no way to start the stack takes the layout; empty: one does, or none is known.
std::string refusal(const std::vector<RunLaunch>& launches, const RunLayout& layout,
                    const TrainingJob& job);

}  // namespace orrery
