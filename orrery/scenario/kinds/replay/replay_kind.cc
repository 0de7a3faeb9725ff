// The kind of a recorded trace that is run again (replay_question.h).
#include "orrery/base/error.h"
#include "orrery/scenario/kind/document_checks.h"
#include "orrery/scenario/kind/question_kind.h"
#include "orrery/scenario/kinds/replay/replay_answer.h"

namespace orrery {

namespace {

const ReplayQuestion& question(const Scenario& s) { return s.as<ReplayQuestion>(); }

std::string timeline_file(const Answer& answer, const std::string&) {
  if (answer.points.size() != 1) throw InputError("--perfetto: expected one replay, got a sweep");
  return answer.points.front().timeline().trace;
}

Verb replay_verb() {
  return {.name = "replay",
          .heading = "Predict single kernels and collectives, or change a recorded trace",
          .place = 80,
          .help =
              "Replays a trace of torch.profiler, unchanged or with changes, and breaks down "
              "the time of a step.",
          .remark =
              "exposed: time during which no other class ran on the GPU. critical: time on "
              "the\ncritical path of the step.",
          .examples =
              "  orrery replay rank0.json.gz\n"
              "  orrery replay rank0.json.gz --scale attention=0.5 --scale cpu=0.8\n"
              "  orrery replay rank0.json.gz --from-gpu a100-80g-sxm --gpu h100-sxm\n"
              "  orrery replay rank0.json.gz --dp 16,64 --node hgx-h100 -o json",
          .example = "orrery replay rank0.json.gz",
          .add_keys =
              [](VerbKeyList& keys) {
                keys.add_group("replay", {.word = "trace"});
                keys.add_group("hardware");
              },
          .words = {"trace"},
          .output = {.files = {{.flag = "--perfetto",
                                .help = "write the replay's timeline for ui.perfetto.dev (not "
                                        "with a sweep)",
                                .needs = &RunOptions::steps,
                                .text = timeline_file}}},
          .page = {.figures = {"iteration_time", "measured_time", "replayed_time", "time_ratio"},
                   .forms = {{.usual = {"trace", "scale", "gpu", "from-gpu", "dp", "tp", "pp"}}},
                   .files = {"trace"},
                   .waits = true,
                   .timeline = "Timeline of an iteration"}};
}

QuestionKind made() {
  QuestionKind kind = kind_of_one_group<ReplayQuestion>(
      "replay", "a recorded trace of training, run again as it was and as it might be");
  kind.plural = "replays of a trace";
  kind.top_keys = [](const Scenario&) -> TopKeys {
    return {{"name", "question", "hardware", "replay"}, "a replay"};
  };
  kind.check = [](const Node& document, const Scenario& s) {
    document.at("replay").at("trace");
    refuse_knobs(document, s, "a replay");
  };
  kind.effort = [](const Scenario&) { return Effort{.long_search = true}; };
  kind.answer = [](const Answering& with, const Scenario& s, PointAnswers& out) {
    out.points = {answer_replay(with.facts, question(s), s.hardware, with.options.steps)};
  };
  kind.verbs = {replay_verb()};
  kind.figures = replay_figures();
  return kind;
}

}  // namespace

const QuestionKind& replay_kind() {
  static const QuestionKind kind = made();
  return kind;
}

const QuestionKind& kind_of(const ReplayQuestion&) { return replay_kind(); }

}  // namespace orrery
