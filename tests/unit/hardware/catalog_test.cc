// Lookup by id, alias and path; the overlay; every name that the data tables use.
#include "orrery/hardware/catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "orrery/base/error.h"
#include "tests/refusal.h"

namespace orrery {
namespace catalog_test {

using ::testing::AllOf;
using ::testing::HasSubstr;

// A folder that is removed when the test ends.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "orrery-catalog-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::filesystem::path write(const std::string& name, const std::string& text) const {
    const std::filesystem::path file = path_ / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
    return file;
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

std::string anvil(const std::string& id) {
  return "id: " + id +
         "\nvendor: acme\narchitecture: anvil\naliases: [Anvil_One, 'anvil 1']\nmemory: {capacity: "
         "8 "
         "GiB, bandwidth: 1 TB/s}\ncompute_units: 4\npeak: {fp16: 10 TFLOP/s}\nsources: [a "
         "sheet]\n";
}

TEST(Catalog, FindsGpusByIdInAnySpelling) {
  const Catalog c;
  for (const char* name : {"h100-sxm", "H100-SXM", "h100_sxm", "H100_Sxm"}) {
    EXPECT_EQ(c.gpu(name).id, "h100-sxm") << name;
  }
}

// The names in the data tables and in the suites, with the card that each means.
TEST(Catalog, FindsTheNamesOfTheDataTables) {
  const std::map<std::string, std::string> names = {
      {"a100_pcie", "a100-80g-pcie"},
      {"a100_sxm", "a100-80g-sxm"},
      {"a30", "a30"},
      {"b200_sxm", "b200-sxm"},
      {"b300_sxm", "b300-sxm"},
      {"b60", "b60"},
      {"gb200", "gb200"},
      {"gb300", "gb300"},
      {"h100_pcie", "h100-pcie"},
      {"h200_sxm", "h200-sxm"},
      {"rtx_pro_6000_server", "rtx-pro-6000-server"},
      {"a100-40g-sxm", "a100-40g-sxm"},
      {"a100-sxm-40gb", "a100-40g-sxm"},
      {"a100-sxm-80gb", "a100-80g-sxm"},
      {"a100-80gb", "a100-80g-sxm"},
      {"a100-pcie-80gb", "a100-80g-pcie"},
      {"h100-sxm-80gb", "h100-sxm"},
      {"h100-pcie-80gb", "h100-pcie"},
      {"h100-nvl-94gb", "h100-nvl"},
      {"h200-sxm-141gb", "h200-sxm"},
      {"gh200-96gb", "gh200-96gb"},
      {"gh200-144gb", "gh200-144gb"},
      {"b200-180gb", "b200-sxm"},
      {"b300", "b300-sxm"},
      {"mi250", "mi250"},
      {"mi300x", "mi300x"},
      {"max1550", "max1550"},
      {"gaudi2", "gaudi2"},
      {"sn40l", "sn40l"},
      {"jetson-orin", "jetson-agx-orin"},
      {"a10g", "a10g"},
      {"a40", "a40"},
      {"l40s", "l40s"},
      {"tpu-v6e", "tpu-v6e"},
      {"rtx-3070", "rtx-3070"},
      {"rtx-3080", "rtx-3080"},
      {"rtx-3080-ti", "rtx-3080-ti"},
      {"rtx-3090", "rtx-3090"},
      {"rtx-4070-ti", "rtx-4070-ti"},
      {"rtx-4080", "rtx-4080"},
      {"rtx-4090", "rtx-4090"},
      {"rtx-4000-ada", "rtx-4000-ada"},
      {"rtx-5000-ada", "rtx-5000-ada"},
      {"rtx-6000-ada", "rtx-6000-ada"},
      {"rtx-a6000", "rtx-a6000"},
      {"rtx-pro-6000-server", "rtx-pro-6000-server"},
      {"m1", "m1"},
      {"m1-max", "m1-max"},
      {"m2-ultra", "m2-ultra"},
      {"m3-max", "m3-max"},
      {"a100_sxm_40gb", "a100-40g-sxm"},
      {"a100_pcie_40gb", "a100-40g-pcie"},
      {"a800_sxm_80gb", "a800-80g-sxm"},
      {"h100_sxm_96gb_500w", "h100-96g-sxm"},
      {"h800_sxm", "h800-sxm"},
      {"h200_nvl", "h200-nvl"},
      {"v100_sxm_16gb", "v100-16g-sxm"},
      {"v100_sxm_32gb", "v100-32g-sxm"},
      {"v100_pcie_32gb", "v100-32g-pcie"},
      {"p100_pcie_16gb", "p100-pcie"},
      {"rtx5090", "rtx-5090"},
      {"rtx_pro_6000", "rtx-pro-6000"},
      {"a6000", "rtx-a6000"},
      {"a5000", "rtx-a5000"},
      {"mi350x", "mi350x"},
      {"tpu_v5e", "tpu-v5e"},
      {"tpu_v7x", "tpu-v7x"},
  };
  const Catalog c;
  for (const auto& [name, id] : names) EXPECT_EQ(c.gpu(name).id, id) << name;
}

TEST(Catalog, NamesTheNearestGpu) {
  const Catalog c;
  EXPECT_EQ(refusal_of([&] { c.gpu("h100-smx"); }),
            "unknown GPU 'h100-smx' (did you mean 'h100-sxm'?)");
  EXPECT_THAT(refusal_of([&] { c.gpu("rtx-409"); }), HasSubstr("'rtx-4090'"));
  EXPECT_THAT(refusal_of([&] { c.gpu("trillum"); }), HasSubstr("'trillium'"));
  EXPECT_EQ(refusal_of([&] { c.gpu("zzzzzzzzzzzz"); }),
            "unknown GPU 'zzzzzzzzzzzz'; `orrery list gpus` names all");
  EXPECT_THAT(refusal_of([&] { c.gpu(""); }), HasSubstr("unknown GPU ''"));
  EXPECT_LT(refusal_of([&] { c.gpu(std::string(100000, 'x')); }).size(), 200u);
  EXPECT_THAT(refusal_of([&] { c.node_type("hgx-h10"); }), HasSubstr("node type"));
  EXPECT_THAT(refusal_of([&] { c.fabric("ib-ndrr"); }), HasSubstr("ib-ndr"));
}

TEST(Catalog, WhatIsWrittenAsJsonReadsAgain) {
  Gpu g = Catalog().gpu("h100-sxm");
  Fields fields;
  declare(fields, g);
  const Gpu again = read_gpu(parse_json(fields.json().dump(), "again.json"));
  EXPECT_EQ(again.memory.bandwidth, g.memory.bandwidth);
  EXPECT_EQ(again.peaks, g.peaks);
  EXPECT_EQ(again.l3, g.l3);
  EXPECT_EQ(again.scale_up.bandwidth, g.scale_up.bandwidth);
  EXPECT_EQ(again.sources, g.sources);
}

TEST(Catalog, ANodeHasGpus) {
  const Folder folder;
  folder.write("nodes/empty.yaml",
               "id: empty\nname: none\ngpus: []\ngpu_count: 1\nsources: [none]\n");
  const Bundle bundle(folder.path().string());
  EXPECT_THAT(refusal_of([&] { Catalog(bundle).node_type("empty"); }),
              HasSubstr("gpus: expected at least one GPU's id"));
}

TEST(Catalog, ReadsAFileByItsPath) {
  const Folder folder;
  const auto file = folder.write("mine.yaml", anvil("anvil"));
  const Catalog c;
  EXPECT_EQ(c.gpu(file.string()).id, "anvil");
  EXPECT_THAT(refusal_of([&] { c.gpu("no/such/gpu.yaml"); }), HasSubstr("no/such/gpu.yaml"));
  EXPECT_THAT(refusal_of([&] { c.gpu(folder.path().string() + "/"); }),
              HasSubstr("orrery-catalog"));
}

TEST(Catalog, OverlayAddsAndReplaces) {
  const Folder folder;
  folder.write("gpus/anvil.yaml", anvil("anvil"));
  folder.write("gpus/t4.yaml", anvil("t4"));
  const Catalog c{Bundle(folder.path())};
  EXPECT_EQ(c.gpu("anvil").vendor, "acme");
  EXPECT_EQ(c.gpu("ANVIL-ONE").id, "anvil");
  EXPECT_EQ(c.gpu("t4").vendor, "acme");
  EXPECT_EQ(c.gpu("h100-sxm").vendor, "nvidia");
  EXPECT_THAT(c.gpu_ids(), AllOf(::testing::Contains("anvil"), ::testing::Contains("h100-sxm")));
}

TEST(Catalog, AFileMustBeNamedAfterItsId) {
  const Folder folder;
  folder.write("gpus/hammer.yaml", anvil("anvil"));
  EXPECT_THAT(refusal_of([&] { Catalog(Bundle(folder.path())).gpu("hammer"); }),
              AllOf(HasSubstr("hammer.yaml:1"), HasSubstr("expected 'hammer'")));
}

TEST(Catalog, AliasesStandOnOneLine) {
  const Folder folder;
  folder.write("gpus/anvil.yaml", "id: anvil\naliases:\n  - one\n");
  EXPECT_THAT(refusal_of([&] { Catalog(Bundle(folder.path())).gpu("one"); }),
              HasSubstr("on one line"));
}

}  // namespace catalog_test
}  // namespace orrery
