// The kind of rented GPUs (rent_question.h).
#include <fmt/format.h>

#include "orrery/base/error.h"
#include "orrery/scenario/answer/answer_text.h"
#include "orrery/scenario/kind/question_kind.h"
#include "orrery/scenario/kinds/rent/rent_question.h"
#include "orrery/scenario/setup/gpu_price.h"

namespace orrery {
namespace {

constexpr Figure kFiguresOfRents[] = {
    {"rent", "USD", Better::kLess, Subject::kCost, "rent", "money for the GPUs in the whole time"}};

void check(const Node& document, const Scenario& s) {
  document.at("hardware").at("gpu");
  if (!s.cost.asked()) document.fail("a rent needs cost.price (--price) or cost.tier (--tier)");
}

void answer(const Answering& with, const Scenario& s, PointAnswers& out) {
  const RentQuestion& q = s.as<RentQuestion>();
  Point& p = out.points.front();
  const Gpu& gpu = with.facts.gpu(s.hardware.gpu);
  p.at = {{"gpu", gpu.id}, {"gpus", q.gpus}};
  const auto price = gpu_price(with.facts, s.cost, gpu, p.notes);
  const Estimate<Usd> hour = price->hour.scaled(static_cast<double>(q.gpus));
  p.metrics.push_back(metric("cost_per_hour", hour));
  p.metrics.push_back(
      metric(own_figure<kFiguresOfRents>("rent"), hour.scaled(q.time.value() / 3600)));
}

std::string table(const Answer& a) {
  std::string out = fmt::format("{:<16} {:>6} {:>12} {:>9}\n", "gpu", "gpus", "USD", "90 %");
  Notes notes;
  for (const Point& p : a.points) {
    const Metric& rent = *p.find("rent");
    out += fmt::format("{:<16} {:>6} {:>12} {:>9}\n", text_at(p, "gpu"), text_at(p, "gpus"),
                       number(rent.value), spread90(rent.value, rent.low90, rent.high90));
    for (const std::string& note : p.notes) notes.add(note);
  }
  return out + notes.text();
}

Verb rent_verb() {
  return {.name = "rent",
          .heading = "Rent GPUs",
          .place = 110,
          .help = "Says what rented GPUs cost for a time.",
          .examples = "  orrery rent --gpu h100-sxm --gpus 8,64 --time 30d --tier on_demand",
          .example = "orrery rent --gpu h100-sxm --gpus 8 --time 30d --tier on_demand",
          .add_keys =
              [](VerbKeyList& keys) {
                for (const char* group : {"hardware", "rent", "cost"}) keys.add_group(group);
              },
          .complete =
              [](const Verb& verb, const GivenTexts&, Node& document) {
                require_keys(document, {{"hardware.gpu", "--gpu"}}, verb.example);
                if (!document.find("rent")) set_path(document, "rent.gpus", scalar_node("1", ""));
              },
          .output = {.table = table, .columns = {"hardware.gpu"}},
          .page = {.figures = {"rent", "cost_per_hour"},
                   .forms = {{.usual = {"gpu", "gpus", "time", "tier", "price"},
                              .values = {{"gpu", "h100-sxm"},
                                         {"gpus", "8,64"},
                                         {"time", "30 d"},
                                         {"tier", "on_demand"}},
                              .marker = {"rent.gpus", "1"}}},
                   .compared = "gpu"}};
}

QuestionKind made() {
  QuestionKind kind = kind_of_one_group<RentQuestion>("rent", "GPUs that are rented");
  kind.plural = "rents";
  kind.top_keys = [](const Scenario&) -> TopKeys {
    return {{"name", "question", "hardware", "rent", "cost"}, "a rent"};
  };
  kind.check = check;
  kind.answer = answer;
  kind.verbs = {rent_verb()};
  kind.figures = kFiguresOfRents;
  return kind;
}

}  // namespace

const QuestionKind& rent_kind() {
  static const QuestionKind kind = made();
  return kind;
}

const QuestionKind& kind_of(const RentQuestion&) { return rent_kind(); }

}  // namespace orrery
