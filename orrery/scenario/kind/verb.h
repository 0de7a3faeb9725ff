// A verb: one way to ask a kind of question, with a name, a help and keys of its own. Each face
// offers the verbs of all kinds: the command line as `orrery NAME`, Python as `orrery.NAME()`, HTTP
// as /api/v1/NAME, the page as a form.
#pragma once

#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/base/node.h"
#include "orrery/scenario/answer/answer.h"
#include "orrery/scenario/answer/run_options.h"
#include "orrery/scenario/kind/verb_keys.h"
#include "orrery/scenario/question/scenario.h"

namespace orrery {

// A word of a verb that is no key (--slo ttft:500ms).
struct VerbText {
  enum class Form { kText, kWords, kFlag };
  std::string_view name = {};
  Form form = Form::kText;
  std::string_view help = {};
  std::string_view heading = {};
  std::string_view value = {};  // the placeholder of its value: "LIMITS"
};

// These words as they were given.
class GivenTexts {
 public:
  void give(std::string_view name, std::vector<std::string> words);
  // Empty: not given.
  std::string text(std::string_view name) const;
  const std::vector<std::string>& words(std::string_view name) const;
  bool flag(std::string_view name) const { return text(name) == "true"; }

 private:
  std::map<std::string, std::vector<std::string>, std::less<>> words_;
};

// A file that can be written of an answer: one, or several whose names begin alike.
struct AnswerFile {
  std::string_view flag = {};  // "--timeline"
  std::string_view help = {};
  std::string_view value = "FILE";     // the placeholder of its name, or "PREFIX"
  bool RunOptions::* needs = nullptr;  // the option that fills it; null: every answer has it
  // The text for a file of this name. InputError, whose text begins with `flag`: the answer lacks
  // it. Null: the files of the point (Point::files) under the beginning `name`.
  std::string (*text)(const Answer& answer, const std::string& name) = nullptr;
};

// A form of the output (-o NAME): a further one, or one that takes the place of "json" or "csv"
// where one point is asked for. Of those an empty text means the general form.
struct AnswerForm {
  std::string_view name = {};
  bool RunOptions::* needs = nullptr;
  std::string (*text)(const Answer& answer) = nullptr;
};

// How the answers of a verb are shown beside the forms that all answers have.
struct VerbOutput {
  bool steps = false;        // whether they are about kernels of a step: --trace, --no-breakdown
  bool draws_steps = false;  // whether pages and pictures of one point need RunOptions::steps
  // The table for 80 columns; null: that of all answers. Of a sweep it is printed where it has a
  // column for each swept key, which the sizes and the keys of `columns` have.
  std::string (*table)(const Answer& answer) = nullptr;
  std::vector<std::string_view> columns = {};
  bool shows_misfits = false;  // whether that table has lines for points that do not fit
  // A longer table, and the help of the flag (--explain) that asks for it; null: there is none.
  std::string (*explained)(const Answer& answer) = nullptr;
  std::string_view explain_help = {};
  // A flag that draws one picture (apps/face/pictures.h); empty: there is none.
  std::string_view picture_flag = {}, picture = {}, picture_help = {};
  std::vector<AnswerFile> files = {};
  std::vector<AnswerForm> forms = {};
  // A switch of the options which is on: its name, the option and its help.
  struct Switch {
    std::string_view name;
    bool RunOptions::* option;
    std::string_view help;
  };
  std::vector<Switch> switches = {};
};

// A form of the page: the keys that it shows first, and values to begin with.
struct VerbForm {
  std::string_view title = {};  // "A training run"; empty: the verb has one form
  // The values by which a question is one of this form rather than of the first: "train=true", or
  // "network in models" where the value is a name of such a list. Empty: of the first.
  std::string_view when = {};
  std::vector<std::string_view> usual = {};                                // names of keys
  std::vector<std::pair<std::string_view, std::string_view>> values = {};  // by the names of keys
  // A path and a text that make a document ask this kind where no key does.
  std::pair<std::string_view, std::string_view> marker = {};
};

// The behaviour of a verb on the page.
struct VerbPage {
  std::vector<std::string_view> figures = {};  // metrics that are shown first, in this order
  // Metrics that are weighed against each other in a picture, each the first that an answer has.
  std::vector<std::string_view> across = {"tpot"}, up = {"output_throughput"};
  std::vector<VerbForm> forms = {};
  std::vector<std::string_view> files = {};  // keys that take the text of a file (given_text.h)
  // The key of which all values can be compared at a press of a button; empty: none.
  std::string_view compared = {};
  bool waits = false;         // it asks at a press of a button, since answers may take long
  bool alternatives = false;  // the points are choices from which one is taken
  // The title of the timeline of a point (RunOptions::steps); empty: it has none.
  std::string_view timeline = {};
};

struct Verb {
  std::string_view name = {};     // "estimate"
  std::string_view heading = {};  // of the group in which lists of verbs have it
  // The place in lists of verbs: those with a lower one come before it, and of equal ones those of
  // kinds that are registered before.
  int place = 100;
  std::string_view help = {};      // what it predicts, in a sentence
  std::string_view remark = {};    // lines of the help above the examples; empty: none
  std::string_view examples = {};  // commands, each on a line that two spaces indent
  std::string_view epilog = {};    // lines at the end of the help; empty: none
  bool defines = false;            // whether the help ends with the terms of services (TTFT, ...)
  std::string_view example = {};   // the shortest command, which messages show

  void (*add_keys)(VerbKeyList& keys) = nullptr;
  // Names of keys that Python takes without them, in this order. The first is the word after the
  // verb on the command line (VerbKey::word).
  std::vector<std::string_view> words = {};
  std::vector<VerbText> texts = {};
  // Values that hold where nothing is given: paths and texts.
  std::vector<std::pair<std::string_view, std::string_view>> presets = {};
  // The heading of --set and --sweep.
  std::string_view any_key_heading = "any key";

  // The document that keys are laid over; null: the presets.
  Node (*base)(const GivenTexts& texts, const Bundle& bundle) = nullptr;
  // Writes the texts into a document, before the keys; null: they are read elsewhere.
  void (*lay)(const GivenTexts& texts, Node& document) = nullptr;
  // Adds what makes the document one of this kind. InputError: it lacks what the verb needs.
  void (*complete)(const Verb& verb, const GivenTexts& texts, Node& document) = nullptr;
  // Sets the options of its answers. InputError: keys without an effect on them.
  void (*narrow)(std::span<const Scenario> points, RunOptions& options) = nullptr;

  VerbOutput output = {};

  VerbPage page = {};
};

// Whether the document, or its sweep, has a value at `path`.
bool is_set(const Node& document, std::string_view path);

// InputError where one of these keys is missing: "--model and --gpu missing, as in: ...". Pairs of
// a path and of its name in the message.
void require_keys(const Node& document,
                  std::initializer_list<std::pair<std::string_view, std::string_view>> keys,
                  std::string_view example);

}  // namespace orrery
