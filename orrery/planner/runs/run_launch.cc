#include "orrery/planner/runs/run_launch.h"

#include <fmt/args.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "orrery/base/error.h"
#include "orrery/base/fields.h"

namespace orrery {
namespace {

// The settings of a layout that a stack must be told, each with its value.
std::vector<std::pair<std::string, std::string>> settings_of(const RunLayout& l,
                                                             const TrainingJob& job) {
  std::vector<std::pair<std::string, std::string>> out;
  const auto size = [&out](const char* name, std::int64_t n) {
    if (n > 1) out.emplace_back(name, std::to_string(n));
  };
  size("tp", l.tp), size("cp", l.cp), size("pp", l.pp), size("vp", l.vp), size("ep", l.ep);
  if (l.pp > 1) out.emplace_back("pipeline", schedule_name(job.plan));
  if (job.plan.sequence_parallel) out.emplace_back("sequence_parallel", "true");
  out.emplace_back("zero", std::to_string(l.zero));
  out.emplace_back("recompute", to_text(l.recompute));
  out.emplace_back("format", to_text(l.format));
  return out;
}

}  // namespace

RunLaunch::RunLaunch(const Bundle& bundle, const std::string& path)
    : name_(std::filesystem::path(path).stem().string()) {
  const auto file = bundle.find(path);
  if (!file) throw InputError(fmt::format("catalog/{} cannot be read", path));
  Fields f;
  f.add("stack", stack_, "training stack").verbatim().required();
  f.add("file", file_, "file that is written").verbatim().required();
  f.add("whole_groups", whole_groups_, "interleaved pipelines take micro-batches in groups of pp");
  f.custom(
      "lines", Field::Type::kList,
      [this](const Node& list) {
        for (const Node& item : list.items()) {
          Line line;
          Fields one;
          one.add("set", line.set, "setting of the layout").verbatim();
          one.add("is", line.is, "its value").verbatim();
          one.add("text", line.text, "text of the file").verbatim().required();
          one.read(item);
          lines_.push_back(std::move(line));
        }
      },
      [] { return nlohmann::ordered_json::array(); }, "lines of the file");
  f.add("sources", sources_, "where the names can be read").required();
  f.read(parse_yaml(std::string(file->content), file->name));
}

bool RunLaunch::is_written(const Line& line, const std::string& set, const std::string& value) {
  return line.set == set && (line.is.empty() || line.is == value);
}

std::string RunLaunch::refusal(const RunLayout& l, const TrainingJob& job) const {
  for (const auto& [set, value] : settings_of(l, job)) {
    const bool known = std::any_of(
        lines_.begin(), lines_.end(),
        [&set = set, &value = value](const Line& line) { return is_written(line, set, value); });
    if (!known) return fmt::format("{} cannot be told {} {}", name_, set, value);
  }
  if (whole_groups_ && l.vp > 1 && job.global_batch / (l.micro_batch * l.dp()) % l.pp != 0)
    return fmt::format("{} interleaves micro-batches in groups of pp", name_);
  return "";
}

std::string RunLaunch::text(const RunLayout& l, const TrainingJob& job,
                            const Setting& setting) const {
  fmt::dynamic_format_arg_store<fmt::format_context> values;
  const auto add = [&values](const char* name, std::int64_t n) {
    values.push_back(fmt::arg(name, n));
  };
  add("tp", l.tp), add("cp", l.cp), add("pp", l.pp), add("vp", l.vp), add("ep", l.ep);
  add("dp", l.dp()), add("micro_batch", l.micro_batch), add("global_batch", job.global_batch);
  add("seq", job.seq), add("iterations", setting.iterations);
  add("layers", setting.layers / (l.pp * l.vp));
  // Sequences of a data-parallel rank that a framework gives to a pipeline at once.
  add("local_batch", l.pp > 1 ? job.global_batch / l.dp() : l.micro_batch);
  const std::int64_t node = std::min(setting.gpus_per_node, l.gpus);
  add("gpus_per_node", node), add("nodes", l.gpus / node);
  std::string out;
  const auto settings = settings_of(l, job);
  for (const Line& line : lines_) {
    const bool written =
        line.set.empty() || std::any_of(settings.begin(), settings.end(), [&line](const auto& s) {
          return is_written(line, s.first, s.second);
        });
    if (written && (line.set.empty() || !line.text.empty()))
      out += fmt::vformat(line.text, values) + "\n";
  }
  return out;
}

std::vector<RunLaunch> run_launches(const Bundle& bundle, std::string_view stack) {
  std::vector<RunLaunch> out;
  for (const std::string& path : bundle.list("launch/runs", ".yaml")) {
    RunLaunch launch(bundle, path);
    if (launch.stack() == stack) out.push_back(std::move(launch));
  }
  return out;
}

std::string refusal(const std::vector<RunLaunch>& launches, const RunLayout& layout,
                    const TrainingJob& job) {
  std::string all;
  for (const RunLaunch& launch : launches) {
    const std::string why = launch.refusal(layout, job);
    if (why.empty()) return "";
    if (all.find(why) == all.npos) all += (all.empty() ? "" : ", ") + why;
  }
  return all;
}

}  // namespace orrery
