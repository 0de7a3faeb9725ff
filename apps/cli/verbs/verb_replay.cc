// orrery replay: a trace of torch.profiler, run again as it was and as it might be.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "apps/cli/flags/help.h"
#include "apps/cli/output/output.h"
#include "apps/cli/verbs/verbs.h"
#include "orrery/base/error.h"
#include "orrery/replay/trace_what_if.h"

namespace orrery::cli {
namespace {

struct ReplayFlags {
  std::string file, output = "table", perfetto;
  std::optional<std::int64_t> step;
  std::vector<std::string> scales;
  TraceWhatIf what_if;
};

double ms(Seconds t) { return t / milliseconds(1); }
// At most seven characters up to 10^7 ms, so that a blank remains between columns.
std::string ms_text(Seconds t) {
  const double v = ms(t);
  return fmt::format("{:.{}f}", v, v < 999.9995 ? 3 : v < 99999.95 ? 1 : 0);
}

std::string title(const KinetoTrace& trace, const TraceGraph& graph) {
  std::string steps = "the whole trace as one step";
  if (graph.marked && graph.steps == 1) steps = fmt::format("step {}", graph.first_step);
  if (graph.marked && graph.steps > 1) {
    steps =
        fmt::format("mean of steps {} to {}", graph.first_step, graph.first_step + graph.steps - 1);
  }
  return (trace.gpu.empty() ? "" : trace.gpu + ", ") + steps;
}

// A line of the breakdown: its name, then numbers of the replay and of the what-if.
struct Row {
  std::string name;
  std::vector<std::string> cells;
};

// busy, exposed, critical path
std::array<std::string, 3> times_of(const ReplayBreakdown::Class& c) {
  return {ms_text(c.busy), ms_text(c.exposed), ms_text(c.critical)};
}

std::vector<Row> rows_of(const TraceAnswer& a) {
  std::vector<Row> rows;
  const auto count = [](double n) { return fmt::format("{:.{}f}", n, n == std::floor(n) ? 0 : 1); };
  const auto add = [&](std::string name, std::string kernels, const std::array<std::string, 3>& now,
                       const std::array<std::string, 3>& then) {
    Row row{std::move(name), {std::move(kernels)}};
    row.cells.insert(row.cells.end(), now.begin(), now.end());
    if (a.changed) row.cells.insert(row.cells.end(), then.begin(), then.end());
    rows.push_back(std::move(row));
  };
  for (OpClass c : kAllOpClasses) {
    const auto i = static_cast<std::size_t>(c);
    if (a.replayed.classes[i].kernels == 0) continue;
    add(std::string(to_text(c)), count(a.replayed.classes[i].kernels),
        times_of(a.replayed.classes[i]), times_of(a.what_if.classes[i]));
  }
  add("GPU idle", "", {"", ms_text(a.replayed.idle), ""}, {"", ms_text(a.what_if.idle), ""});
  add("host", "", {"", "", ms_text(a.replayed.cpu)}, {"", "", ms_text(a.what_if.cpu)});
  add("launch, sync lags", "", {"", "", ms_text(a.replayed.lags)},
      {"", "", ms_text(a.what_if.lags)});
  if (a.replayed.unexplained + a.what_if.unexplained > Seconds(0)) {
    add("unexplained waits", "", {"", "", ms_text(a.replayed.unexplained)},
        {"", "", ms_text(a.what_if.unexplained)});
  }
  add("step", "", {"", "", ms_text(a.replayed.total)}, {"", "", ms_text(a.what_if.total)});
  return rows;
}

std::string interval(const TraceAnswer& a) {
  return fmt::format("{} to {}", ms_text(a.time.quantile(0.05)), ms_text(a.time.quantile(0.95)));
}

void print_table(const std::string& heading, const TraceAnswer& a) {
  fmt::print("{}", wrapped(heading, 80, ""));
  fmt::print("step time: measured {} ms, replayed {} ms ({:+.2f} %)\n", ms_text(a.measured),
             ms_text(a.replayed.total), 100 * a.difference);
  if (a.changed) {
    const std::string time = fmt::format("what-if:   {} ms, {:.3f} of the replay;",
                                         ms_text(a.time.value), a.time.value / a.replayed.total);
    const std::string range = fmt::format("90 %: {} ms, {}", interval(a), to_text(a.time.origin));
    const bool fits = time.size() + 1 + range.size() <= 80;
    fmt::print("{}{}{}\n", time, fits ? " " : "\n           ", range);
  }
  fmt::print("\n{:>47}{}\n", "replayed, ms", a.changed ? fmt::format("{:>25}", "what-if, ms") : "");
  fmt::print("{:<19} {:>7} {:>9}{:>9}{:>9}{}\n", "", "kernels", "busy", "exposed", "critical",
             a.changed ? fmt::format("{:>8}{:>8}{:>9}", "busy", "exposed", "critical") : "");
  constexpr int kWidths[] = {7, 9, 9, 9, 8, 8, 9};
  for (const Row& row : rows_of(a)) {
    std::string line = fmt::format("{:<19} ", row.name);
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      line += fmt::format("{:>{}}{}", row.cells[i], kWidths[i], i == 0 ? " " : "");
    }
    line.erase(line.find_last_not_of(' ') + 1);
    fmt::print("{}\n", line);
  }
  fmt::print("\n");
  for (const auto& s : a.what_if.streams) {
    fmt::print("{}: busy {} ms of {}\n", s.name, ms_text(s.busy), ms_text(a.what_if.total));
  }
  for (const std::string& note : a.notes) fmt::print("{}", wrapped(note, 80, "  "));
}

void print_markdown(const std::string& heading, const TraceAnswer& a) {
  fmt::print("{}\n\nmeasured {} ms, replayed {} ms ({:+.2f} %)\n", heading, ms_text(a.measured),
             ms_text(a.replayed.total), 100 * a.difference);
  if (a.changed) fmt::print("what-if {} ms, 90 %: {} ms\n", ms_text(a.time.value), interval(a));
  std::vector<std::string> cells = {"", "kernels", "busy ms", "exposed ms", "critical ms"};
  if (a.changed) cells.insert(cells.end(), {"what-if busy ms", "exposed ms", "critical ms"});
  fmt::print("\n{}{}\n", markdown_row(cells), [&] {
    std::string line = "|";
    for (std::size_t i = 0; i < cells.size(); ++i) line += i == 0 ? "---|" : "---:|";
    return line;
  }());
  for (const Row& row : rows_of(a)) {
    cells = {row.name};
    cells.insert(cells.end(), row.cells.begin(), row.cells.end());
    fmt::print("{}", markdown_row(cells));
  }
  fmt::print("\n");
  for (const std::string& note : a.notes) fmt::print("- {}\n", note);
}

nlohmann::ordered_json json_of(const ReplayBreakdown& b) {
  nlohmann::ordered_json j = {
      {"step_ms", ms(b.total)},
      {"gpu_idle_ms", ms(b.idle)},
      {"critical_path_ms",
       {{"host", ms(b.cpu)}, {"lags", ms(b.lags)}, {"unexplained", ms(b.unexplained)}}}};
  for (OpClass c : kAllOpClasses) {
    const auto& of = b.classes[static_cast<std::size_t>(c)];
    const std::string name(to_text(c));
    j["critical_path_ms"][name] = ms(of.critical);
    j["classes"][name] = {
        {"kernels", of.kernels}, {"busy_ms", ms(of.busy)}, {"exposed_ms", ms(of.exposed)}};
  }
  for (const auto& s : b.streams)
    j["streams"].push_back({{"name", s.name}, {"busy_ms", ms(s.busy)}, {"kernels", s.kernels}});
  return j;
}

void print_json(const ReplayFlags& flags, const KinetoTrace& trace, const TraceGraph& graph,
                const TraceAnswer& a) {
  nlohmann::ordered_json j = {{"trace", flags.file},
                              {"gpu", trace.gpu},
                              {"first_step", graph.first_step},
                              {"steps", graph.steps},
                              {"steps_marked", graph.marked},
                              {"measured_step_ms", ms(a.measured)},
                              {"replay_difference", a.difference},
                              {"replayed", json_of(a.replayed)}};
  if (a.changed) {
    j["what_if"] = json_of(a.what_if);
    j["what_if"]["interval90_ms"] = {ms(a.time.quantile(0.05)), ms(a.time.quantile(0.95))};
    j["what_if"]["origin"] = std::string(to_text(a.time.origin));
  }
  j["notes"] = a.notes;
  fmt::print("{}\n", j.dump(1, ' ', false, nlohmann::json::error_handler_t::replace));
}

void answer(ReplayFlags& flags, const Bundle& bundle) {
  for (const std::string& scale : flags.scales) add_scale(flags.what_if, scale);
  const KinetoTrace trace = read_kineto(flags.file);
  const TraceGraph graph = build_trace_graph(trace, flags.file, flags.step);
  const TraceAnswer a = answer_trace(trace, graph, flags.what_if, bundle);
  if (!flags.perfetto.empty())
    write_file(flags.perfetto, replay_timeline(trace, graph, a.timeline), "--perfetto");
  const std::string heading = title(trace, graph);
  if (flags.output == "json") {
    print_json(flags, trace, graph, a);
  } else if (flags.output == "md") {
    print_markdown(heading, a);
  } else {
    print_table(heading, a);
  }
}

}  // namespace

void add_replay(CLI::App& program, Context& context) {
  CLI::App* app = program.add_subcommand("replay",
                                         "Replays a trace of torch.profiler, unchanged or with "
                                         "changes, and breaks down the time of a step.");
  auto flags = std::make_shared<ReplayFlags>();
  app->add_option("TRACE", flags->file, "one rank's trace: .json or .json.gz of torch.profiler")
      ->required();
  app->add_option_function<std::int64_t>(
         "--step",
         [flags](std::int64_t n) {
           if (n < 0) throw InputError(fmt::format("--step {}: expected 0 or more", n));
           flags->step = n;
         },
         "one ProfilerStep#N instead of all")
      ->type_name("N");
  constexpr const char* kWhatIf = "what if";
  TraceWhatIf& w = flags->what_if;
  app->add_option(
         "--scale", flags->scales,
         "times of a class of kernels (gemm, attention, elementwise, norm, optimizer, "
         "communication, copy, other) or of the host (cpu), multiplied by a factor: gemm=0.5")
      ->group(kWhatIf)
      ->type_name("CLASS=FACTOR")
      ->allow_extra_args(false);
  const auto name = [&](const char* flag, std::string& to, const char* doc) {
    app->add_option(flag, to, doc)->group(kWhatIf)->type_name("NAME");
  };
  name("-g,--gpu", w.gpu, "GPU of the what-if");
  name("--from-gpu", w.from_gpu, "the GPU that was traced");
  name("--node", w.node, "node type of the what-if, for collectives [usual node of the GPU]");
  name("--from-node", w.from_node, "node type of the traced run [usual node of the GPU]");
  const auto replicas = [&](const char* flag, int& to, const char* doc) {
    app->add_option_function<int>(
           flag,
           [flag, &to](int n) {
             if (n < 1) throw InputError(fmt::format("{} {}: expected 1 or more", flag, n));
             to = n;
           },
           doc)
        ->group(kWhatIf)
        ->type_name("N");
  };
  replicas("--dp", w.dp, "number of data-parallel replicas in the what-if");
  replicas("--from-dp", w.from_dp,
           "data-parallel replicas of the traced run [the only size of a group]");
  replicas("--tp", w.degrees.tp, "degree of tensor parallelism in the what-if; needs --from-tp");
  replicas("--from-tp", w.degrees.from_tp, "degree of tensor parallelism of the traced run");
  replicas("--pp", w.degrees.pp,
           "pipeline stages in the what-if, with the same micro-batches; needs --from-pp");
  replicas("--from-pp", w.degrees.from_pp, "pipeline stages of the traced run");
  app->add_option("-o,--output", flags->output, "table, json or md [table]")
      ->group("output")
      ->check(CLI::IsMember({"table", "json", "md"}))
      ->type_name("FORMAT");
  app->add_option("--perfetto", flags->perfetto, "write the replay's timeline for ui.perfetto.dev")
      ->group("output")
      ->type_name("FILE");
  app->footer(
      "exposed: time during which no other class ran on the GPU. critical: time on the\n"
      "critical path of the step.\n"
      "Examples:\n"
      "  orrery replay rank0.json.gz\n"
      "  orrery replay rank0.json.gz --scale attention=0.5 --scale cpu=0.8\n"
      "  orrery replay rank0.json.gz --from-gpu a100-80g-sxm --gpu h100-sxm\n"
      "  orrery replay rank0.json.gz --dp 64 --node hgx-h100 -o json");
  app->callback([flags, &context] { answer(*flags, context.bundle()); });
}

}  // namespace orrery::cli
