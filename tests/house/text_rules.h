// Rules of the repository's texts that can be checked in one file alone: each function takes the
// text of a file and returns its faults in the order of their lines.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace orrery::house {

struct Fault {
  int line;          // from 1
  std::string what;  // the offending text
};

// Paths that lead out of the repository: an absolute path below a home, work or mount folder of
// somebody's machine, or a path into the folder beside the checkout that holds measured tables.
std::vector<Fault> outside_paths(std::string_view text);

// Functions (constructors and lambdas too) that are declared or defined with more than `most`
// parameters, each as "name: count".
//
// A parameter list is told from a call without a parser: at least half of its items end in a type
// and a name ("int n", "const Gpu& gpu", "double = 0"), and two adjacent names, or a '&' or '*'
// that touches its left neighbour only, stand in no argument of a call that clang-format laid out.
// Comments, strings and default values are ignored, and commas inside <> do not separate.
std::vector<Fault> long_parameter_lists(std::string_view source, int most);

// Functions (constructors, member functions, tests) whose body has more than `most` lines, each as
// "head: lines". The bodies of lambdas count as part of the function around them.
std::vector<Fault> long_functions(std::string_view source, int most);

// The classes whose member functions the source defines outside of the class, each once, with the
// line of the first definition: "Replica", "Outer::Inner".
std::vector<Fault> classes_with_members(std::string_view source);

// Lines of comments that begin with Of, That, What, Those or Which: such a sentence has its subject
// in another comment. Comments behind code are not looked at.
std::vector<Fault> comments_without_subject(std::string_view source);

// Lines that hold a comment alone and are wider than `columns`, which the formatter does not wrap.
// UTF-8 sequences count as one column.
std::vector<Fault> wide_comments(std::string_view source, int columns);

}  // namespace orrery::house
