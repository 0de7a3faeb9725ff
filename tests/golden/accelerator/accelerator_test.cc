// Do questions about chips of a user's own end with the right exit code and a message that names
// the place?
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/golden/program.h"

namespace orrery::golden {
namespace accelerator_test {

using testing::HasSubstr;

constexpr int kBadInput = 2, kInfeasible = 3;

std::string with(std::string text, const std::string& old_part, const std::string& new_part) {
  const std::size_t at = text.find(old_part);
  EXPECT_NE(at, std::string::npos) << old_part;
  return at == std::string::npos ? text : text.replace(at, old_part.size(), new_part);
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

void expect_refused(const std::string& arguments, int code, const std::string& message) {
  const Result r = run_program("accelerator " + arguments);
  EXPECT_EQ(r.code, code) << arguments << "\n" << r.err;
  EXPECT_THAT(r.err, HasSubstr(message)) << arguments;
  EXPECT_EQ(r.out, "") << arguments;
}

const std::string kMapping = "scenarios/accelerator/nvdla-matmul.looptree";

TEST(Accelerator, MappingsOfCascades) {
  const std::string question = "evaluate --convention looptree --workload matmul_1024 --arch ";
  expect_refused(question + "nvdl --mapping " + kMapping, kBadInput, "did you mean 'nvdla'?");
  expect_refused(question + "nvdla --energies ert.yaml --mapping " + kMapping, kBadInput,
                 "--energies belongs to Timeloop's architectures");
  const Scratch s;
  const std::string large =
      s.file("large.txt", with(with(read_file(ORRERY_SOURCE_DIR "/" + kMapping),
                                    "T-m in [0..4) shape=256", "T-m in [0..2) shape=512"),
                               "T-m in [0..2) shape=128", "T-m in [0..4) shape=128"));
  expect_refused(question + "nvdla --mapping " + large, kInfeasible,
                 "Matmul0: GlobalBuffer would hold 786432 bits and has room for 524288; "
                 "262144 are missing");
}

TEST(Accelerator, BuffersOfTheConventionExact) {
  const std::string question = "evaluate --workload matmul_1024 --arch nvdla --mapping " + kMapping;
  expect_refused(question + " --convention exact", kInfeasible,
                 "Matmul0: GlobalBuffer would hold 1048576 bits (twice T1 262144, twice T0 131072, "
                 "twice W0 131072) and has room for 524288; 524288 are missing; --buffers single "
                 "fits");
  expect_refused(question + " --convention looptree --buffers single", kBadInput,
                 "--buffers belongs to --convention exact");
}

TEST(Accelerator, OpsOfModels) {
  const std::string model = "map --arch simba-like --model llama-3-8b --valid 10 ";
  const Result r = run_program("accelerator " + model + "--op attn_prefill --einsum QK --isl 256");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("llama-3-8b attn_prefill QK on simba-like: "));
  expect_refused(model + "--op attn_prefill", kBadInput, "choose one with --einsum (QK, AV)");
  expect_refused(model + "--op qkv_prj", kBadInput, "did you mean 'qkv_proj'?");
  expect_refused(model + "--op attn_prefill --phase decode", kBadInput,
                 "is no op of llama-3-8b in decode");
  expect_refused(model + "--op embedding", kBadInput, "embedding is no einsum");
  expect_refused(model + "--op o_proj --workload gelu", kBadInput,
                 "give --workload, or --model and --op");
  expect_refused("map --arch simba-like --model llama-3-8b", kBadInput, "expected --workload, or");
}

TEST(Accelerator, SparseDesigns) {
  const Scratch s;
  const std::string arch = s.file("chip.yaml", R"(architecture:
  nodes:
    - {name: Backing, class: SRAM, attributes: {depth: 512, width: 32, datawidth: 8,
       metadata_storage_width: 4, metadata_storage_depth: 128, metadata_datawidth: 4}}
    - {name: Buffer, class: storage, attributes: {depth: 64, width: 8, datawidth: 8,
       metadata_storage_width: 4, metadata_storage_depth: 16, metadata_datawidth: 4}}
    - {name: mac, class: intmac, attributes: {datawidth: 8}}
)");
  const std::string workload = s.file("conv.yaml", R"(problem:
  shape:
    name: conv
    dimensions: [S, Q]
    data_spaces:
      - {name: W, projection: [[[S]]]}
      - {name: I, projection: [[[S], [Q]]]}
      - {name: O, projection: [[[Q]]], read_write: true}
  instance: {S: 3, Q: 9, densities: {W: 0.43}}
)");
  const std::string mapping = s.file("map.yaml", R"(mapping:
  - {target: Buffer, type: temporal, factors: S=3 Q=9, permutation: SQ}
)");
  const std::string design = R"(sparse_optimizations:
  targets:
    - name: Buffer
      representation_format: {data_spaces: [{name: W, ranks: [{format: RLE}]}]}
      action_optimization: [{type: skipping, options: [{target: I, condition_on: [W]}]}]
)";
  const std::string question =
      "explain --arch " + arch + " --workload " + workload + " --mapping " + mapping;
  const Result r =
      run_program("accelerator " + question + " --sparse " + s.file("sparse.yaml", design));
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("conv on chip: 12 cycles"));
  EXPECT_THAT(r.out, HasSubstr("12/0/15"));
  EXPECT_THAT(run_program("accelerator " + question).out, HasSubstr("conv on chip: 27 cycles"));
  expect_refused(question + " --sparse " +
                     s.file("wrong.yaml", with(design, "condition_on", "conditioned_on")),
                 kBadInput, "wrong.yaml:5: ");
  expect_refused(question + " --convention exact --sparse " + s.file("sparse.yaml", design),
                 kBadInput, "--sparse belongs to --convention timeloop");
}

TEST(Accelerator, BundledNames) {
  const std::string arch = "map --arch simba-like --workload ";
  const Result r = run_program("accelerator " + arch + "resnet50-conv2_3x3 --valid 10");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("resnet50-conv2_3x3 on simba-like: "));
  EXPECT_THAT(run_program("list accelerators").out, HasSubstr("simba-like     hierarchy"));
  expect_refused("map --arch simb-like --workload gelu", kBadInput, "did you mean 'simba-like'?");
  expect_refused(arch + "resnet50-conv3_3x3", kBadInput, "did you mean 'resnet50-conv2_3x3'?");
  expect_refused(arch + "bert-base-attention", kBadInput,
                 "choose one with --einsum (QK, max, exp, sum, divide, AV)");
  expect_refused(arch + "bert-base-attention --einsum Q", kBadInput, "did you mean 'QK'?");
  expect_refused(arch + "gelu --energies ert.yaml", kBadInput, "simba-like has its energies");
}

TEST(Accelerator, Pages) {
  const Scratch s;
  const std::string page = s.path() / "page.html";
  const std::string matmul = "evaluate --workload matmul_1024 --arch nvdla --mapping " + kMapping;
  const std::string fixed = "scenarios/accelerator/fixed/";
  // The question, the titles of its pictures, and a name beside a bar.
  const std::tuple<std::string, std::vector<std::string>, std::string> asked[] = {
      {"map --arch simba-like --workload resnet50-conv2_3x3 --valid 10",
       {"Energy of each level", "resnet50-conv2_3x3 on simba-like"},
       ">GlobalBuffer<"},
      {matmul + " --convention looptree",
       {"Time of each einsum", "Energy of each einsum"},
       ">Matmul0<"},
      {matmul + " --convention exact --buffers single",
       {"Cycles of each einsum", "Energy of each einsum"},
       ">Matmul0<"},
      {"systolic -c " + fixed + "systolic.cfg -t " + fixed + "convolutions.csv",
       {"Cycles of each layer"},
       "</text>"},
      {"directives --mapping " + fixed + "weight-stationary.m",
       {"Cycles of each layer"},
       "</text>"}};
  for (const auto& [question, titles, name] : asked) {
    const std::string plain = run_program("accelerator " + question).out;
    const Result r = run_program("accelerator " + question + " --html " + page);
    EXPECT_EQ(r.code, 0) << question << r.err;
    EXPECT_EQ(r.out, plain) << question;
    const std::string text = read_file(page);
    for (const std::string& title : titles) EXPECT_THAT(text, HasSubstr(title)) << question;
    EXPECT_THAT(text, HasSubstr(name)) << question;
    EXPECT_EQ(count_of(text, "<svg"), titles.size()) << question;
    EXPECT_EQ(count_of(text, "<script") + count_of(text, " src="), 0u) << question;
    std::filesystem::remove(page);
  }
}

TEST(Accelerator, FilesOfFixedDataflows) {
  const Scratch s;
  const std::string folder = "scenarios/accelerator/fixed/";
  const std::string config =
      s.file("a.cfg", with(read_file(ORRERY_SOURCE_DIR "/" + folder + "systolic.cfg"), "ws", "rs"));
  expect_refused("systolic -t " + folder + "products.csv -c " + config, kBadInput,
                 "dataflow: expected os, ws or is, got 'rs'");
  const std::string hardware = s.file("hw.m", "num_pe: 4\n");
  expect_refused("directives --mapping " + folder + "weight-stationary.m --hardware " + hardware,
                 kBadInput, "hw.m:1: unknown key 'num_pe' (did you mean 'num_pes'?)");
}

}  // namespace accelerator_test
}  // namespace orrery::golden
