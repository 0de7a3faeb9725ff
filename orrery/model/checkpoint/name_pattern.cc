#include "orrery/model/checkpoint/name_pattern.h"

#include <fmt/format.h>

#include <utility>

#include "orrery/base/error.h"
#include "orrery/base/index.h"
#include "orrery/base/node_builder.h"

namespace orrery {
namespace {

constexpr std::size_t kLongest = 500;
constexpr int kDeepest = 40;  // groups in groups

// Iterative, with the last '*' to return to.
bool glob_matches(std::string_view glob, std::string_view text) {
  std::size_t g = 0, t = 0, star = glob.npos, resume = 0;
  while (t < text.size()) {
    if (g < glob.size() && glob[g] == '*') {
      star = g++;
      resume = t;
    } else if (g < glob.size() && (glob[g] == '?' || glob[g] == text[t])) {
      ++g;
      ++t;
    } else if (star != glob.npos) {
      g = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (g < glob.size() && glob[g] == '*') ++g;
  return g == glob.size();
}

bool occurs_in_parts(std::string_view parts, std::string_view name) {
  for (std::size_t at = name.find(parts); at != name.npos; at = name.find(parts, at + 1)) {
    const std::size_t end = at + parts.size();
    if ((at == 0 || name[at - 1] == '.') && (end == name.size() || name[end] == '.')) return true;
  }
  return false;
}

// The longest run of plain characters outside of groups and classes, which every match has. It is
// empty if the whole has alternatives. REQUIRES a regular expression that was parsed.
std::string required_text(std::string_view regex) {
  std::string longest, run;
  const auto end_run = [&] {
    if (run.size() > longest.size()) longest = run;
    run.clear();
  };
  int depth = 0;
  for (std::size_t i = 0; i < regex.size(); ++i) {
    char c = regex[i];
    bool plain = std::string_view("(|)[.^$*+?").find(c) == std::string_view::npos;
    if (c == '|' && depth == 0) return "";
    if (c == '(') ++depth;
    if (c == ')') --depth;
    if (c == '\\') {
      c = regex[++i];
      plain = c != 'd' && c != 'w';
    } else if (c == '[') {
      for (++i; regex[i] != ']'; ++i) i += regex[i] == '\\' ? 1 : 0;
    } else if ((c == '*' || c == '?') && !run.empty()) {
      run.pop_back();
    }
    if (plain && depth == 0) {
      run += c;
    } else {
      end_run();
    }
  }
  end_run();
  return longest;
}

}  // namespace

// Recursive descent. Each function appends states that lead to `next` and returns the state to
// begin with.
class RegexParser {
 public:
  explicit RegexParser(NamePattern& pattern) : pattern_(pattern), text_(pattern.text_) {}

  int parse() {
    const int accept = add(NamePattern::Step::kAccept, -1);
    const int start = alternatives(accept);
    if (at_ != text_.size()) refuse("a ')' without its '('");
    return start;
  }

 private:
  using Step = NamePattern::Step;

  [[noreturn]] void refuse(std::string_view what) const {
    throw InputError(fmt::format("regular expression '{}': {}", shortened(text_), what));
  }

  int add(Step step, int next, int other = -1) {
    pattern_.states_.push_back({step, next, other, {}});
    return static_cast<int>(pattern_.states_.size()) - 1;
  }

  int alternatives(int next) {
    if (++depth_ > kDeepest) refuse("groups are nested too deeply");
    int start = sequence(next);
    while (at_ < text_.size() && text_[at_] == '|') {
      ++at_;
      const int second = sequence(next);
      start = add(Step::kSplit, start, second);
    }
    --depth_;
    return start;
  }

  int sequence(int next) {
    const int join = add(Step::kSplit, next);
    const int first = add(Step::kSplit, -1);
    int last = first;  // a split whose `next` is still open
    while (at_ < text_.size() && text_[at_] != '|' && text_[at_] != ')') {
      const int after = add(Step::kSplit, -1);
      const int item = repeated(after);
      state(last).next = item;
      last = after;
    }
    state(last).next = join;
    return first;
  }

  NamePattern::State& state(int i) { return pattern_.states_[index(i)]; }

  int repeated(int next) {
    const int loop = add(Step::kSplit, -1, next);
    int item = atom(loop);
    const char c = at_ < text_.size() ? text_[at_] : '\0';
    if (c == '{') refuse("counts in braces are not supported");
    if (c != '*' && c != '+' && c != '?') {
      state(loop).next = next;
      return item;
    }
    ++at_;
    if (at_ < text_.size() && text_[at_] == '?') ++at_;  // lazy: matches the same names
    if (c == '?') {
      state(loop).next = next;
      return add(Step::kSplit, item, next);
    }
    state(loop).next = item;
    return c == '*' ? loop : item;
  }

  int atom(int next) {
    const char c = text_[at_++];
    if (c == '(') {
      if (text_.substr(at_).starts_with("?:")) {
        at_ += 2;
      } else if (text_.substr(at_).starts_with("?")) {
        refuse("groups that look ahead or behind are not supported");
      }
      const int group = alternatives(next);
      if (at_ == text_.size()) refuse("a '(' without its ')'");
      ++at_;
      return group;
    }
    if (c == '^') return add(Step::kBegin, next);
    if (c == '$') return add(Step::kEnd, next);
    if (c == '*' || c == '+' || c == '?') refuse("nothing to repeat");
    std::vector<bool> set(256, c == '.');
    if (c == '[') {
      set = bracket();
    } else if (c == '\\') {
      add_escaped(set);
    } else if (c != '.') {
      set[static_cast<unsigned char>(c)] = true;
    }
    const int out = add(Step::kChar, next);
    state(out).accepted = std::move(set);
    return out;
  }

  void add_escaped(std::vector<bool>& set) {
    if (at_ == text_.size()) refuse("it ends with a backslash");
    const char c = text_[at_++];
    if (c == 'd' || c == 'w') {
      add_range(set, '0', '9');
      if (c == 'w') add_range(set, 'a', 'z'), add_range(set, 'A', 'Z'), add_range(set, '_', '_');
    } else if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')) {
      refuse(fmt::format("'\\{}' is not supported", c));
    } else {
      set[static_cast<unsigned char>(c)] = true;
    }
  }

  static void add_range(std::vector<bool>& set, char from, char to) {
    for (int c = static_cast<unsigned char>(from); c <= static_cast<unsigned char>(to); ++c) {
      set[index(c)] = true;
    }
  }

  std::vector<bool> bracket() {
    std::vector<bool> set(256, false);
    const bool negated = at_ < text_.size() && text_[at_] == '^';
    if (negated) ++at_;
    while (at_ < text_.size() && text_[at_] != ']') {
      const char c = text_[at_++];
      if (c == '\\') {
        add_escaped(set);
      } else if (at_ + 1 < text_.size() && text_[at_] == '-' && text_[at_ + 1] != ']') {
        add_range(set, c, text_[at_ + 1]);
        at_ += 2;
      } else {
        set[static_cast<unsigned char>(c)] = true;
      }
    }
    if (at_ == text_.size()) refuse("a '[' without its ']'");
    ++at_;
    if (negated) set.flip();
    return set;
  }

  NamePattern& pattern_;
  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

NamePattern::NamePattern(std::string_view text) {
  constexpr std::string_view kRegex = "re:";
  if (text.size() > kLongest) {
    throw InputError(fmt::format("the pattern '{}' has {} characters; at most {} are read",
                                 shortened(text), text.size(), kLongest));
  }
  if (text.starts_with(kRegex)) {
    kind_ = Kind::kRegex;
    text_ = text.substr(kRegex.size());
    start_ = RegexParser(*this).parse();
    required_ = required_text(text_);
    return;
  }
  kind_ = text.find_first_of("*?") != text.npos ? Kind::kGlob : Kind::kName;
  text_ = text;
}

bool NamePattern::matches(std::string_view name) const {
  if (kind_ == Kind::kRegex) return regex_matches(name);
  if (kind_ == Kind::kName) return !text_.empty() && occurs_in_parts(text_, name);
  for (std::size_t dot = name.find('.');; dot = name.find('.', dot + 1)) {
    if (glob_matches(text_, name.substr(0, dot))) return true;
    if (dot == name.npos) return false;
  }
}

// The states in the order in which they were reached. `place` of each state is the last place of
// the name at which it was reached, plus one.
struct NamePattern::Reached {
  std::vector<int> states;
  std::vector<std::size_t> place;
};

// Adds the states that are reached from `state` without reading a character.
void NamePattern::reach(int state, std::string_view name, std::size_t at, Reached& reached) const {
  std::vector<int>& states = reached.states;
  const auto visit = [&](int next) {
    if (next < 0 || reached.place[index(next)] == at + 1) return;
    reached.place[index(next)] = at + 1;
    states.push_back(next);
  };
  std::size_t open = states.size();
  visit(state);
  for (; open < states.size(); ++open) {
    const State& s = states_[index(states[open])];
    const bool passes = s.step == Step::kSplit || (s.step == Step::kBegin && at == 0) ||
                        (s.step == Step::kEnd && at == name.size());
    if (!passes) continue;
    visit(s.next);
    visit(s.other);
  }
}

bool NamePattern::regex_matches(std::string_view name) const {
  if (name.find(required_) == name.npos) return false;
  Reached reached;
  reached.place.assign(states_.size(), 0);
  reach(start_, name, 0, reached);
  std::vector<int> now;
  for (std::size_t at = 0;; ++at) {
    now.swap(reached.states);
    reached.states.clear();
    for (const int i : now) {
      const State& s = states_[index(i)];
      if (s.step == Step::kAccept) return true;
      if (s.step == Step::kChar && at < name.size() &&
          s.accepted[static_cast<unsigned char>(name[at])]) {
        reach(s.next, name, at + 1, reached);
      }
    }
    if (at == name.size() || reached.states.empty()) return false;
  }
}

}  // namespace orrery
