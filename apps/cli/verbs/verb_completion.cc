// orrery completion, man: texts for shells and for man, made from the flags of all verbs.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "apps/cli/flags/examples.h"
#include "apps/cli/output/output.h"
#include "apps/cli/verbs/verbs.h"
#include "apps/cli/version.h"
#include "apps/face/verb_keys.h"
#include "orrery/base/error.h"

namespace orrery::cli {
namespace {

struct Flag {
  std::vector<std::string> names;  // "-m", "--model"
  std::string value;               // placeholder; empty: takes none
  std::string help, heading;
  std::vector<std::string> choices;
};

struct VerbFlags {
  const CLI::App* app;
  std::string name;  // "compare service"
  std::vector<Flag> flags;
};

std::vector<std::string> choices_of(const std::string& verb, const std::string& flag) {
  const auto& asking = face::VerbKeys::names();
  if (std::find(asking.begin(), asking.end(), verb) == asking.end()) return {};
  const VerbKey* key = face::VerbKeys::of(verb).find(flag.substr(2));
  if (key == nullptr) return {};
  std::vector<std::string> choices = key->field->choices();
  std::erase(choices, "");
  return choices;
}

VerbFlags flags_of(const CLI::App& app, const std::string& name) {
  VerbFlags out{&app, name, {}};
  for (const CLI::Option* option : app.get_options()) {
    if (option->nonpositional()) {
      Flag flag;
      for (const std::string& s : option->get_snames()) flag.names.push_back("-" + s);
      for (const std::string& l : option->get_lnames()) flag.names.push_back("--" + l);
      if (option->get_items_expected_max() > 0) flag.value = option->get_type_name();
      flag.help = option->get_description();
      flag.heading = option->get_group();
      flag.choices = choices_of(name, flag.names.back());
      out.flags.push_back(std::move(flag));
    }
  }
  return out;
}

// The verbs, and below them theirs.
std::vector<VerbFlags> all_verbs(const CLI::App& program) {
  std::vector<VerbFlags> out;
  for (const CLI::App* verb : program.get_subcommands({})) {
    out.push_back(flags_of(*verb, verb->get_name()));
    for (const CLI::App* below : verb->get_subcommands({}))
      out.push_back(flags_of(*below, verb->get_name() + " " + below->get_name()));
  }
  return out;
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

std::string all_names(const VerbFlags& verb) {
  std::string out;
  for (const Flag& flag : verb.flags) out += fmt::format("{} ", fmt::join(flag.names, " "));
  return out;
}

std::string words_below(const CLI::App& app) {
  std::string out;
  for (const CLI::App* below : app.get_subcommands({})) out += below->get_name() + " ";
  return out;
}

constexpr const char* kModels = "$(orrery list models -o csv 2>/dev/null | sed \"1d;s/,.*//\")";
constexpr const char* kGpus = "$(orrery list gpus -o csv 2>/dev/null | sed \"1d;s/,.*//\")";

std::string bash(const CLI::App& program) {
  std::string values, words;
  for (const VerbFlags& verb : all_verbs(program)) {
    for (const Flag& flag : verb.flags) {
      if (flag.choices.empty()) continue;
      std::vector<std::string> at;
      for (const std::string& name : flag.names)
        at.push_back(fmt::format("'{} {}'", verb.name, name));
      values +=
          fmt::format("    {}) values='{}' ;;\n", fmt::join(at, "|"), fmt::join(flag.choices, " "));
    }
    words += fmt::format("    '{}') words='{}{}' ;;\n", verb.name, words_below(*verb.app),
                         all_names(verb));
  }
  return fmt::format(
      "# Completion of orrery for bash, made by `orrery completion bash`.\n"
      "_orrery() {{\n"
      "  local word=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}}\n"
      "  local verb='' values='' words='' w\n"
      "  for w in \"${{COMP_WORDS[@]:1:COMP_CWORD-1}}\"; do\n"
      "    case \"$verb/$w\" in\n"
      "      */-*) ;;\n"
      "      /*) verb=$w ;;\n"
      "      compare/service|compare/training|accelerator/*|suite/*) verb=\"$verb $w\"; break ;;\n"
      "      *) break ;;\n"
      "    esac\n"
      "  done\n"
      "  case $previous in\n"
      "    -m|--model) values={} ;;\n"
      "    -g|--gpu) values={} ;;\n"
      "  esac\n"
      "  case \"$verb $previous\" in\n{}  esac\n"
      "  case $verb in\n    '') words='{}--help --version --catalog' ;;\n{}  esac\n"
      "  if [[ -n $values ]]; then\n"
      "    mapfile -t COMPREPLY < <(compgen -W \"$values\" -- \"$word\")\n"
      "  elif [[ $word == -* || -z $verb || $verb == compare || $verb == suite || "
      "$verb == accelerator ]]; then\n"
      "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
      "  else\n"
      "    mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n"
      "  fi\n"
      "}}\n"
      "complete -o filenames -F _orrery orrery\n",
      kModels, kGpus, values, words_below(program), words);
}

// Text inside of '...[...]' of zsh's _arguments.
std::string zsh_text(const std::string& text) {
  std::string out = replaced(text, "'", "'\\''");
  for (const char* special : {"[", "]", ":"})
    out = replaced(out, special, std::string("\\") + special);
  return out;
}

std::string zsh(const CLI::App& program) {
  std::string verbs, cases;
  std::vector<std::string> above;  // verbs that have verbs below them
  for (const CLI::App* verb : program.get_subcommands({})) {
    verbs += fmt::format("    '{}:{}'\n", verb->get_name(),
                         replaced(verb->get_description(), "'", "'\\''"));
    if (!verb->get_subcommands({}).empty()) above.push_back(verb->get_name());
  }
  for (const VerbFlags& verb : all_verbs(program)) {
    std::string flags;
    for (const Flag& flag : verb.flags) {
      for (const std::string& name : flag.names) {
        std::string value;
        if (!flag.value.empty()) {
          std::string action =
              flag.choices.empty() ? "_files" : fmt::format("({})", fmt::join(flag.choices, " "));
          if (name == "--model" || name == "-m") action = fmt::format("{{compadd {}}}", kModels);
          if (name == "--gpu" || name == "-g") action = fmt::format("{{compadd {}}}", kGpus);
          value = fmt::format(":{}:{}", zsh_text(flag.value), action);
        }
        flags += fmt::format(" \\\n        '{}[{}]{}'", name, zsh_text(flag.help), value);
      }
    }
    const std::string below = words_below(*verb.app);
    cases += fmt::format("    {}) _arguments{} \\\n        '*:{}:{}' ;;\n",
                         replaced(verb.name, " ", "\\ "), flags, below.empty() ? "file" : "verb",
                         below.empty() ? "_files" : fmt::format("({})", below));
  }
  return fmt::format(
      "#compdef orrery\n"
      "# Completion of orrery for zsh, made by `orrery completion zsh`.\n"
      "_orrery() {{\n"
      "  local -a verbs=(\n{}  )\n"
      "  if (( CURRENT == 2 )); then _describe verb verbs; return; fi\n"
      "  local verb=$words[2]\n"
      "  shift words; (( CURRENT-- ))\n"
      "  if [[ $verb == ({}) ]] && (( CURRENT > 2 )); then\n"
      "    verb=\"$verb $words[2]\"\n"
      "    shift words; (( CURRENT-- ))\n"
      "  fi\n"
      "  case $verb in\n{}  esac\n"
      "}}\n"
      "if [ \"$funcstack[1]\" = _orrery ]; then _orrery \"$@\"; else compdef _orrery orrery; fi\n",
      verbs, fmt::join(above, "|"), cases);
}

std::string fish_text(const std::string& text) {
  return replaced(replaced(text, "\\", "\\\\"), "'", "\\'");
}

std::string fish(const CLI::App& program) {
  std::string out = "# Completion of orrery for fish, made by `orrery completion fish`.\n";
  for (const CLI::App* verb : program.get_subcommands({})) {
    out += fmt::format("complete -c orrery -n __fish_use_subcommand -f -a {} -d '{}'\n",
                       verb->get_name(), fish_text(verb->get_description()));
    const std::string seen = "__fish_seen_subcommand_from ", all = words_below(*verb);
    for (const CLI::App* below : verb->get_subcommands({}))
      out += fmt::format("complete -c orrery -n '{0}{1}; and not {0}{2}' -f -a {3} -d '{4}'\n",
                         seen, verb->get_name(), all, below->get_name(),
                         fish_text(below->get_description()));
  }
  for (const VerbFlags& verb : all_verbs(program)) {
    for (const Flag& flag : verb.flags) {
      out += fmt::format("complete -c orrery -n '__fish_seen_subcommand_from {}'",
                         replaced(verb.name, " ", "; and __fish_seen_subcommand_from "));
      for (const std::string& name : flag.names)
        out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      if (!flag.value.empty()) out += " -r";
      const std::string& last = flag.names.back();
      if (last == "--model") out += " -f -a \"(orrery list models -o csv | sed '1d;s/,.*//')\"";
      if (last == "--gpu") out += " -f -a \"(orrery list gpus -o csv | sed '1d;s/,.*//')\"";
      if (!flag.choices.empty()) out += fmt::format(" -f -a '{}'", fmt::join(flag.choices, " "));
      out += fmt::format(" -d '{}'\n", fish_text(flag.help));
    }
  }
  return out;
}

// Text of a man page: a backslash and a leading dot are commands there, and '-' is a hyphen.
std::string man_text(const std::string& text) {
  std::string out = replaced(replaced(text, "\\", "\\e"), "-", "\\-");
  out = replaced(out, "\n.", "\n\\&.");
  out = replaced(out, "\n'", "\n\\&'");
  return out.starts_with('.') || out.starts_with('\'') ? "\\&" + out : out;
}

std::string man_page(const CLI::App& app, const std::string& name) {
  std::string dashed = name;
  std::replace(dashed.begin(), dashed.end(), ' ', '-');
  std::string title = dashed;
  std::transform(title.begin(), title.end(), title.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  std::string version = version_text();
  version = version.substr(0, version.find(" ("));
  std::string out = fmt::format(
      ".TH {} 1 \"\" \"{}\" \"Orrery\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n.B {}\n[OPTIONS]{}\n",
      title, version, man_text(dashed), man_text(app.get_description()), man_text(name),
      app.get_subcommands({}).empty() ? "" : " VERB");
  const Footer footer = footer_of(app);
  if (!footer.examples.empty()) {
    out += ".SH EXAMPLES\n.nf\n";
    for (const std::string& example : footer.examples) out += man_text(example);
    out += ".fi\n";
  }
  if (!app.get_subcommands({}).empty()) {
    out += ".SH VERBS\n";
    for (const CLI::App* verb : app.get_subcommands({}))
      out += fmt::format(".TP\n.B {}\n{}\n", man_text(verb->get_name()),
                         man_text(verb->get_description()));
  }
  out += ".SH OPTIONS\n";
  std::vector<std::string> headings;
  const std::vector<Flag> flags = flags_of(app, name.substr(name.find(' ') + 1)).flags;
  for (const Flag& flag : flags)
    if (std::find(headings.begin(), headings.end(), flag.heading) == headings.end())
      headings.push_back(flag.heading);
  for (const std::string& heading : headings) {
    out += fmt::format(".SS {}\n", man_text(heading));
    for (const Flag& flag : flags) {
      if (flag.heading != heading) continue;
      out += fmt::format(".TP\n\\fB{}\\fR {}\n{}\n",
                         man_text(fmt::format("{}", fmt::join(flag.names, ", "))),
                         man_text(flag.value), man_text(flag.help));
    }
  }
  if (!footer.rest.empty()) out += ".SH NOTES\n.nf\n" + man_text(footer.rest) + ".fi\n";
  return out;
}

void write_man_pages(const CLI::App& program, const std::string& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  const auto write = [&](const CLI::App& app, const std::string& name) {
    const std::string file = replaced(name, " ", "-") + ".1";
    write_file((std::filesystem::path(folder) / file).string(), man_page(app, name), "--out");
  };
  write(program, "orrery");
  for (const VerbFlags& verb : all_verbs(program)) write(*verb.app, "orrery " + verb.name);
}

}  // namespace

void add_completion(CLI::App& program, Context&) {
  CLI::App* app = program.add_subcommand(
      "completion", "Prints the completion of verbs, flags and their values for a shell.");
  app->footer(
      "Examples:\n"
      "  source <(orrery completion bash)\n"
      "  orrery completion fish > ~/.config/fish/completions/orrery.fish");
  const auto shell = std::make_shared<std::string>();
  app->add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  app->callback([shell, &program] {
    const auto text = *shell == "bash" ? bash : *shell == "zsh" ? zsh : fish;
    fmt::print("{}", text(program));
  });
}

void add_man(CLI::App& program, Context&) {
  CLI::App* app =
      program.add_subcommand("man", "Prints the manual of the program or of a verb for man.");
  app->footer(
      "Examples:\n"
      "  orrery man estimate | man -l -\n"
      "  orrery man --out ~/.local/share/man/man1");
  struct Verb {
    std::string name, folder;
  };
  const auto verb = std::make_shared<Verb>();
  app->add_option("VERB", verb->name, "of which verb [the program]");
  app->add_option("--out", verb->folder, "write the pages of all verbs there")->type_name("DIR");
  app->callback([verb, &program] {
    if (!verb->folder.empty()) return write_man_pages(program, verb->folder);
    if (verb->name.empty()) return fmt::print("{}", man_page(program, "orrery"));
    std::vector<std::string> names;
    const CLI::App* found = nullptr;
    for (const CLI::App* one : program.get_subcommands({})) {
      names.push_back(one->get_name());
      if (one->get_name() == verb->name) found = one;
    }
    if (found == nullptr)
      throw InputError(
          fmt::format("man: no verb '{}'{}", verb->name, did_you_mean(verb->name, names)));
    fmt::print("{}", man_page(*found, "orrery " + verb->name));
  });
}

}  // namespace orrery::cli
