// Flags of the verbs that ask a scenario: one flag for a key of the verb (apps/face/verb_keys.h).
//
// --set KEY=VALUE writes any key of a scenario file, and --sweep KEY=VALUES asks for several values
// of any key, which may be written as the flag's name: --sweep pp=1,2,4.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

#include "apps/face/question.h"
#include "apps/face/verb_keys.h"

namespace orrery::cli {

// The placeholder of a field's value in the help: "N", "NAME", "SIZES".
std::string type_name(const Field& field);

// The flags of one verb. It must outlive the parsing of the command line.
class KeyFlags {
 public:
  // Adds the flags of `verb` to `app`.
  KeyFlags(CLI::App& app, std::string_view verb);
  KeyFlags(const KeyFlags&) = delete;  // flags refer to it
  KeyFlags& operator=(const KeyFlags&) = delete;

  face::Question& question() { return question_; }
  const face::Question& question() const { return question_; }

 private:
  void add(CLI::App& app, const VerbKey& key);
  void add_text(CLI::App& app, const VerbText& text);
  void add_any_key(CLI::App& app);

  face::Question question_;
};

}  // namespace orrery::cli
