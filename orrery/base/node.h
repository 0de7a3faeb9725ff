// A YAML or JSON document as a tree in which every value knows its file, line and key path.
//
// Scalars keep their text ("80 GiB", "1e-3", "true"); the reader of a field decides what they must
// be, so that a wrong one is reported where it stands:
//
//   my-gpu.yaml:12: memory.bandwidth: expected a bandwidth with its unit such as '3.35 TB/s', got
//   '3350'
//
// JSON may hold Infinity, -Infinity and NaN where a number may stand, as Python writes them. They
// are scalars whose text is that word; a reader that wants a number refuses them.
//
// Limits against hostile input: 16 MiB of JSON, 4 MiB of YAML (whose parser may take 240 bytes for
// one of text), 64 levels, 2 million values, 16 MiB of text repeated by aliases. Duplicate keys and
// text that is not UTF-8 are errors.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/base/error.h"

namespace orrery {

class Node {
 public:
  enum class Kind { kNull, kScalar, kList, kMap };

  Node() = default;

  Kind kind() const { return kind_; }
  bool is_null() const { return kind_ == Kind::kNull; }
  bool is_scalar() const { return kind_ == Kind::kScalar; }
  bool is_list() const { return kind_ == Kind::kList; }
  bool is_map() const { return kind_ == Kind::kMap; }
  // A scalar written in quotes (always a string, never a number).
  bool quoted() const { return quoted_; }

  // The scalar's text; empty for the other kinds.
  const std::string& text() const { return text_; }
  const std::vector<Node>& items() const { return items_; }  // of a list, or the values of a map
  const std::vector<std::string>& keys() const { return keys_; }  // of a map, in the file's order

  // The value of `key`, or nullptr if this is no map or has no such key.
  const Node* find(std::string_view key) const;
  // As find, but absence (or not being a map) is an InputError.
  const Node& at(std::string_view key) const;

  // Typed reading; each throws InputError naming the place and what was expected.
  bool as_bool() const;
  std::int64_t as_int() const;
  double as_double() const;  // finite
  const std::string& as_string() const;

  // The place in the document: "file.yaml:12: model.heads". Unknown parts are left out.
  std::string where() const;
  const std::string& path() const { return path_; }
  int line() const { return line_; }
  const std::string& file() const;

  // Throws InputError "<where>: <message>".
  [[noreturn]] void fail(std::string_view message) const;

 private:
  friend class NodeBuilder;
  Kind kind_ = Kind::kNull;
  bool quoted_ = false;
  int line_ = 0;
  std::string text_;
  std::string path_;
  std::vector<std::string> keys_;
  std::vector<Node> items_;
  std::shared_ptr<const std::string> file_;
};

// The text of a file of at most `max_bytes`, plain or gzip (told by its content). InputError if the
// file is absent, no regular file or larger (a larger file is refused by its size, before a byte is
// read), or if its gzip stream is damaged.
std::string read_text_file(const std::filesystem::path& path, std::uintmax_t max_bytes = 16u << 20);
// The same for a file of facts that no question has named; it is read where files are sealed, too
// (sealed.h).
std::string read_fact_file(const std::filesystem::path& path, std::uintmax_t max_bytes = 16u << 20);

// Throws InputError if `path`, which a user named, is absent or a folder.
void require_file(const std::filesystem::path& path);

// Parse a document, which messages call `name`. Every value keeps its line.
Node parse_json(std::string_view text, const std::string& name);
Node parse_yaml(std::string_view text, const std::string& name);

// Reads a document; ".json" and ".json.gz" are parsed as JSON, anything else as YAML.
Node read_document(const std::filesystem::path& path);

// A scalar node that does not come from a file, such as a flag. Messages call it `name`.
Node scalar_node(std::string text, const std::string& name);

// An empty map to which keys are set by path ("engine.max_num_seqs"), for flags and --set laid over
// a file. Keys are compared with '-' as '_'. Intermediate maps are made; a scalar in the way is
// replaced by a map. InputError if a list is in the way or a key is empty.
void set_path(Node& root, std::string_view path, const Node& value);

// A copy of the map without the value at `path` ("sweep.workload.isl"), and without the maps that
// this leaves empty. An equal copy if there is no such value.
Node without(const Node& map, std::string_view path);

}  // namespace orrery
