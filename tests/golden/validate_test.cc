// `orrery validate` on small tables: the report in every form, and two builds compared.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/golden/program.h"

namespace orrery::golden {
namespace validate_test {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr int kBadInput = 2, kChanged = 5;

// A folder of data with two collectives and two requests.
class Validate : public testing::Test {
 protected:
  Validate() {
    std::filesystem::create_directory(data_.path() / "network");
    std::filesystem::create_directory(data_.path() / "inference");
    data_.file("network/measured.csv",
               "collective,library,version,gpu,n_gpus,nodes,fabric,tuning,message_bytes,time_us,"
               "time_inplace_us,algbw_GBps,busbw_GBps,source\n"
               "all_reduce,NCCL,,H100_SXM,8,1,NVSwitch,default,1073741824,4000,3900,,,here\n"
               "all_reduce,NCCL,,H100_SXM,8,1,NVSwitch,default,1073741824,4100,,,,here\n"
               "barrier,NCCL,,H100_SXM,8,1,NVSwitch,default,8,20,,,,here\n");
    data_.file("inference/single_request.csv",
               "source,model,family,precision,system,n_gpus,framework,version,tp,pp,batch,isl,osl,"
               "prefill_ms,tpot_ms,suspect,note,source_ref,group\n"
               "lab,llama-2-70b,dense-gqa,fp16,h100-sxm-80gb,8,vllm,0.9,8,1,2,512,128,77,30,,,a,g\n"
               "lab,llama-2-70b,dense-gqa,fp16,h100-sxm-80gb,8,vllm,0.9,8,1,2,512,128,70,28,odd,,b,"
               "g\n");
  }

  std::string all() const { return "validate all --data '" + data_.path().string() + "' "; }
  std::string network() const {
    return "validate network --data '" + (data_.path() / "network").string() + "' ";
  }
  // The file's lines, with one changed by `edit`.
  template <class Edit>
  std::string edited(const std::string& csv, const std::string& key, const Edit& edit) const {
    const std::size_t begin = csv.find(key), end = csv.find('\n', begin + 1);
    EXPECT_NE(begin, std::string::npos) << csv;
    return csv.substr(0, begin) + edit(csv.substr(begin, end + 1 - begin)) + csv.substr(end + 1);
  }

  const Scratch data_;
};

TEST_F(Validate, TheReportNamesRowsNoiseRefusalsAndWhatIsAbsent) {
  const Result r = run_program(all() + "-o md");
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.out, AllOf(HasSubstr("# Accuracy\n"), HasSubstr("`orrery validate all -o md`"),
                           HasSubstr("\n## network\n"),
                           HasSubstr("measured.csv:2, {hardware: {gpu: h100-sxm}"),
                           HasSubstr("| network measured: 128 MiB and more | 2 |")));
  // 3900 and 4100 us of the same question: the best answer is 4000.
  EXPECT_THAT(r.out, HasSubstr("| network measured: 128 MiB and more, repeats | 1 | 2 | 2.5 |"));
  EXPECT_THAT(r.out, HasSubstr("The folder has no offline_throughput.csv: that table is skipped."));
  EXPECT_THAT(r.out, AllOf(HasSubstr("1: a collective that is not modelled (the first: "
                                     "measured.csv:4)"),
                           HasSubstr("1: marked suspect by the data set"),
                           HasSubstr("No data: the folder has no `training/iteration.csv`")));
  // The same question again, which also writes the page.
  const std::filesystem::path page = data_.path() / "page.html";
  EXPECT_EQ(run_program(all() + "-o md --html '" + page.string() + "'").out, r.out);
  EXPECT_EQ(read_file(page), run_program(all() + "-o html").out);
}

TEST_F(Validate, EveryFormHasTheSameFigures) {
  const json j = json::parse(run_program(all() + "-o json").out);
  ASSERT_EQ(j["areas"].size(), 13u);
  double median = -1;
  for (const json& area : j["areas"]) {
    if (area["area"] != "inference") continue;
    for (const json& t : area["tables"]) {
      if (t["metric"] == "decode") median = t["median"];
    }
  }
  ASSERT_GE(median, 0);
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", median);
  const std::string page = run_program(all() + "-o html").out;
  EXPECT_THAT(page, AllOf(HasSubstr("<!doctype html>"), HasSubstr("name=viewport"),
                          HasSubstr("prefers-color-scheme:dark"),
                          HasSubstr("<td>inference single_request: decode<td class=r>1<td "
                                    "class=r>" +
                                    std::string(text))));
  EXPECT_THAT(page, AllOf(HasSubstr("<svg"), HasSubstr("<title>inference single_request: decode: 1 "
                                                       "rows, median " +
                                                       std::string(text) + " %")));
  EXPECT_THAT(page,
              AllOf(Not(HasSubstr("<script")), Not(HasSubstr("http")), Not(HasSubstr("src="))));
  const std::string table = run_program(all()).out;
  EXPECT_THAT(table, HasSubstr(text));
  for (std::size_t begin = 0; begin < table.size();) {
    const std::size_t end = table.find('\n', begin);
    EXPECT_LE(end - begin, 80u) << table.substr(begin, end - begin);
    begin = end + 1;
  }
  // The pooled line of our own rows, and one of the baseline.
  EXPECT_THAT(run_program(network()).out,
              AllOf(HasSubstr("\nall                           2 "),
                    HasSubstr("\nall, alpha-beta               2 "),
                    HasSubstr("The folder has no collective_nccl.csv.gz")));
  const std::string one = run_program(network() + "-o md").out;
  EXPECT_THAT(one, AllOf(HasSubstr("# Accuracy: network"), Not(HasSubstr("## inference"))));
}

TEST_F(Validate, CsvHasAKeyForEveryRow) {
  const std::string csv = run_program(all() + "-o csv").out;
  EXPECT_TRUE(csv.starts_with("key,")) << csv;
  EXPECT_THAT(csv, AllOf(HasSubstr("\ninference/single_request/decode/single_request:2,"),
                         HasSubstr("\nnetwork/orrery/128 MiB and more/measured.csv:3,"),
                         HasSubstr("\nnetwork/alpha-beta/128 MiB and more/measured.csv:3,")));
  // The rows of one area are the same lines.
  const std::string one = run_program(network() + "-o csv").out;
  const std::size_t end = one.find('\n');
  EXPECT_EQ(csv.substr(0, end), one.substr(0, end));
  EXPECT_THAT(csv, HasSubstr(one.substr(end)));
}

// A user's own question is answered with constants that no row was left out of.
TEST_F(Validate, CommittedConstantsAreInSampleAndAnswerTheQuestions) {
  const Result table = run_program(network() + "--committed");
  ASSERT_EQ(table.code, 0) << table.err;
  EXPECT_THAT(table.out, AllOf(HasSubstr("\nIn sample: "), Not(HasSubstr("left out"))));
  EXPECT_THAT(run_program(network()).out,
              AllOf(Not(HasSubstr("In sample")), HasSubstr("orrery left out")));
  const json j = json::parse(run_program(network() + "--committed -o json").out);
  EXPECT_THAT(j["note"].get<std::string>(), HasSubstr("no headline"));
  EXPECT_THAT(run_program(network() + "--committed -o md").out, HasSubstr("In sample: "));

  const std::string csv = run_program(network() + "--committed -o csv").out;
  const std::size_t begin = csv.find('\n') + 1;
  const std::string row = csv.substr(begin, csv.find('\n', begin) - begin);
  ASSERT_TRUE(row.ends_with(",time")) << row;
  const std::size_t question = row.find('{'), end = row.rfind('}') + 1;
  const std::string file = data_.file("q.yaml", row.substr(question, end - question));
  const json answer = json::parse(run_program("run '" + file + "' -o json").out);
  const double time = answer["points"][0]["metrics"]["time"]["value"].get<double>();
  const std::size_t predicted = row.find(",3900,") + 6;
  EXPECT_NEAR(std::stod(row.substr(predicted)), time, time * 1e-5);
}

TEST_F(Validate, CommittedConstantsAreRefusedWhereTheyChangeNothing) {
  const std::string kernels =
      "validate kernels --committed --data '" + data_.path().string() + "' ";
  for (const std::string& arguments :
       {"validate layers --committed --data '" + data_.path().string() + "'",
        kernels + "--points 8", kernels + "--rows left-out", kernels + "--left-out-gpu l40s"}) {
    const Result r = run_program(arguments);
    EXPECT_EQ(r.code, kBadInput) << arguments;
    EXPECT_THAT(r.err, HasSubstr("--committed")) << arguments;
  }
}

TEST_F(Validate, TheSameBuildChangesNothing) {
  const std::string file = data_.file("before.csv", run_program(all() + "-o csv").out);
  const Result r = run_program(all() + "--baseline '" + file + "'");
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  EXPECT_THAT(r.out, HasSubstr("8 rows, none changed"));
  EXPECT_EQ(run_program(network() + "--baseline '" + file + "'").code, 0);
}

TEST_F(Validate, ChangedGainedAndLostRowsAreReported) {
  const std::string key = "network/orrery/128 MiB and more/measured.csv:2";
  const std::string csv = run_program(network() + "-o csv").out;
  // The other build predicted 2,000 us.
  const std::string other = edited(csv, "\n" + key, [](std::string line) {
    std::size_t at = line.find(",3900,") + 6;
    return line.replace(at, line.find(',', at) - at, "2000");
  });
  const std::string file = data_.file("other.csv", other);
  const Result r = run_program(network() + "--baseline '" + file + "'");
  EXPECT_EQ(r.code, kChanged) << r.out << r.err;
  EXPECT_THAT(r.out, AllOf(HasSubstr("network orrery"), HasSubstr("to 4038 (+101.9 %)"),
                           HasSubstr("measured 3900"), Not(HasSubstr("network alpha-beta"))));
  const Result as_json = run_program(network() + "-o json --baseline '" + file + "'");
  EXPECT_EQ(as_json.code, kChanged);
  const json j = json::parse(as_json.out);
  EXPECT_EQ(j["same"], false);
  for (const json& t : j["tables"]) EXPECT_EQ(t["changed"], t["table"] == "orrery" ? 1 : 0) << t;

  const std::string shorter =
      data_.file("shorter.csv", edited(csv, "\n" + key, [](const std::string&) { return "\n"; }));
  const Result gained = run_program(network() + "-o json --baseline '" + shorter + "'");
  EXPECT_EQ(gained.code, kChanged);
  for (const json& t : json::parse(gained.out)["tables"])
    EXPECT_EQ(t["gained"], t["table"] == "orrery" ? 1 : 0) << t;
}

TEST_F(Validate, WhatCannotBeComparedEndsInOneMessage) {
  const auto refused = [](const std::string& arguments, const std::string& message) {
    const Result r = run_program(arguments);
    EXPECT_EQ(r.code, kBadInput) << arguments;
    EXPECT_THAT(r.err, HasSubstr(message));
    EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
    EXPECT_EQ(r.out, "") << arguments;
  };
  const auto baseline = [&](const std::string& name, const std::string& text) {
    return network() + "--baseline '" + data_.file(name, text) + "'";
  };
  refused(network() + "--baseline /nowhere.csv", "/nowhere.csv");
  refused(baseline("a.csv", "row,measured\n1,2\n"), "key");
  refused(baseline("b.csv", "key,measured,predicted,low50,high50,low90,high90\n"), "no rows");
  refused(baseline("c.csv",
                   "key,measured,predicted,low50,high50,low90,high90\ninference/t/t:1,1,1,1,1,1,"
                   "1\n"),
          "no rows of the area network");
  refused(baseline("d.csv",
                   "key,measured,predicted,low50,high50,low90,high90\nnetwork/t/t:1,1,x,1,1,1,1\n"),
          "d.csv:2");
  refused(all() + "--table measured", "--table");
  refused(all() + "-o csv --html x.html", "--html");
  refused("validate all --data '" + (data_.path() / "network").string() + "'", "no tables");
}

TEST_F(Validate, TheTablesAreWhereTheEnvironmentSays) {
  const std::string here = "ORRERY_DATA='" + data_.path().string() + "'";
  EXPECT_EQ(run_program("validate all -o md", here).out, run_program(all() + "-o md").out);
  const Result r = run_program("validate kernels", here);
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, AllOf(HasSubstr((data_.path() / "kernels").string()), HasSubstr("--data"),
                           HasSubstr("ORRERY_DATA")));
  EXPECT_EQ(run_program("fit kernels --date 2026-01-01", here).err,
            "orrery: " + r.err.substr(r.err.find('/')));
}

}  // namespace validate_test
}  // namespace orrery::golden
