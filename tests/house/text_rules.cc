#include "tests/house/text_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <regex>
#include <sstream>

namespace orrery::house {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  std::istringstream stream{std::string(text)};
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// The line without its indentation.
std::string_view unindented(std::string_view line) {
  const auto begin = line.find_first_not_of(' ');
  return begin == std::string_view::npos ? std::string_view{} : line.substr(begin);
}

// Where the literal that begins at `at` ends (behind its last quote).
std::size_t literal_end(std::string_view source, std::size_t at) {
  const char quote = source[at];
  for (std::size_t i = at + 1; i < source.size(); ++i) {
    if (source[i] == '\\') {
      ++i;
    } else if (source[i] == quote || source[i] == '\n') {
      return i + 1;
    }
  }
  return source.size();
}

// Where the comment, string or character that begins at `at` ends; `at` if none begins there.
std::size_t skipped(std::string_view source, std::size_t at) {
  const auto end_of = [&](std::string_view end) {
    const auto found = source.find(end, at + 2);
    return found == std::string_view::npos ? source.size() : found + end.size();
  };
  const std::string_view rest = source.substr(at);
  if (rest.starts_with("//")) return std::min(end_of("\n"), source.size());
  if (rest.starts_with("/*")) return end_of("*/");
  if (rest.starts_with("R\"")) {
    const auto open = rest.find('(');
    return end_of(fmt::format("){}\"", rest.substr(2, open - 2)));
  }
  const bool digit_separator = rest.front() == '\'' && at > 0 && is_word(source[at - 1]);
  if (rest.front() == '"' || (rest.front() == '\'' && !digit_separator)) {
    return literal_end(source, at);
  }
  return at;
}

// The source with comments and preprocessor lines gone and a 0 in the place of every literal;
// newlines stay, so that lines keep their numbers.
std::string bare_code(std::string_view source) {
  std::string code;
  for (std::size_t i = 0; i < source.size();) {
    const std::size_t end = skipped(source, i);
    if (end == i) {
      code += source[i++];
      continue;
    }
    const std::string_view gone = source.substr(i, end - i);
    if (gone.front() != '/') code += '0';
    code.append(static_cast<std::size_t>(std::count(gone.begin(), gone.end(), '\n')), '\n');
    i = end;
  }
  return code;
}

// Whether the item of a list reads as a parameter: a type, then perhaps a name.
bool reads_as_parameter(std::string item) {
  item.resize(std::min(item.size(), item.find('=')));
  while (!item.empty() && std::isspace(static_cast<unsigned char>(item.back()))) item.pop_back();
  if (item.empty()) return false;
  if (item.back() == '&' || item.back() == '*') return true;  // a type alone
  std::size_t name = item.size();
  while (name > 0 && is_word(item[name - 1])) --name;
  if (name == item.size() || name < 2) return false;
  if (std::isspace(static_cast<unsigned char>(item[name - 1])) == 0) return false;
  const char before = item[name - 2];
  if (is_word(before)) return true;
  return (before == '&' || before == '*' || before == '>') && name >= 3 && item[name - 3] != ' ';
}

// An open bracket, where its items begin, and how many '<' are open in the current item.
struct Bracket {
  std::size_t at;
  std::vector<std::string> items;
  int angles = 0;
};

std::string name_before(std::string_view code, std::size_t at) {
  std::size_t begin = at;
  while (begin > 0 && is_word(code[begin - 1])) --begin;
  return begin == at ? "lambda" : std::string(code.substr(begin, at - begin));
}

// A function with a body.
struct Function {
  std::string head;      // from the end of what stands before it to its first brace, on one line
  int line = 0;          // of the first brace
  std::ptrdiff_t lines;  // from the first brace to the last
};

enum class Block { kScope, kFunction, kOther };  // kScope: a namespace or a class

// The kind of the block that opens behind `head` in a namespace or a class.
Block block_of(const std::string& head) {
  static const std::regex kNamespace("\\bnamespace\\b"), kClass("\\b(class|struct|union)\\b"),
      kBody("(\\)|\\}|\\b(const|noexcept|override|final|try|mutable))$"),
      kInitialisers("\\) ?: ?[^:]"), kValue("[^=!<>]=[^=]");
  if (std::regex_search(head, kNamespace)) return Block::kScope;
  const auto open = head.find('(');
  if (open == std::string::npos)
    return std::regex_search(head, kClass) ? Block::kScope : Block::kOther;
  if (std::regex_search(head.substr(0, open), kValue)) return Block::kOther;  // a lambda, a table
  if (std::regex_search(head, kBody)) return Block::kFunction;
  return std::regex_search(head, kInitialisers) ? Block::kOther : Block::kFunction;
}

std::vector<Function> functions_of(std::string_view source) {
  const std::string code = bare_code(source);
  std::vector<Function> functions;
  std::vector<Block> open;
  std::string head;
  int line = 1;
  for (const char c : code) {
    if (c == '\n') ++line;
    const bool inside = !open.empty() && open.back() != Block::kScope;  // of a function or a value
    if (c == '{') {
      while (!head.empty() && head.back() == ' ') head.pop_back();
      const Block block = inside ? Block::kOther : block_of(head);
      open.push_back(block);
      if (block == Block::kFunction) functions.push_back({head, line, 0});
      if (block == Block::kScope) head.clear();
    } else if (c == '}' && !open.empty()) {
      const Block block = open.back();
      open.pop_back();
      if (block == Block::kFunction) functions.back().lines = line - functions.back().line + 1;
      const bool initialiser =
          !open.empty() ? open.back() == Block::kScope : block == Block::kOther;
      if (block == Block::kOther && initialiser) {
        head += '}';
      } else if (block != Block::kOther) {
        head.clear();
      }
    } else if (!inside) {
      if (c == ';') {
        head.clear();
      } else if (std::isspace(static_cast<unsigned char>(c)) == 0) {
        head += c;
      } else if (!head.empty() && head.back() != ' ') {
        head += ' ';
      }
    }
  }
  return functions;
}

// The text without what stands in angle brackets.
std::string without_templates(const std::string& text) {
  std::string out;
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '<' && text.compare(i, 2, "<=") != 0) ++depth;
    if (depth == 0) out += text[i];
    if (text[i] == '>' && depth > 0 && (i == 0 || text[i - 1] != '-')) --depth;
  }
  return out;
}

}  // namespace

std::vector<Fault> long_functions(std::string_view source, int most) {
  std::vector<Fault> faults;
  for (const Function& f : functions_of(source)) {
    if (f.lines > most) faults.push_back({f.line, fmt::format("{}: {}", f.head, f.lines)});
  }
  return faults;
}

std::vector<Fault> classes_with_members(std::string_view source) {
  static const std::regex kMember("((?:[A-Z]\\w*::)+)(?:~?\\w+|operator[^ (]*) ?\\(");
  std::vector<Fault> classes;
  for (const Function& f : functions_of(source)) {
    const std::string head = without_templates(f.head);
    std::smatch member;
    // The name of a function stands before its first bracket.
    const std::string before = head.substr(0, std::min(head.size(), head.find('(') + 1));
    if (!std::regex_search(before, member, kMember)) continue;
    const std::string name = member[1].str().substr(0, member[1].str().size() - 2);
    const bool known = std::any_of(classes.begin(), classes.end(),
                                   [&name](const Fault& c) { return c.what == name; });
    if (!known) classes.push_back({f.line, name});
  }
  return classes;
}

std::vector<Fault> outside_paths(std::string_view text) {
  // The texts are written in pieces, so that this file does not contain them.
  static const std::string kBeside = std::string("..") + "/shared";
  static const std::vector<std::string> kFolders = {"work", "home",  "root",   "Users",
                                                    "mnt",  "media", "scratch"};
  std::vector<Fault> faults;
  int number = 0;
  for (const auto& line : lines_of(text)) {
    ++number;
    if (line.find('/') == std::string::npos) continue;
    if (line.find(kBeside) != std::string::npos) faults.push_back({number, kBeside});
    for (const auto& folder : kFolders) {
      const std::string path = '/' + folder + '/';
      const auto at = line.find(path);
      if (at == std::string::npos) continue;
      // A path inside the repository, or of a URL, has something before the slash.
      const bool absolute = at == 0 || (!is_word(line[at - 1]) && line[at - 1] != '.' &&
                                        line[at - 1] != '-' && line[at - 1] != '}');
      const std::size_t next = at + path.size();
      if (absolute && next < line.size() && is_word(line[next])) faults.push_back({number, path});
    }
  }
  return faults;
}

std::vector<Fault> long_parameter_lists(std::string_view source, int most) {
  const std::string code = bare_code(source);
  std::vector<Fault> faults;
  std::vector<Bracket> open;
  int line = 1;
  for (std::size_t i = 0; i < code.size(); ++i) {
    const char c = code[i];
    if (c == '\n') ++line;
    if (c == '(' || c == '[' || c == '{') {
      open.push_back({i, {""}});
    } else if ((c == ')' || c == ']' || c == '}') && !open.empty()) {
      const Bracket list = open.back();
      open.pop_back();
      const auto count = static_cast<int>(list.items.size());
      const auto parameters =
          std::count_if(list.items.begin(), list.items.end(), reads_as_parameter);
      if (code[list.at] == '(' && count > most && 2 * parameters >= count) {
        const auto below = std::count(code.begin() + static_cast<std::ptrdiff_t>(list.at),
                                      code.begin() + static_cast<std::ptrdiff_t>(i), '\n');
        faults.push_back({line - static_cast<int>(below),
                          fmt::format("{}: {}", name_before(code, list.at), count)});
      }
    } else if (!open.empty()) {
      Bracket& list = open.back();
      if (c == '<') ++list.angles;
      if (c == '>' && list.angles > 0 && code[i - 1] != '-') --list.angles;
      if (c == ',' && list.angles == 0) {
        list.items.emplace_back();
      } else {
        list.items.back() += c;
      }
    }
  }
  return faults;
}

std::vector<Fault> comments_without_subject(std::string_view source) {
  static const std::regex kOpening("///? (Of|That|What|Those|Which) .*");
  std::vector<Fault> faults;
  int number = 0;
  for (const auto& line : lines_of(source)) {
    ++number;
    const std::string text{unindented(line)};
    if (std::regex_match(text, kOpening)) faults.push_back({number, text});
  }
  return faults;
}

std::vector<Fault> wide_comments(std::string_view source, int columns) {
  std::vector<Fault> faults;
  int number = 0;
  for (const auto& line : lines_of(source)) {
    ++number;
    if (!unindented(line).starts_with("//")) continue;
    const auto width = std::count_if(line.begin(), line.end(), [](char c) {
      return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
    });
    if (width > columns) faults.push_back({number, line});
  }
  return faults;
}

}  // namespace orrery::house
