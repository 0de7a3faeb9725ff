// Patterns over dotted names such as "layers.3.self_attn.q_proj", in the three spellings of the
// tools that quantise checkpoints.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace orrery {

// A pattern is one of
//
//   re:.*self_attn.*       a regular expression, matched from the beginning of the name; the rest
//                          of the name may be anything (re.match of Python)
//   layers.*.self_attn*    a glob: '*' is any text, dots included, '?' one character; it matches
//                          the name or the name of a module that holds it
//   self_attn.o_proj       a name: it matches where its parts occur in the name, one after another
//
// Regular expressions have literals, '.', classes ([a-z], \d, \w), groups, '|', '*', '+', '?', '^'
// and '$'. Matching takes time proportional to the product of both lengths.
class NamePattern {
 public:
  // InputError if a regular expression has anything else, or if the text is longer than 500.
  explicit NamePattern(std::string_view text);

  bool matches(std::string_view name) const;

  bool is_regex() const { return kind_ == Kind::kRegex; }
  const std::string& text() const { return text_; }  // without "re:"

 private:
  enum class Kind { kName, kGlob, kRegex };
  // A state of the automaton of a regular expression: it reads one character of `accepted`
  // (kChar), or goes on to `next` and `other` without one (kSplit), or tests an end (kBegin, kEnd).
  enum class Step : std::uint8_t { kChar, kSplit, kBegin, kEnd, kAccept };
  struct State {
    Step step = Step::kAccept;
    int next = -1, other = -1;
    std::vector<bool> accepted;
  };
  friend class RegexParser;

  // The states that are reached at one place of a name.
  struct Reached;
  bool regex_matches(std::string_view name) const;
  void reach(int state, std::string_view name, std::size_t at, Reached& states) const;

  Kind kind_ = Kind::kName;
  std::string text_;
  std::vector<State> states_;
  int start_ = 0;
  std::string required_;  // a text that every name has that the regular expression matches
};

}  // namespace orrery
