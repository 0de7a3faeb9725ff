// Builds the tree of a document from the events of a parser, and keeps it within the limits that
// node.h names. Only the readers of base use it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/node.h"

namespace orrery {

// The text with control characters as blanks, cut to a length that a message can bear.
std::string shortened(std::string_view text, std::size_t longest = 60);

// Whether the text is well-formed UTF-8 (Unicode, table 3-7), as JSON output needs it.
bool is_utf8(std::string_view text);

class NodeBuilder {
 public:
  static constexpr std::size_t kMaxDepth = 64;
  static constexpr std::size_t kMaxValues = 2'000'000;
  static constexpr std::uintmax_t kMaxBytes = 16u << 20;
  static constexpr std::uintmax_t kMaxYamlBytes = 4u << 20;

  // `name` is what messages call the document.
  explicit NodeBuilder(const std::string& name);

  // The events, in the order of the text. In a map, each value follows its key and gets the line of
  // its key.
  void key(std::string text, int line);
  void null(int line);
  void scalar(std::string text, bool quoted, int line);
  void open(Node::Kind kind, int line);  // a list or a map
  void close();
  // Adds a copy of another value of the document (an alias). The copy keeps its lines and gets new
  // key paths.
  void copy(const Node& other);

  // True inside of a map where a key is due.
  bool wants_key() const;
  // The value that was completed last; valid until the next event.
  const Node& last() const;
  // The finished document.
  Node take() { return std::move(root_); }

  // Counts a copy of `other` and of all below it against the limits of values and of text.
  void count(const Node& other, int line);

  // Throws InputError "<name>:<line>: <message>".
  [[noreturn]] void fail(int line, std::string_view message) const;

  // For set_path: the value of `key` ('-' as '_'), made if absent; and giving a value its place.
  static Node& slot(Node& map, std::string_view key);
  static void assign(Node& slot, const Node& value);
  static void make_map(Node& node);
  // For without (node.h).
  static void erase(Node& map, std::string_view path);

 private:
  struct Open {
    Node node;
    int key_line = 0;  // 0: no key yet
  };
  Node value(Node::Kind kind, int line);
  void leaf(Node node);
  Node copied(const Node& other, std::string path, std::size_t depth);
  void count_copy(const Node& other, int line);  // without what is below it
  std::string next_path() const;
  void refuse_repeated_keys(const Node& map) const;

  std::shared_ptr<const std::string> file_;
  std::size_t count_ = 0;
  std::size_t copied_bytes_ = 0;
  std::vector<Open> stack_;
  Node root_;
};

}  // namespace orrery
