// The text of one expression of a suite, read from left to right (suite_expression.h).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "orrery/base/node.h"

namespace orrery {

// A cursor over the text of a node. Blanks and line ends separate words and are skipped.
class SuiteText {
 public:
  // InputError if the text is longer than an expression may be.
  explicit SuiteText(const Node& node);

  // InputError at the node, with the column and the text found there.
  [[noreturn]] void refuse(std::string_view why) const { refuse_at(at_, why); }
  [[noreturn]] void refuse_at(std::size_t at, std::string_view why) const;

  // The position of the next character that is not blank.
  std::size_t here();
  bool at_end() { return here() == text_.size(); }
  // The text from `begin` to the cursor.
  std::string from(std::size_t begin) const {
    return std::string(text_.substr(begin, at_ - begin));
  }

  // Moves over `symbol` if it comes next; returns whether it did.
  bool takes(std::string_view symbol);
  // Skips the next word if it is `word`; returns whether it was.
  bool takes_word(std::string_view word);
  // Skips blanks and `symbol`. InputError if something else comes next.
  void expect(std::string_view symbol);
  // Moves over a name. InputError that says `what` was expected, also at a word of the language.
  std::string expect_name(std::string_view what);

  // Moves to the next of `ends` or to the end of the text, and returns what it moved over.
  std::string until(std::string_view ends);

  bool next_is_digit();
  // Whether `symbol` comes next, with no blank before it.
  bool next_is(char symbol) const { return at_ < text_.size() && text_[at_] == symbol; }
  // Whether '.' and a name come next, with no blank before them: not the ".." of a range.
  bool next_is_member() const;
  // Moves over a number with an optional '%', which divides it by 100. REQUIRES next_is_digit().
  double number();

 private:
  // The name that comes next; the cursor stays before it.
  std::string_view word();

  const Node& node_;
  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace orrery
