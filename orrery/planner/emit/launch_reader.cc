#include "orrery/planner/emit/launch_reader.h"

#include <fmt/args.h>
#include <fmt/format.h>

#include <charconv>
#include <map>
#include <optional>
#include <utility>

#include "orrery/base/error.h"
#include "orrery/planner/emit/launch_facts.h"
#include "orrery/planner/emit/platforms.h"

namespace orrery {
namespace {

constexpr char kMark = '\x01';  // before the name of a value of the plan
constexpr const char* kNames[] = {"model",
                                  "tp",
                                  "pp",
                                  "dp",
                                  "ep",
                                  "ranks",
                                  "max_model_len",
                                  "max_num_seqs",
                                  "max_num_batched_tokens"};

// The words of a text of the facts. Names in braces become marked words.
std::vector<std::string> words_of(const std::string& facts) {
  fmt::dynamic_format_arg_store<fmt::format_context> names;
  for (const char* name : kNames) names.push_back(fmt::arg(name, std::string(1, kMark) + name));
  return shell_words(fmt::vformat(facts, names));
}

bool is_flag(const std::string& word) { return word.starts_with("--"); }

// The meaning of a flag of the facts: the name of a value, or a text of its own.
struct Meaning {
  std::string value;   // "\x01tp", or the only text that it may have; empty: it has none
  std::string format;  // of the weights that this flag says; empty: none
  bool role = false;   // it says that prefill and decode are apart
  bool start = false;  // of the command's start; any text is taken
  bool experts = false;
};

class Reader {
 public:
  explicit Reader(const LaunchFacts& facts) {
    for (const std::string* flags : {&facts.tp, &facts.pp, &facts.dp, &facts.max_model_len,
                                     &facts.max_num_seqs, &facts.max_num_batched_tokens})
      learn(*flags, {});
    Meaning m;
    m.experts = true;
    learn(facts.ep, m);
    m = {};
    m.role = true;
    for (const std::string* flags : {&facts.prefill, &facts.decode}) learn(*flags, m);
    for (const auto& [format, flags] : facts.formats) {
      m = {};
      m.format = format;
      learn(flags, m);
    }
  }

  // Whether the command starts like this; if so, reads it.
  std::optional<LaunchRead> read(const std::string& start, const std::vector<std::string>& words) {
    const std::vector<std::string> first = words_of(start);
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
    while (at < words.size()) at = take(words, at);
    return finished();
  }

 private:
  void learn(const std::string& flags, const Meaning& meaning) {
    learn_words(words_of(flags), meaning);
  }
  void learn_words(const std::vector<std::string>& words, const Meaning& meaning) {
    for (std::size_t i = 0; i < words.size(); ++i) {
      Meaning m = meaning;
      const std::string& name = words[i];
      if (i + 1 < words.size() && !is_flag(words[i + 1])) m.value = words[++i];
      meanings_[name].push_back(m);
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
    const auto known = meanings_.find(name);
    if (known != meanings_.end()) {
      for (const Meaning& m : known->second) {
        if (m.value.empty()) {
          note(m);
          return at;
        }
        if (!value) continue;
        if (m.value[0] != kMark && !m.start && m.value != *value) continue;
        if (m.value[0] == kMark) set(m.value.substr(1), *value, name);
        note(m);
        return apart ? at + 1 : at;
      }
    }
    out_.unread.push_back(value ? name + " " + *value : name);
    return apart ? at + 1 : at;
  }

  void note(const Meaning& m) {
    if (!m.format.empty()) out_.option.format = m.format;
    out_.apart = out_.apart || m.role;
    experts_ = experts_ || m.experts;
  }

  void set(const std::string& what, const std::string& text, const std::string& flag) {
    if (what == "model") {
      out_.model = text;
      return;
    }
    std::int64_t n = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (error != std::errc() || end != text.data() + text.size() || n < 1 || n > INT32_MAX)
      throw InputError(fmt::format("{} {}: expected a whole number above 0", flag, text));
    numbers_[what] = n;
  }

  LaunchRead finished() {
    const auto number = [this](const char* name, std::int64_t otherwise) {
      const auto at = numbers_.find(name);
      return at == numbers_.end() ? otherwise : at->second;
    };
    EngineOption& o = out_.option;
    const std::int64_t dp = number("dp", 1), ranks = number("ranks", 0);
    if (ranks % dp != 0)
      throw InputError(fmt::format(
          "{} tensor-parallel ranks do not divide into {} data-parallel groups", ranks, dp));
    o.dp = static_cast<int>(dp);
    o.tp = static_cast<int>(ranks > 0 ? ranks / dp : number("tp", 1));
    o.pp = static_cast<int>(number("pp", 1));
    // Engines without a number for it divide experts over all ranks.
    o.ep = static_cast<int>(number("ep", experts_ ? std::int64_t{o.tp} * o.dp : 1));
    o.max_num_seqs = number("max_num_seqs", 0);
    o.max_num_batched_tokens = number("max_num_batched_tokens", 0);
    out_.max_model_len = number("max_model_len", 0);
    return std::move(out_);
  }

  std::map<std::string, std::vector<Meaning>> meanings_;  // by the flag
  std::map<std::string, std::int64_t> numbers_;
  bool experts_ = false;
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

LaunchRead read_launch(const Bundle& bundle, const std::string& command) {
  const std::vector<std::string> as_written = shell_words(command);
  for (const std::string& engine : launched_engines(bundle)) {
    const LaunchFacts facts = *launch_facts(bundle, engine);
    std::vector<std::string> starts = worker_commands(bundle, engine);
    starts.insert(starts.begin(), facts.command);
    for (const bool aliases_of_start : {false, true}) {
      const auto words = without_aliases(as_written, facts, aliases_of_start);
      for (const std::string& start : starts) {
        if (auto read = Reader(facts).read(start, words)) {
          read->option.engine = engine;
          return *read;
        }
      }
    }
  }
  throw InputError(fmt::format("{}: no engine of catalog/launch is started like this", command));
}

}  // namespace orrery
