#include "apps/cli/verbs/kind_verb.h"

#include <fmt/format.h>

#include <algorithm>

#include "apps/cli/flags/help.h"
#include "apps/face/answers.h"
#include "orrery/base/error.h"
#include "orrery/scenario/runner/runner.h"

namespace orrery::cli {
namespace {

std::string help_footer(const Verb& verb) {
  std::string out;
  if (!verb.remark.empty()) out += fmt::format("{}\n", verb.remark);
  out += fmt::format("Examples:\n{}", verb.examples);
  if (verb.defines) out += fmt::format("\n\n{}", kDefinitions);
  if (!verb.epilog.empty()) out += fmt::format("\n{}", verb.epilog);
  return out;
}

// The files of the one point, whose names begin alike.
void write_point_files(const Answer& answer, const std::string& prefix, const std::string& flag) {
  if (answer.points.size() != 1)
    throw InputError(fmt::format("{}: expected one point, got a sweep", flag));
  const Point& p = answer.points.front();
  if (p.files.empty() && !p.feasibility.fits) return;
  if (p.files.empty()) throw InputError(fmt::format("{}: no step of a model to write", flag));
  for (const auto& [end, bytes] : p.files)
    write_file(fmt::format("{}.{}", prefix, end), bytes, flag);
}

}  // namespace

KindVerb::KindVerb(CLI::App& app, std::string_view name) : flags_(app, name) {
  const VerbOutput& shown = verb().output;
  add_output_flags(app, output_, shown.steps, shown.forms);
  for (const VerbOutput::Switch& s : shown.switches)
    app.add_flag(fmt::format("--{0},!--no-{0}", s.name), switches_.*s.option, std::string(s.help));
  if (!shown.picture_flag.empty())
    app.add_option(std::string(shown.picture_flag), picture_, std::string(shown.picture_help))
        ->group("output")
        ->type_name("FILE");
  if (shown.explained)
    app.add_flag("--explain", explain_, std::string(shown.explain_help))->group("output");
  add_files(app);
}

void KindVerb::add_files(CLI::App& app) {
  const std::vector<AnswerFile>& files = verb().output.files;
  files_.resize(files.size());
  for (std::size_t i = 0; i < files.size(); ++i)
    app.add_option(std::string(files[i].flag), files_[i], std::string(files[i].help))
        ->group("output")
        ->type_name(std::string(files[i].value));
}

RunOptions KindVerb::options(Context& context, std::span<const Scenario> points) {
  const VerbOutput& shown = verb().output;
  RunOptions out = switches_;
  out.meter = &context.progress.meter();
  const bool drawn = !output_.html.empty() || !output_.svg.empty();
  out.breakdown = output_.breakdown || drawn || !output_.trace.empty();
  for (std::size_t i = 0; i < files_.size(); ++i) {
    const AnswerFile& file = shown.files[i];
    if (files_[i].empty() || file.needs == nullptr) continue;
    out.*file.needs = true;
    if (!file.text) out.breakdown = true;
  }
  if (output_.form != nullptr && output_.form->needs != nullptr) out.*output_.form->needs = true;
  if (!verb().page.timeline.empty() && output_.picture == "timeline") out.steps = true;
  if (shown.draws_steps && drawn && points.size() == 1) out.steps = true;
  if (verb().narrow) verb().narrow(points, out);
  return out;
}

void KindVerb::write_files(std::span<const Answer> answers) const {
  const VerbOutput& shown = verb().output;
  for (std::size_t i = 0; i < files_.size(); ++i) {
    if (files_[i].empty()) continue;
    const AnswerFile& file = shown.files[i];
    const std::string flag(file.flag);
    if (answers.size() != 1) throw InputError(fmt::format("{}: expected one scenario", flag));
    const Answer& answer = answers.front();
    if (file.text) {
      write_file(files_[i], file.text(answer, files_[i]), flag);
    } else {
      write_point_files(answer, files_[i], flag);
    }
  }
  if (!picture_.empty())
    write_picture(answers.front(), picture_, std::string(shown.picture),
                  std::string(shown.picture_flag));
}

void KindVerb::print(const Answer& answer, const ScenarioSweep& asked) const {
  const VerbOutput& shown = verb().output;
  const auto table = explain_ ? shown.explained : shown.table;
  const bool columns = std::all_of(asked.keys.begin(), asked.keys.end(), [&](const auto& key) {
    return std::find(shown.columns.begin(), shown.columns.end(), key.path) != shown.columns.end();
  });
  const bool lines =
      shown.shows_misfits || std::all_of(answer.points.begin(), answer.points.end(),
                                         [](const Point& p) { return p.feasibility.fits; });
  if (const std::string own = own_form(answer, asked); !own.empty()) {
    write_pages({&answer, 1}, output_);
    fmt::print("{}", own);
  } else if (table && columns && lines && output_.format == Format::kTable) {
    write_pages({&answer, 1}, output_);
    fmt::print("{}", table(answer));
  } else {
    cli::print({&answer, 1}, output_);
  }
}

std::string KindVerb::own_form(const Answer& answer, const ScenarioSweep& asked) const {
  if (output_.format == Format::kOther || asked.points.size() != 1) return "";
  for (const AnswerForm& form : verb().output.forms)
    if (form.name == name_of(output_.format)) return form.text(answer);
  return "";
}

std::shared_ptr<KindVerb> add_kind_verb(CLI::App& program, Context& context,
                                        const std::string& name) {
  const Verb& of = face::VerbKeys::of(name).verb();
  CLI::App* app = program.add_subcommand(name, std::string(of.help));
  app->footer(help_footer(of));
  auto verb = std::make_shared<KindVerb>(*app, name);
  app->callback([verb, &context] {
    Runner runner(context.bundle());
    const ScenarioSweep asked = verb->question().points(runner.bundle());
    const Answer answer = runner.run(asked, verb->options(context, asked.points));
    verb->write_files({&answer, 1});
    verb->print(answer, asked);
    context.exit_code = face::exit_code({&answer, 1});
  });
  return verb;
}

}  // namespace orrery::cli
