#include "orrery/validate/choices/planner_choices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "orrery/base/error.h"
#include "orrery/validate/choices/published_cases.h"

namespace orrery {
namespace planner_choices_test {

using testing::HasSubstr;

// A folder of measured tables that is removed at the end.
class Folder {
 public:
  explicit Folder(const char* name)
      : path_(std::filesystem::temp_directory_path() / (std::string("orrery-") + name)) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  void file(const char* name, const std::string& text) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name) << text;
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

std::string steady_row(const char* model, int tp, int moe_tp, int users, double ttft, double tpot) {
  return "lab," + std::string(model) +
         ",dense-gqa,fp8,,,h100-sxm-80gb,,vllm,0.12.0,agg,1024,1024,fixed," +
         std::to_string(users) + "," + std::to_string(tp) + ",1,1," +
         (moe_tp ? std::to_string(moe_tp) + ",1" : ",") + "," + std::to_string(ttft) + "," +
         std::to_string(tpot) + ",,,,r" + std::to_string(tp) + "-" + std::to_string(users) + ",g\n";
}

constexpr const char* kSteadyHeader =
    "source,model,family,precision,gemm_quant,moe_quant,system,n_gpus,framework,version,mode,isl,"
    "osl,length_kind,concurrency,tp,pp,dp,moe_tp,moe_ep,ttft_ms,tpot_ms,suspect,measured,dump,"
    "source_ref,group\n";

TEST(PlannerChoices, LayoutsOfAServiceAreScoredByWhatTheyMeasured) {
  const Folder folder("planner-choices");
  folder.file("inference/serving_steady.csv",
              kSteadyHeader + steady_row("llama-3-8b", 1, 0, 16, 60, 8) +
                  steady_row("llama-3-8b", 2, 0, 16, 40, 5.5) +
                  steady_row("llama-3-8b", 4, 0, 16, 30, 4) +
                  // Experts on two GPUs and attention on one: the row names no layout that ran.
                  steady_row("llama-3-8b", 1, 2, 16, 30, 4) +
                  // 405 GB of weights do not lie in one GPU of 80 GB.
                  steady_row("llama-3.1-405b", 1, 0, 16, 30, 4));
  const PlannerValidation v = validate_planner(folder.path(), "serving", Bundle());
  std::size_t mislabelled = 0;
  for (const RefusedRow& r : v.report.refused)
    mislabelled += r.why.find("mislabelled") != std::string::npos;
  EXPECT_EQ(mislabelled, 2u);
  // All points keep the six limits, and tp 1 has most tokens per GPU:
  // 16 x 1024 / (0.06 + 0.008 x 1023).
  std::size_t layouts = 0;
  for (const ValidationRow& r : v.report.rows) {
    if (r.by.at("metric") != "layout") continue;
    ++layouts;
    EXPECT_NEAR(r.measured, 16 * 1024 / (0.06 + 0.008 * 1023), 1e-6) << r.row;
    EXPECT_NEAR(r.predicted, r.measured, 1e-6) << r.what;
  }
  EXPECT_EQ(layouts, 6u);
  EXPECT_THAT(v.remarks.at(0), HasSubstr("serving, layout: mean regret 0.0 % of 6 questions"));
}

TEST(PlannerChoices, OtherTablesAreRefusedAndAbsentOnesNoted) {
  const Folder folder("planner-choices-none");
  EXPECT_THROW(validate_planner(folder.path(), "servings", Bundle()), InputError);
  EXPECT_EQ(validate_planner(folder.path(), "serving", Bundle()).report.skipped.size(), 1u);
}

Bundle with_cases(const std::string& cases) {
  return Bundle().replacing("validation", {{"validation/planner-cases.yaml", cases}});
}

TEST(PublishedCases, TheExpertsLayoutIsComparedWithTheBest) {
  const Bundle bundle = with_cases(
      "cases:\n"
      "  - id: A-1\n"
      "    scenario: {model: llama-3-8b, hardware: {gpu: h100-sxm}, training: {gpus: 8, tp: [1, 8],"
      " global_batch: 64, recompute: [none, full]}}\n"
      "    expert: {tp: 8}\n");
  const auto cases = read_published_cases(bundle);
  ASSERT_EQ(cases.size(), 1u);
  const PublishedAnswer answer = answer_of(cases[0], bundle);
  EXPECT_GT(answer.expert, 0);
  EXPECT_LE(answer.expert, answer.best);
  EXPECT_GE(answer.layouts, 2u);
  EXPECT_THAT(answer.layout, HasSubstr("\"recompute\":\"none\""));
}

TEST(PublishedCases, ALayoutThatIsNotSweptIsAnError) {
  const std::string head =
      "cases:\n"
      "  - id: A-1\n"
      "    scenario: {model: llama-3-8b, hardware: {gpu: h100-sxm}, training: {gpus: 8, tp: [1, 2],"
      " global_batch: 64}}\n";
  const Bundle absent = with_cases(head + "    expert: {tp: 4}\n");
  EXPECT_THROW(answer_of(read_published_cases(absent).at(0), absent), InputError);
  EXPECT_THROW(read_published_cases(with_cases(head + "    experts: {tp: 1}\n")), InputError);
  EXPECT_THROW(read_published_cases(with_cases(head)), InputError);
}

TEST(PublishedCases, TheCatalogsCasesAreRead) {
  const auto cases = read_published_cases(Bundle());
  EXPECT_GE(cases.size(), 45u);
  for (const PublishedCase& c : cases) EXPECT_FALSE(c.expert.empty()) << c.id;
}

}  // namespace planner_choices_test
}  // namespace orrery
