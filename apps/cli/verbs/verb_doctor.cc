// orrery doctor: what this program has and finds on this machine.
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>
#include <thread>

#include "apps/cli/flags/help.h"
#include "apps/cli/output/output.h"
#include "apps/cli/verbs/verbs.h"
#include "apps/cli/version.h"
#include "orrery/base/data_folder.h"
#include "orrery/planner/workers/mpi_ranks.h"
#include "orrery/scenario/question/scenario.h"
#include "orrery/scenario/runner/runner.h"

namespace orrery::cli {
namespace {

using Json = nlohmann::ordered_json;

// Facts of each kind, by the folder and the ending of their files.
struct FactKind {
  const char *name, *folder, *ending;
};
constexpr std::array kFactKinds = {
    FactKind{"gpus", "gpus", ".yaml"},       FactKind{"fabrics", "fabrics", ".yaml"},
    FactKind{"nodes", "nodes", ".yaml"},     FactKind{"models", "models", ".json"},
    FactKind{"engines", "engines", ".yaml"}, FactKind{"kernels", "kernels", ".txt.gz"},
    FactKind{"recipes", "recipes", ".yaml"}, FactKind{"prices", "prices", ".yaml"}};

Json folders_of(const std::filesystem::path& data) {
  Json found = Json::array();
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(data, failed))
    if (entry.is_directory(failed)) found.push_back(entry.path().filename().string());
  std::sort(found.begin(), found.end());
  return found;
}

// Whether a question is answered: the whole way from the catalog to figures.
std::string trial(const Bundle& bundle) {
  try {
    Scenario s;
    s.model = "llama-3-8b";
    s.hardware.gpu = "h100-sxm";
    s.ask<SteadyQuestion>();
    const Answer a = Runner(bundle).run(s);
    const Metric* tpot = a.points.at(0).find("tpot");
    return tpot != nullptr && tpot->value > 0 ? "" : "no TPOT";
  } catch (const std::exception& e) {
    return e.what();
  }
}

Json examined(const Context& context) {
  const Bundle bundle = context.bundle();
  Json catalog = {{"folder", context.catalog.empty() ? Json() : Json(context.catalog)}};
  for (const FactKind& kind : kFactKinds)
    catalog[kind.name] = bundle.list(kind.folder, kind.ending).size();
  const std::filesystem::path data = data_folder();
  std::error_code failed;
  const bool has_data = std::filesystem::is_directory(data, failed);
  const std::string mpi = mpi_library();
  const std::string failure = trial(bundle);
  constexpr double kGiB = 1024.0 * 1024 * 1024;
  const double memory = static_cast<double>(sysconf(_SC_PHYS_PAGES)) *
                        static_cast<double>(sysconf(_SC_PAGESIZE)) / kGiB;
  return {{"version", version_text()},
          {"formats", {{"scenario", kScenarioFormat}, {"answer", kAnswerFormat}}},
          {"catalog", catalog},
          {"measured_tables",
           {{"folder", data.string()}, {"found", has_data ? folders_of(data) : Json::array()}}},
          {"machine",
           {{"cores", std::thread::hardware_concurrency()},
            {"memory_gib", std::round(memory * 10) / 10}}},
          {"mpi", mpi.empty() ? Json() : Json(mpi)},
          {"trial", failure.empty() ? "answered" : failure}};
}

void print_table(const Json& e) {
  const auto line = [](const char* name, const std::string& text) {
    fmt::print("{}",
               wrapped(text, 80, std::string(17, ' ')).replace(0, 17, fmt::format("{:<17}", name)));
  };
  line("version", e["version"]);
  line("formats", fmt::format("scenario {}, answer {}", e["formats"]["scenario"].get<std::string>(),
                              e["formats"]["answer"].dump()));
  std::string facts;
  for (const FactKind& kind : kFactKinds)
    facts += fmt::format("{}{} {}", facts.empty() ? "" : ", ", e["catalog"][kind.name].dump(),
                         kind.name);
  line("catalog", facts);
  if (e["catalog"]["folder"].is_string())
    line("", "laid over by " + e["catalog"]["folder"].get<std::string>());
  const Json& data = e["measured_tables"];
  std::string tables;
  for (const Json& t : data["found"]) tables += (tables.empty() ? "" : ", ") + t.get<std::string>();
  line("measured tables",
       tables.empty() ? "none; needed by fit and validate alone (docs/data.md)" : tables);
  line("", data["folder"]);
  line("cores", e["machine"]["cores"].dump());
  line("memory", fmt::format("{} GiB", e["machine"]["memory_gib"].dump()));
  line("MPI",
       e["mpi"].is_string() ? e["mpi"].get<std::string>() : "not built in; plans use one machine");
  line("a question", e["trial"]);
}

}  // namespace

void add_doctor(CLI::App& program, Context& context) {
  CLI::App* app = program.add_subcommand(
      "doctor", "Shows what the program has and finds: version, catalog, data, cores.");
  app->footer(
      "Exit code 1: a simple question is not answered.\n"
      "Examples:\n"
      "  orrery doctor\n"
      "  orrery doctor --catalog my-facts -o json");
  const auto output = std::make_shared<std::string>("table");
  app->add_option("-o,--output", *output, "table or json [table]")
      ->check(CLI::IsMember({"table", "json"}))
      ->type_name("FORMAT");
  app->callback([output, &context] {
    const Json found = examined(context);
    if (found["trial"] != "answered") context.exit_code = 1;
    if (*output == "json") return fmt::print("{}\n", found.dump(1));
    print_table(found);
  });
}

}  // namespace orrery::cli
