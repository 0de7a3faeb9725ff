// Does a store give back what it was given, and nothing else, and say what is wrong with its file?
#include "orrery/planner/store/result_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "orrery/base/error.h"
#include "orrery/planner/store/point_bytes.h"
#include "orrery/planner/store/result_key.h"
#include "orrery/scenario/kinds/service/service_question.h"

namespace orrery {
namespace result_store_test {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const ResultStore::Scope kScope = {"1.0", "catalog"};

// A folder for the files of one test.
class ResultStoreTest : public ::testing::Test {
 protected:
  ResultStoreTest() { fs::create_directories(folder_); }
  ~ResultStoreTest() override { fs::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  // The message with which a file is refused; empty: it is not.
  static std::string refusal(const std::string& file) {
    try {
      const ResultStore store(file, kScope);
      return store.failure();
    } catch (const InputError& e) {
      return e.what();
    }
  }

  static void execute(const std::string& file, const char* sql) {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(file.c_str(), &db), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(db, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
    sqlite3_close(db);
  }

  const fs::path folder_ = fs::path(::testing::TempDir()) /
                           (std::string("result-store-") +
                            ::testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(ResultStoreTest, KeepsResultsForTheNextProgram) {
  const std::string bytes("a\0b", 3);
  {
    ResultStore store(path("a.db"), kScope);
    EXPECT_EQ(store.kept("key"), std::nullopt);
    store.keep("key", bytes);
    store.keep("key", "another");  // the first one stays
    EXPECT_EQ(store.kept("key"), bytes);
  }
  ResultStore store(path("a.db"), kScope);
  EXPECT_EQ(store.kept("key"), bytes);
  EXPECT_EQ(store.size(), 1);
}

TEST_F(ResultStoreTest, HasResultsOfOneVersionAndCatalogAlone) {
  ResultStore(path("a.db"), kScope).keep("key", "value");
  EXPECT_EQ(ResultStore(path("a.db"), {"1.1", "catalog"}).kept("key"), std::nullopt);
  EXPECT_EQ(ResultStore(path("a.db"), {"1.0", "other"}).kept("key"), std::nullopt);
  EXPECT_EQ(ResultStore(path("a.db"), kScope).kept("key"), "value");
}

TEST_F(ResultStoreTest, TellsKeysOfOneHashFromEachOther) {
  ResultStore store(path("a.db"), kScope, [](std::string_view) { return std::uint64_t{7}; });
  store.keep("one", "1");
  EXPECT_EQ(store.kept("two"), std::nullopt);
  store.keep("two", "2");
  EXPECT_EQ(store.kept("one"), "1");
  EXPECT_EQ(store.kept("two"), "2");
}

TEST_F(ResultStoreTest, IsUsedByTwoProgramsAtOnce) {
  ResultStore one(path("a.db"), kScope), two(path("a.db"), kScope);
  one.keep("key", "value");
  EXPECT_EQ(two.kept("key"), "value");
  two.keep("other", "2");
  EXPECT_EQ(one.kept("other"), "2");
}

TEST_F(ResultStoreTest, RefusesWhatIsNoStore) {
  std::ofstream(path("text.db")) << std::string(5000, 'x');
  EXPECT_THAT(refusal(path("text.db")),
              AllOf(StartsWith(path("text.db")), HasSubstr("not an SQLite file")));
  execute(path("foreign.db"), "CREATE TABLE t (x); INSERT INTO t VALUES (1)");
  EXPECT_THAT(refusal(path("foreign.db")), HasSubstr("SQLite file of another program"));
  EXPECT_THAT(refusal(folder_.string()), HasSubstr("is a folder"));
  EXPECT_THAT(refusal(path("none/a.db")), HasSubstr("cannot be opened"));
  {
    const ResultStore store(path("later.db"), kScope);
  }
  execute(path("later.db"), "PRAGMA user_version = 2");
  EXPECT_THAT(refusal(path("later.db")), HasSubstr("later version"));
}

TEST_F(ResultStoreTest, RefusesADamagedFile) {
  {
    ResultStore store(path("a.db"), kScope);
    for (int i = 0; i < 200; ++i) store.keep("key " + std::to_string(i), std::string(500, 'v'));
  }
  std::fstream file(path("a.db"), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(4096);
  file << std::string(8192, '\xff');
  file.close();
  EXPECT_THAT(refusal(path("a.db")), HasSubstr("damaged"));
}

TEST_F(ResultStoreTest, DoesNotGiveAResultThatWasChanged) {
  ResultStore(path("a.db"), kScope).keep("key", "value");
  execute(path("a.db"), "UPDATE results SET value = 'other'");
  ResultStore store(path("a.db"), kScope);
  EXPECT_EQ(store.kept("key"), std::nullopt);
  EXPECT_THAT(store.failure(), HasSubstr("damaged"));
}

// Root may write everything; the test is another user while it opens the file.
TEST_F(ResultStoreTest, RefusesAFileThatCannotBeWritten) {
  // Other users see this folder, unlike that of the tests.
  const fs::path seen = fs::temp_directory_path() / ("result-store-" + std::to_string(getpid()));
  const std::string file = (seen / "a.db").string();
  fs::create_directories(seen);
  {
    const ResultStore store(file, kScope);
  }
  fs::permissions(file, fs::perms::owner_read | fs::perms::others_read);
  fs::permissions(seen, fs::perms::others_all, fs::perm_options::add);
  constexpr uid_t kNobody = 65534;
  const uid_t own = geteuid();
  if (own == 0) {
    ASSERT_EQ(seteuid(kNobody), 0);
  }
  const std::string why = refusal(file);
  if (own == 0) {
    ASSERT_EQ(seteuid(own), 0);
  }
  fs::remove_all(seen);
  EXPECT_THAT(why, AllOf(StartsWith(file), HasSubstr("cannot be opened for reading and writing")));
}

TEST_F(ResultStoreTest, GoesOnWithoutAFullDisk) {
  ResultStore store(path("a.db"), kScope);
  store.keep("first", "1");
  store.limit_pages(8);
  store.keep("large", std::string(100'000, 'v'));
  EXPECT_THAT(store.failure(), AllOf(StartsWith(path("a.db")), HasSubstr("the disk is full")));
  EXPECT_EQ(store.kept("large"), std::nullopt);                     // and does not throw
  EXPECT_EQ(ResultStore(path("a.db"), kScope).kept("first"), "1");  // nothing is lost
}

TEST(PointBytes, AreThePoint) {
  Point p;
  p.at = {{"tp", 8}, {"rate", 0.1}, {"gpu", "h100-sxm"}};
  p.feasibility = {false, "too large"};
  p.metrics = {{"ttft", "ms", 1.0 / 3, 0.1, 0.2, -0.0, 1e300, Origin::kFitted}};
  p.memory = {{"weights", Bytes(7)}};
  p.memory_capacity = Bytes(80e9);
  p.energy = {{"idle", Joules(3)}};
  p.energy_of = "run";
  p.meets_slo = false;
  p.limit = "memory";
  p.notes = {"one", ""};
  ValueWriter out;
  write(out, p);
  const std::string bytes = out.take();
  ValueReader in(bytes);
  const Point q = read_point(in);
  EXPECT_TRUE(in.at_end());
  EXPECT_EQ(to_json(q, true).dump(), to_json(p, true).dump());
  EXPECT_EQ(q.metrics.at(0).value, p.metrics.at(0).value);
  EXPECT_TRUE(std::signbit(q.metrics.at(0).low90));
  EXPECT_EQ(q.meets_slo, p.meets_slo);
  EXPECT_EQ(q.notes, p.notes);
  ValueReader half(std::string_view(bytes).substr(0, bytes.size() / 2));
  EXPECT_THROW(read_point(half), std::runtime_error);
}

TEST(Digest, DependsOnEveryTextAndItsEnd) {
  const auto of = [](std::initializer_list<const char*> texts) {
    Digest d;
    for (const char* t : texts) d.add(t);
    return d.hex();
  };
  EXPECT_EQ(of({"ab", "c"}), of({"ab", "c"}));
  EXPECT_NE(of({"ab", "c"}), of({"a", "bc"}));
  EXPECT_NE(of({"abcdefgh"}), of({"abcdefgi"}));
  EXPECT_NE(of({}), of({""}));
  EXPECT_EQ(of({"x"}).size(), 32U);
}

TEST_F(ResultStoreTest, KeysHaveWhatTheirFilesHold) {
  std::ofstream(path("trace.csv")) << "one";
  Scenario s;
  s.model = path("trace.csv");  // any value that names a file
  s.asked = ServiceQuestion();
  const std::string before = canonical_text(s);
  s.name = "another name", s.question = "in a sentence";
  EXPECT_EQ(canonical_text(s), before);
  std::ofstream(path("trace.csv")) << "another";
  EXPECT_NE(canonical_text(s), before);
}

TEST_F(ResultStoreTest, CatalogsThatDifferHaveOtherDigests) {
  EXPECT_EQ(catalog_digest(Bundle()), catalog_digest(Bundle()));
  fs::create_directories(path("catalog/gpus"));
  std::ofstream(path("catalog/gpus/h100-sxm.yaml")) << "name: another";
  EXPECT_NE(catalog_digest(Bundle(path("catalog"))), catalog_digest(Bundle()));
}

}  // namespace result_store_test
}  // namespace orrery
