#include "orrery/base/bundle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "tests/unit/base/expect_error.h"

namespace orrery {
namespace bundle_test {

namespace fs = std::filesystem;

class BundleOverlay : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(dir_ / "gpus" / "deep");
    write("gpus/zz-mine.yaml", "mine");
    write("gpus/deep/zz-other.yaml", "other");
    write("gpus/zz-notes.txt", "no yaml");
  }
  void TearDown() override { fs::remove_all(dir_); }
  void write(const std::string& path, std::string_view text) { std::ofstream(dir_ / path) << text; }
  fs::path dir_ = fs::path(testing::TempDir()) / ("bundle" + std::to_string(getpid()));
};

TEST(Bundle, FilesAreSortedForTheSearch) {
  const auto files = bundled_files();
  EXPECT_TRUE(std::is_sorted(files.begin(), files.end(),
                             [](const auto& a, const auto& b) { return a.path < b.path; }));
  for (const BundledFile& f : files) {
    const auto found = Bundle().find(f.path);
    ASSERT_TRUE(found) << f.path;
    EXPECT_EQ(found->content, f.content);
    const std::string path(f.path);
    EXPECT_EQ(found->name, path.starts_with("scenarios/") ? path : "catalog/" + path);
  }
}

TEST(Bundle, WhatIsAbsentIsNotFound) {
  EXPECT_FALSE(Bundle().find("gpus/no-such-gpu.yaml"));
  EXPECT_FALSE(Bundle().find(std::string(100'000, 'x')));
  EXPECT_TRUE(Bundle().list("no-such-folder", ".yaml").empty());
}

TEST_F(BundleOverlay, AddsFilesAndComesFirst) {
  const Bundle bundle(dir_);
  ASSERT_TRUE(bundle.find("gpus/zz-mine.yaml"));
  EXPECT_EQ(bundle.find("gpus/zz-mine.yaml")->content, "mine");
  ASSERT_FALSE(bundled_files().empty());
  const std::string bundled(bundled_files().front().path);
  fs::create_directories((dir_ / bundled).parent_path());
  write(bundled, "laid over");
  const auto over = bundle.find(bundled);
  EXPECT_EQ(over->content, "laid over");
  EXPECT_EQ(over->name, (dir_ / bundled).string());
  fs::remove(dir_ / bundled);
  EXPECT_EQ(over->content, "laid over");  // the File holds its text
  EXPECT_EQ(bundle.find(bundled)->content, bundled_files().front().content);
}

TEST_F(BundleOverlay, ListsBothTogetherSortedAndOnce) {
  const auto before = Bundle().list("gpus", ".yaml");
  ASSERT_FALSE(before.empty());
  write(before.front(), "laid over");
  const auto both = Bundle(dir_).list("gpus", ".yaml");
  EXPECT_TRUE(std::is_sorted(both.begin(), both.end()));
  EXPECT_EQ(both.size(), before.size() + 2);
  EXPECT_THAT(both, testing::IsSupersetOf({"gpus/zz-mine.yaml", "gpus/deep/zz-other.yaml"}));
}

TEST_F(BundleOverlay, NoNameLeadsOutOfIt) {
  const Bundle bundle(dir_ / "gpus" / "deep");
  EXPECT_TRUE(bundle.find("zz-other.yaml"));
  EXPECT_FALSE(bundle.find("../zz-mine.yaml"));
  EXPECT_FALSE(bundle.find((dir_ / "gpus/zz-mine.yaml").string()));
  EXPECT_TRUE(bundle.list("..", ".yaml").empty());
}

TEST_F(BundleOverlay, AnOverlayThatIsNotThereIsAnError) {
  EXPECT_THAT(input_error([&] { Bundle(dir_ / "nowhere"); }),
              testing::EndsWith("no such directory"));
}

TEST(Bundle, ReplacingAFolderHidesIt) {
  const Bundle bundle = Bundle()
                            .replacing("kernels", {{"kernels/gemm/x-y.txt", "text"}})
                            .replacing("calibration", {});
  ASSERT_TRUE(bundle.find("kernels/gemm/x-y.txt"));
  EXPECT_EQ(bundle.find("kernels/gemm/x-y.txt")->content, "text");
  EXPECT_FALSE(bundle.find("kernels/gemm/vllm-h100-sxm.txt.gz"));
  EXPECT_TRUE(Bundle().find("kernels/gemm/vllm-h100-sxm.txt.gz"));
  EXPECT_EQ(bundle.list("kernels/gemm", ".txt"), std::vector<std::string>{"kernels/gemm/x-y.txt"});
  EXPECT_TRUE(bundle.list("calibration/gemm", ".txt").empty());
  EXPECT_TRUE(bundle.find("gpus/h100-sxm.yaml"));
}

}  // namespace bundle_test
}  // namespace orrery
