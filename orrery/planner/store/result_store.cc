#include "orrery/planner/store/result_store.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <cstdio>
#include <filesystem>
#include <utility>

#include "orrery/base/error.h"

namespace orrery {
namespace {

constexpr std::int64_t kApplication = 0x4f525259;  // "ORRY"
constexpr std::int64_t kSchema = 1;
constexpr int kPatience = 10'000;  // ms that another program may write

constexpr const char* kTables =
    "CREATE TABLE scopes (id INTEGER PRIMARY KEY, version TEXT NOT NULL, catalog TEXT NOT NULL,"
    " UNIQUE (version, catalog));"
    "CREATE TABLE results (scope INTEGER NOT NULL, hash INTEGER NOT NULL, key TEXT NOT NULL,"
    " value BLOB NOT NULL, digest INTEGER NOT NULL);"
    "CREATE INDEX results_by_hash ON results (scope, hash);";

// An error of SQLite; `code` is the primary one.
struct Failed {
  int code;
  std::string text;
};

}  // namespace

// The connection and its statements.
class ResultStore::File {
 public:
  explicit File(const std::string& path) {
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX;
    const int code = sqlite3_open_v2(path.c_str(), &db_, flags, nullptr);
    if (code != SQLITE_OK) {
      Failed failed{code & 0xff, db_ != nullptr ? sqlite3_errmsg(db_) : sqlite3_errstr(code)};
      sqlite3_close(std::exchange(db_, nullptr));
      throw failed;
    }
    sqlite3_busy_timeout(db_, kPatience);
  }
  ~File() {
    for (sqlite3_stmt* s : {find_, keep_}) sqlite3_finalize(s);
    sqlite3_close(db_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  void execute(const std::string& sql) {
    check(sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr));
  }

  // The first column of the first row as a text; empty: there is none.
  std::string first(const std::string& sql, std::initializer_list<std::string_view> values = {}) {
    sqlite3_stmt* s = prepared(sql);
    int column = 0;
    for (const std::string_view v : values) bind(s, ++column, v);
    std::string out;
    const int code = sqlite3_step(s);
    if (code == SQLITE_ROW) out = text(s, 0);
    sqlite3_finalize(s);
    check(code);
    return out;
  }
  std::int64_t number(const std::string& sql, std::initializer_list<std::string_view> values = {}) {
    const std::string out = first(sql, values);
    return out.empty() ? 0 : std::stoll(out);
  }

  // The value with the key, and the digest that was kept with it.
  std::optional<std::pair<std::string, std::int64_t>> find(std::int64_t scope, std::int64_t hash,
                                                           std::string_view key) {
    if (find_ == nullptr)
      find_ = prepared("SELECT key, value, digest FROM results WHERE scope = ? AND hash = ?");
    sqlite3_bind_int64(find_, 1, scope);
    sqlite3_bind_int64(find_, 2, hash);
    std::optional<std::pair<std::string, std::int64_t>> out;
    int code = sqlite3_step(find_);
    for (; code == SQLITE_ROW && !out; code = sqlite3_step(find_))
      if (text(find_, 0) == key) out = {text(find_, 1), sqlite3_column_int64(find_, 2)};
    sqlite3_reset(find_);
    check(code);
    return out;
  }

  void keep(std::int64_t scope, std::int64_t hash, std::string_view key, std::string_view value,
            std::int64_t digest) {
    if (keep_ == nullptr) keep_ = prepared("INSERT INTO results VALUES (?, ?, ?, ?, ?)");
    sqlite3_bind_int64(keep_, 1, scope);
    sqlite3_bind_int64(keep_, 2, hash);
    bind(keep_, 3, key);
    sqlite3_bind_blob64(keep_, 4, value.data(), value.size(), SQLITE_STATIC);
    sqlite3_bind_int64(keep_, 5, digest);
    const int code = sqlite3_step(keep_);
    const Failed failed{code & 0xff, sqlite3_errmsg(db_)};
    sqlite3_reset(keep_);
    if (code != SQLITE_DONE) throw failed;
  }

 private:
  void check(int code) {
    if (code != SQLITE_OK && code != SQLITE_ROW && code != SQLITE_DONE)
      throw Failed{code & 0xff, sqlite3_errmsg(db_)};
  }
  sqlite3_stmt* prepared(const std::string& sql) {
    sqlite3_stmt* out = nullptr;
    check(sqlite3_prepare_v2(db_, sql.c_str(), -1, &out, nullptr));
    return out;
  }
  static void bind(sqlite3_stmt* s, int column, std::string_view v) {
    sqlite3_bind_text64(s, column, v.data(), v.size(), SQLITE_STATIC, SQLITE_UTF8);
  }
  static std::string text(sqlite3_stmt* s, int column) {
    const auto* bytes = static_cast<const char*>(sqlite3_column_blob(s, column));
    return bytes == nullptr
               ? ""
               : std::string(bytes, static_cast<std::size_t>(sqlite3_column_bytes(s, column)));
  }

  sqlite3* db_ = nullptr;
  sqlite3_stmt *find_ = nullptr, *keep_ = nullptr;
};

namespace {

bool is_of_the_disk(int code) { return code == SQLITE_FULL || code == SQLITE_IOERR; }

std::string told(const Failed& failed) {
  switch (failed.code) {
    case SQLITE_FULL:
      return "the disk is full";
    case SQLITE_NOTADB:
      return "is not an SQLite file";
    case SQLITE_CORRUPT:
      return fmt::format("is damaged ({})", failed.text);
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return "cannot be written";
    case SQLITE_CANTOPEN:
      return "cannot be opened for reading and writing";
    default:
      return failed.text;
  }
}

}  // namespace

ResultStore::ResultStore(const std::string& path, const Scope& scope, Hash hash)
    : path_(path), hash_(hash) {
  const auto refuse = [&path](const std::string& why) {
    throw InputError(fmt::format("{}: {}", path, why));
  };
  try {
    std::error_code none;
    if (std::filesystem::is_directory(path, none)) refuse("is a folder");
    file_ = std::make_unique<File>(path);
    const bool empty = file_->number("SELECT count(*) FROM sqlite_master") == 0;
    const std::int64_t application = file_->number("PRAGMA application_id"),
                       schema = file_->number("PRAGMA user_version");
    if (!empty && application != kApplication)
      refuse("is an SQLite file of another program; a store of results is a file of its own");
    if (!empty && schema > kSchema)
      refuse(fmt::format("was made by a later version of the program (form {}; this one has {})",
                         schema, kSchema));
    if (!empty) {
      const std::string damage = file_->first("PRAGMA quick_check(1)");
      if (damage != "ok") refuse(fmt::format("is damaged ({})", damage));
    }
    // With a write-ahead log a result costs no wait for the disk, and a program that is killed
    // leaves a whole file.
    file_->first("PRAGMA journal_mode = WAL");
    file_->execute("PRAGMA synchronous = NORMAL");
    file_->execute("BEGIN IMMEDIATE");
    if (file_->number("SELECT count(*) FROM sqlite_master") == 0)
      file_->execute(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}; {}",
                                 kApplication, kSchema, kTables));
    file_->first("INSERT OR IGNORE INTO scopes (version, catalog) VALUES (?, ?)",
                 {scope.version, scope.catalog});
    scope_ = file_->number("SELECT id FROM scopes WHERE version = ? AND catalog = ?",
                           {scope.version, scope.catalog});
    file_->execute("COMMIT");
  } catch (const Failed& failed) {
    if (!is_of_the_disk(failed.code)) refuse(told(failed));
    failed_ = told(failed);
    fail();
  }
}

ResultStore::~ResultStore() = default;

void ResultStore::fail() {
  failed_ = fmt::format("{}: {}", path_, failed_);
  file_.reset();
}

std::optional<std::string> ResultStore::kept(std::string_view key) {
  if (!file_) return std::nullopt;
  try {
    auto found = file_->find(scope_, static_cast<std::int64_t>(hash_(key)), key);
    if (!found) return std::nullopt;
    if (static_cast<std::int64_t>(hash_of(found->first)) != found->second)
      throw Failed{SQLITE_CORRUPT, "a result is not the one that was kept"};
    return std::move(found->first);
  } catch (const Failed& failed) {
    failed_ = told(failed);
    fail();
    return std::nullopt;
  }
}

void ResultStore::keep(std::string_view key, std::string_view value) {
  if (!file_) return;
  try {
    const auto hash = static_cast<std::int64_t>(hash_(key));
    if (file_->find(scope_, hash, key)) return;
    file_->keep(scope_, hash, key, value, static_cast<std::int64_t>(hash_of(value)));
  } catch (const Failed& failed) {
    failed_ = told(failed);
    fail();
  }
}

std::int64_t ResultStore::size() const {
  return file_
             ? file_->number("SELECT count(*) FROM results WHERE scope = " + std::to_string(scope_))
             : 0;
}

void ResultStore::limit_pages(std::int64_t pages) {
  file_->first(fmt::format("PRAGMA max_page_count = {}", pages));
}

}  // namespace orrery
