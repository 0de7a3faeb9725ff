#include "orrery/hardware/gpu_architecture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "orrery/hardware/catalog.h"
#include "tests/refusal.h"

namespace orrery {
namespace gpu_architecture_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace fs = std::filesystem;

constexpr const char* kFeynman =
    "id: feynman\nvendor: nvidia\nsm_versions: [130]\nexponentials: 64\nburst: 0.1\n"
    "replaced_kernels: [{family: moe, what: old by new}]\n"
    "variants:\n"
    "  - {sm_versions: [140, 141], kernels: feynman-geforce, burst: 0, replaced_kernels: []}\n"
    "sources: [imagined]\n";

Bundle with(const std::string& text) {
  return Bundle().replacing("architectures", {{"architectures/feynman.yaml", text}});
}

GpuArchitecture feynman(int sm, const std::string& text = kFeynman) {
  return find_architecture({"feynman", "nvidia", sm}, with(text));
}

TEST(GpuArchitecture, EveryGpuOfTheCatalogHasAFile) {
  const Catalog catalog;
  for (const std::string& id : catalog.gpu_ids()) {
    const Gpu g = catalog.gpu(id);
    SCOPED_TRACE(id);
    EXPECT_TRUE(g.architecture.known);
    EXPECT_EQ(g.architecture.vendor, g.vendor);
    EXPECT_FALSE(g.architecture.sources.empty());
    const auto& sm = g.architecture.sm_versions;
    EXPECT_EQ(std::count(sm.begin(), sm.end(), g.sm_version), g.sm_version > 0 ? 1 : 0);
  }
}

TEST(GpuArchitecture, AFileSaysWhatItsGpusShare) {
  const GpuArchitecture a = feynman(130);
  EXPECT_EQ(a.id, "feynman");
  EXPECT_EQ(a.kernels, "feynman");
  EXPECT_TRUE(a.known);
  EXPECT_EQ(a.exponentials, 64);
  EXPECT_EQ(a.burst, 0.1);
  ASSERT_EQ(a.replaced_kernels.size(), 1u);
  EXPECT_EQ(a.replaced_kernels.front().what, "old by new");
}

TEST(GpuArchitecture, AVariantSaysWhatDiffers) {
  const GpuArchitecture a = feynman(141);
  EXPECT_EQ(a.id, "feynman");
  EXPECT_EQ(a.kernels, "feynman-geforce");
  EXPECT_THAT(a.sm_versions, ElementsAre(140, 141));
  EXPECT_EQ(a.burst, 0);
  EXPECT_TRUE(a.replaced_kernels.empty());
  EXPECT_EQ(a.exponentials, 64);  // not stated again
}

// Blackwell's two kinds of chips share a name and no kernels; Ampere's share kernels.
TEST(GpuArchitecture, VariantsOfTheCatalog) {
  const Catalog c;
  EXPECT_EQ(c.gpu("b200-sxm").architecture.kernels, "blackwell");
  EXPECT_EQ(c.gpu("rtx-5090").architecture.kernels, "blackwell-geforce");
  EXPECT_EQ(c.gpu("gb10").architecture.kernels, "blackwell-geforce");
  EXPECT_EQ(c.gpu("a100-80g-sxm").architecture.kernels, c.gpu("a40").architecture.kernels);
  EXPECT_NE(c.gpu("a100-80g-sxm").architecture.fp32_picojoules,
            c.gpu("a40").architecture.fp32_picojoules);
  EXPECT_EQ(c.gpu("b300-sxm").architecture.exponentials,
            2 * c.gpu("b200-sxm").architecture.exponentials);
}

TEST(GpuArchitecture, WithoutAFileTheNearestCapabilityStandsIn) {
  const auto of = [](int sm) { return find_architecture({"kepler", "nvidia", sm}, Bundle()); };
  EXPECT_FALSE(of(35).known);
  EXPECT_EQ(of(35).taken_from, "pascal");
  EXPECT_EQ(of(35).id, "kepler");
  EXPECT_EQ(of(35).kernels, "kepler");  // no sweep of another GPU is one of its generation
  EXPECT_EQ(of(110).taken_from, "rubin");
  EXPECT_EQ(of(130).taken_from, "blackwell-geforce");
  EXPECT_EQ(of(78).taken_from, "ampere");
  std::vector<std::string> notes;
  note_unknown(of(110), notes);
  EXPECT_THAT(notes, ElementsAre("wider intervals: the architecture kepler has no file "
                                 "(catalog/architectures); its facts are those of rubin"));
}

TEST(GpuArchitecture, OfTwoCapabilitiesAsNearTheLowerOneStandsIn) {
  EXPECT_EQ(feynman(135).kernels, "feynman");
  EXPECT_EQ(feynman(136).kernels, "feynman-geforce");
}

TEST(GpuArchitecture, WithoutACapabilityNothingIsKnown) {
  const GpuArchitecture a = find_architecture({"anvil", "acme", 0}, Bundle()), none;
  EXPECT_FALSE(a.known);
  EXPECT_EQ(a.taken_from, "");
  EXPECT_EQ(a.exponentials, none.exponentials);
  EXPECT_EQ(a.older_host, none.older_host);
  std::vector<std::string> notes;
  note_unknown(a, notes);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_THAT(notes.front(), HasSubstr("nothing is known of it but the data sheet"));
}

// Another maker's chip of the same name is another chip.
TEST(GpuArchitecture, AFileServesItsVendorAlone) {
  EXPECT_FALSE(find_architecture({"hopper", "acme", 0}, Bundle()).known);
}

class GpuOfAFile : public testing::Test {
 protected:
  GpuOfAFile() : folder_(fs::path(testing::TempDir()) / "orrery-architecture") {
    fs::remove_all(folder_);
  }
  ~GpuOfAFile() override { fs::remove_all(folder_); }
  fs::path write(const std::string& name, const std::string& text) const {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }
  fs::path write_gpu(const std::string& name) const {
    return write(name,
                 "id: f100\nvendor: nvidia\narchitecture: feynman\nsm_version: 130\n"
                 "memory: {capacity: 80 GiB, bandwidth: 4 TB/s}\ncompute_units: 120\n"
                 "peak: {bf16: 900 TFLOP/s}\nsources: [imagined]\n");
  }

  fs::path folder_;
};

TEST_F(GpuOfAFile, FindsItsArchitectureBesideIt) {
  const fs::path gpu = write_gpu("f100.yaml");
  EXPECT_FALSE(Catalog().gpu(gpu.string()).architecture.known);
  write("architectures/feynman.yaml", kFeynman);
  EXPECT_EQ(Catalog().gpu(gpu.string()).architecture.exponentials, 64);
}

TEST_F(GpuOfAFile, FindsItsArchitectureInTheSameCatalog) {
  const fs::path gpu = write_gpu("gpus/f100.yaml");
  write("architectures/feynman.yaml", kFeynman);
  EXPECT_EQ(Catalog().gpu(gpu.string()).architecture.exponentials, 64);
  EXPECT_EQ(Catalog(Bundle(folder_)).gpu("f100").architecture.exponentials, 64);
}

TEST(GpuArchitecture, FaultsNameTheirPlace) {
  const auto refusal = [](const std::string& text) {
    return refusal_of([&] { feynman(130, text); });
  };
  EXPECT_THAT(refusal("id: feynman\nvendor: nvidia\nsources: [x]\nexponentails: 16\n"),
              AllOf(HasSubstr("feynman.yaml:4"), HasSubstr("exponentials")));
  EXPECT_THAT(refusal("id: einstein\nvendor: nvidia\nsources: [x]\n"),
              HasSubstr("expected 'feynman'"));
  EXPECT_THAT(refusal("id: feynman\nvendor: nvidia\n"), HasSubstr("sources"));
  EXPECT_THAT(refusal("id: feynman\nvendor: nvidia\nsources: [x]\nvariants: [{burst: 0.1}]\n"),
              AllOf(HasSubstr("feynman.yaml:4"), HasSubstr("a variant needs sm_versions")));
  EXPECT_THAT(refusal("id: feynman\nvendor: nvidia\nsources: [x]\nnccl: feynman\n"),
              HasSubstr("expected one of volta, ampere, hopper, blackwell"));
}

}  // namespace gpu_architecture_test
}  // namespace orrery
