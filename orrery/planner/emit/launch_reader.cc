#include "orrery/planner/emit/launch_reader.h"

#include <fmt/args.h>
#include <fmt/format.h>

#include <charconv>
#include <map>
#include <optional>
#include <utility>

#include "orrery/base/error.h"
#include "orrery/base/node.h"
#include "orrery/planner/emit/launch.h"
#include "orrery/planner/emit/launch_facts.h"
#include "orrery/planner/emit/platforms.h"
#include "orrery/scenario/kinds/service/techniques.h"

namespace orrery {
namespace {

constexpr char kMark = '$';  // before the name of a value of the plan
constexpr const char* kNames[] = {"model",
                                  "tp",
                                  "pp",
                                  "dp",
                                  "ep",
                                  "cp",
                                  "ranks",
                                  "max_model_len",
                                  "max_num_seqs",
                                  "max_num_batched_tokens",
                                  "draft_model",
                                  "draft_tokens",
                                  "verified_tokens",
                                  "options_file"};

// A text of the facts with marked names in the place of those in braces.
std::string marked(const std::string& facts) {
  fmt::dynamic_format_arg_store<fmt::format_context> names;
  for (const char* name : kNames) names.push_back(fmt::arg(name, std::string(1, kMark) + name));
  return fmt::vformat(facts, names);
}

bool is_flag(const std::string& word) { return word.starts_with("--"); }

using Captured = std::map<std::string, std::string>;  // values by the names of the plan

// Whether a value has all that the pattern has, and no more if it must be `whole`.
bool matches(const Node& pattern, const Node& value, bool whole, Captured& captured) {
  if (pattern.is_scalar()) {
    if (!value.is_scalar()) return false;
    if (pattern.text().empty() || pattern.text()[0] != kMark) return pattern.text() == value.text();
    captured[pattern.text().substr(1)] = value.text();
    return true;
  }
  if (!pattern.is_map() || !value.is_map()) return false;
  if (whole && pattern.keys().size() != value.keys().size()) return false;
  for (std::size_t i = 0; i < pattern.keys().size(); ++i) {
    const Node* own = value.find(pattern.keys()[i]);
    if (own == nullptr || !matches(pattern.items()[i], *own, whole, captured)) return false;
  }
  return true;
}

// Whether the value of a flag is that of the facts, which may be a name, a text or JSON.
bool matches(const std::string& pattern, const std::string& value, Captured& captured) {
  if (pattern[0] == kMark) {
    captured[pattern.substr(1)] = value;
    return true;
  }
  if (pattern[0] != '{') return pattern == value;
  try {
    return matches(parse_yaml(pattern, "catalog/launch"), parse_yaml(value, "command"), true,
                   captured);
  } catch (const InputError&) {
    return false;
  }
}

// The keys of a document that have no keys below them: "a.b".
void add_leaves(const Node& node, std::map<std::string, std::string>& out) {
  if (!node.is_map()) {
    out[node.path()] = node.text();
    return;
  }
  for (const Node& item : node.items()) add_leaves(item, out);
}

// The meaning of a flag of the facts: the name of a value, or a text of its own.
struct Meaning {
  std::string value;            // "$tp", or the only text that it may have; empty: it has none
  std::string format;           // of the weights that this flag says; empty: none
  std::string method;           // of the speculation that this flag belongs to; empty: none
  std::optional<bool> caching;  // of prefixes
  bool role = false;            // it says that prefill and decode are apart
  bool start = false;           // of the command's start; any text is taken
  bool experts = false;
  bool all_ranks = false;  // its data-parallel groups are the ranks
};

class Reader {
 public:
  Reader(const Bundle& bundle, const LaunchFacts& facts) : bundle_(bundle) {
    for (const std::string* flags :
         {&facts.tp, &facts.pp, &facts.cp, &facts.max_model_len, &facts.max_num_seqs,
          &facts.max_num_batched_tokens, &facts.options_file})
      learn(*flags, {});
    Meaning m;
    m.all_ranks = is_of_options_file(facts.dp);
    learn(facts.dp, m);
    m = {};
    m.experts = true;
    learn(facts.ep, m);
    m = {};
    m.role = true;
    for (const std::string* flags : {&facts.prefill, &facts.decode}) learn(*flags, m);
    for (const bool on : {false, true}) {
      m = {};
      m.caching = on;
      learn(on ? facts.prefix_caching : facts.no_prefix_caching, m);
    }
    for (const auto& [format, flags] : facts.formats) {
      m = {};
      m.format = format;
      learn(flags, m);
    }
    for (const auto& [method, flags] : facts.speculation) {
      m = {};
      m.method = method;
      learn(flags, m);
    }
  }

  // Whether the command starts like this; if so, reads it and the file of options.
  std::optional<LaunchRead> read(const std::string& start, const std::vector<std::string>& words,
                                 const std::string& options) {
    const std::vector<std::string> first = shell_words(marked(start));
    std::size_t at = 0;
    for (; at < first.size() && !is_flag(first[at]); ++at) {
      if (at >= words.size()) return std::nullopt;
      if (first[at][0] == kMark) {
        out_.model = words[at];
      } else if (first[at] != words[at]) {
        return std::nullopt;
      }
    }
    Meaning of_start;
    of_start.start = true;
    learn_words({first.begin() + static_cast<std::ptrdiff_t>(at), first.end()}, of_start);
    has_options_ = !options.empty();
    while (at < words.size()) at = take(words, at);
    if (has_options_) take_options(parse_yaml(options, "options"));
    return finished();
  }

 private:
  void learn(const std::string& facts, const Meaning& meaning) {
    if (!is_of_options_file(facts)) {
      learn_words(shell_words(marked(facts)), meaning);
      return;
    }
    of_file_.emplace_back(parse_yaml(marked(facts), "catalog/launch"), meaning);
    if (!meaning.method.empty()) ++needed_[meaning.method];
  }
  void learn_words(const std::vector<std::string>& words, const Meaning& meaning) {
    for (std::size_t i = 0; i < words.size(); ++i) {
      Meaning m = meaning;
      const std::string& name = words[i];
      if (i + 1 < words.size() && !is_flag(words[i + 1])) m.value = words[++i];
      meanings_[name].push_back(m);
      if (!m.method.empty()) ++needed_[m.method];
    }
  }

  // Takes the flag at a word, and its value. Returns the word after them.
  std::size_t take(const std::vector<std::string>& words, std::size_t at) {
    std::string name = words[at++];
    std::optional<std::string> value;
    if (const std::size_t equals = name.find('='); is_flag(name) && equals != name.npos) {
      value = name.substr(equals + 1);
      name.resize(equals);
    } else if (at < words.size() && !is_flag(words[at])) {
      value = words[at];
    }
    const bool apart = value && at < words.size() && value == words[at];
    bool known = false, valued = false;
    for (const Meaning& m : meanings_[name]) {
      if (known && m.method.empty()) continue;
      Captured captured;
      if (!m.value.empty()) {
        if (!value || value->empty()) continue;
        if (!m.start || m.value[0] == kMark) {
          if (!matches(m.value, *value, captured)) continue;
        }
        valued = true;
      }
      for (const auto& [what, text] : captured) set(what, text, name);
      note(m);
      known = true;
    }
    const std::string said = value && (valued || !known) ? name + " " + *value : name;
    if (!known) out_.unread.push_back(said);
    if (known && !meanings_[name].front().method.empty()) drafter_.push_back(said);
    if (known && name_of_options_ == name && !has_options_) out_.unread.push_back(said);
    return apart && (valued || !known) ? at + 1 : at;
  }

  // Keys that the facts do not have are not read.
  void take_options(const Node& options) {
    std::map<std::string, std::string> unread, read;
    add_leaves(options, unread);
    for (const auto& [pattern, meaning] : of_file_) {
      Captured captured;
      if (!matches(pattern, options, false, captured)) continue;
      for (const auto& [what, text] : captured) set(what, text, what);
      note(meaning);
      if (!meaning.method.empty()) drafter_.push_back(meaning.method);
      add_leaves(pattern, read);
    }
    for (const auto& [path, text] : unread)
      if (!read.contains(path)) out_.unread.push_back(path + ": " + text);
  }

  void note(const Meaning& m) {
    if (!m.format.empty()) out_.option.format = m.format;
    if (m.caching) out_.option.prefix_caching = *m.caching;
    if (!m.method.empty()) ++seen_[m.method];
    out_.apart = out_.apart || m.role;
    experts_ = experts_ || m.experts;
    all_ranks_ = all_ranks_ || m.all_ranks;
  }

  void set(const std::string& what, const std::string& text, const std::string& flag) {
    if (what == "model") {
      out_.model = text;
    } else if (what == "draft_model") {
      draft_model_ = text;
    } else if (what == "options_file") {
      name_of_options_ = flag;
    } else {
      std::int64_t n = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
      if (error != std::errc() || end != text.data() + text.size() || n < 1 || n > INT32_MAX)
        throw InputError(fmt::format("{} {}: expected a whole number above 0", flag, text));
      numbers_[what] = n;
    }
  }

  std::int64_t number(const char* name, std::int64_t otherwise) const {
    const auto at = numbers_.find(name);
    return at == numbers_.end() ? otherwise : at->second;
  }

  // The drafter of which the command has all flags, and no others of speculation.
  void finish_drafter() {
    const std::int64_t drafts = number("draft_tokens", 0);
    const bool chain = number("verified_tokens", drafts + 1) == drafts + 1;
    SpeculationChoice& s = out_.option.speculation;
    for (const auto& [method, needed] : needed_) {
      if (!chain || seen_[method] != needed || drafter_.size() != needed) continue;
      s.method = method, s.tokens = drafts;
      if (method != "draft_model") continue;
      const std::string id = catalog_id(bundle_, draft_model_);
      s.model = id.empty() ? draft_model_ : id;
    }
    if (!s.on()) out_.unread.insert(out_.unread.end(), drafter_.begin(), drafter_.end());
  }

  LaunchRead finished() {
    EngineOption& o = out_.option;
    ParallelPlan& layout = o.layout;
    const std::int64_t ranks = number("ranks", 0), dp = all_ranks_ ? ranks : number("dp", 1);
    if (dp < 1 || ranks % dp != 0)
      throw InputError(fmt::format(
          "{} tensor-parallel ranks do not divide into {} data-parallel groups", ranks, dp));
    layout.dp = static_cast<int>(dp);
    layout.tp = static_cast<int>(ranks > 0 ? ranks / dp : number("tp", 1));
    layout.pp = static_cast<int>(number("pp", 1));
    // Engines without a number for it divide experts over all ranks.
    layout.ep = static_cast<int>(number("ep", experts_ ? std::int64_t{layout.tp} * dp : 1));
    layout.cp = static_cast<int>(number("cp", 1));
    o.max_num_seqs = number("max_num_seqs", 0);
    o.max_num_batched_tokens = number("max_num_batched_tokens", 0);
    out_.max_model_len = number("max_model_len", 0);
    finish_drafter();
    return std::move(out_);
  }

  const Bundle& bundle_;
  std::map<std::string, std::vector<Meaning>> meanings_;  // by the flag
  std::vector<std::pair<Node, Meaning>> of_file_;
  std::map<std::string, std::size_t> needed_, seen_;  // flags of a method of speculation
  std::map<std::string, std::int64_t> numbers_;
  std::vector<std::string> drafter_;  // what the command says of speculation
  std::string draft_model_, name_of_options_;
  bool experts_ = false, all_ranks_ = false, has_options_ = false;
  LaunchRead out_;
};

}  // namespace

std::vector<std::string> shell_words(const std::string& command) {
  std::vector<std::string> out;
  std::string word;
  bool inside = false;
  char quote = 0;
  for (std::size_t i = 0; i < command.size(); ++i) {
    const char c = command[i];
    if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else if (c == '\\' && quote == '"' && i + 1 < command.size()) {
        word += command[++i];
      } else {
        word += c;
      }
    } else if (c == '\'' || c == '"') {
      quote = c, inside = true;
    } else if (c == '\\' && i + 1 < command.size()) {
      if (command[++i] != '\n') word += command[i], inside = true;
    } else if (c == ' ' || c == '\t' || c == '\n') {
      if (inside) out.push_back(std::move(word));
      word.clear(), inside = false;
    } else {
      word += c, inside = true;
    }
  }
  if (inside) out.push_back(std::move(word));
  return out;
}

namespace {

// The words of a command as the facts have them. `start`: also those before its flags.
std::vector<std::string> without_aliases(std::vector<std::string> words, const LaunchFacts& facts,
                                         bool start) {
  for (std::string& word : words) {
    if (!start && !word.starts_with("-")) continue;
    const std::size_t equals = word.find('=');
    const auto alias = facts.aliases.find(word.substr(0, equals));
    if (alias != facts.aliases.end())
      word = alias->second + (equals == word.npos ? "" : word.substr(equals));
  }
  return words;
}

}  // namespace

LaunchRead read_launch(const Bundle& bundle, const std::string& command,
                       const std::string& options) {
  const std::vector<std::string> as_written = shell_words(command);
  for (const std::string& engine : launched_engines(bundle)) {
    const LaunchFacts facts = *launch_facts(bundle, engine);
    std::vector<std::string> starts = worker_commands(bundle, engine);
    starts.insert(starts.begin(), facts.command);
    for (const bool aliases_of_start : {false, true}) {
      const auto words = without_aliases(as_written, facts, aliases_of_start);
      for (const std::string& start : starts) {
        if (auto read = Reader(bundle, facts).read(start, words, options)) {
          read->option.engine = engine;
          return *read;
        }
      }
    }
  }
  throw InputError(fmt::format("{}: no engine of catalog/launch is started like this", command));
}

}  // namespace orrery
