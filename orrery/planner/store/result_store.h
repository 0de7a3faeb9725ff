// Results on disk: an SQLite file in which a planner finds what an earlier search has computed.
//
// A result belongs to its key (result_key.h) and to a scope: the program's version and the digest
// of the catalog. It is found by the hash of its key, and taken only if the whole key is the same.
// Every result is in the file before the next one is computed, so that a search that is killed
// loses those under way alone. Several programs may use a file at the same time.
//
// A store that fails once it is open (the disk is full, the file is damaged) says so in failure()
// and is not used from then on: the search goes on without it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "orrery/planner/store/digest.h"

namespace orrery {

class ResultStore {
 public:
  struct Scope {
    std::string version;  // of the program
    std::string catalog;  // catalog_digest()
  };
  using Hash = std::uint64_t (*)(std::string_view);

  // Opens the file, or makes it. InputError, beginning with the path: it is no such store, is
  // damaged, cannot be written, or was made by a later version.
  ResultStore(const std::string& path, const Scope& scope, Hash hash = hash_of);
  ~ResultStore();
  ResultStore(const ResultStore&) = delete;
  ResultStore& operator=(const ResultStore&) = delete;

  // The result that is kept for the key; absent: none.
  std::optional<std::string> kept(std::string_view key);
  // Keeps a result; does nothing where the key has one.
  void keep(std::string_view key, std::string_view value);

  std::int64_t size() const;                              // results of the scope
  const std::string& failure() const { return failed_; }  // a sentence without its stop; or empty

  // The largest size of the file, in pages of SQLite, from now on. For tests: a full disk.
  void limit_pages(std::int64_t pages);

 private:
  class File;
  void fail();

  std::unique_ptr<File> file_;
  std::string path_, failed_;
  std::int64_t scope_ = 0;
  Hash hash_;
};

}  // namespace orrery
