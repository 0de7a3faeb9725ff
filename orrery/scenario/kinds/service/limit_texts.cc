#include "orrery/scenario/kinds/service/limit_texts.h"

#include <fmt/format.h>

#include "orrery/base/error.h"

namespace orrery {
namespace {

constexpr std::string_view kLimitsHeading = "SLO: limits of the latency";

// "ttft:p99:500ms,tpot:50ms" as the keys of `slo`.
void set_slo(Node& document, const std::string& text) {
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::string part = text.substr(begin, text.find(',', begin) - begin);
    begin += part.size() + 1;
    const std::size_t first = part.find(':'), last = part.rfind(':');
    const bool has_percentile = first != last;
    if (first == std::string::npos || first == 0 || last + 1 == part.size() ||
        (has_percentile && (last < first + 3 || part[first + 1] != 'p')))
      throw InputError(
          fmt::format("--slo {}: expected limits like ttft:p99:500ms or tpot:50ms", part));
    const std::string key = "slo." + part.substr(0, first);
    set_path(document, key, scalar_node(part.substr(last + 1), "--slo " + part));
    if (has_percentile)
      set_path(document, key + "_percentile",
               scalar_node(part.substr(first + 2, last - first - 2), "--slo " + part));
  }
}

// "ttft:500 tpot:50 e2el:2000" (vLLM's --goodput, in milliseconds) as the keys of `slo`.
void set_goodput(Node& document, const std::vector<std::string>& limits) {
  for (const std::string& limit : limits) {
    const std::size_t colon = limit.find(':');
    std::string key = limit.substr(0, colon);
    if (key == "e2el") key = "e2e";
    const bool known = key == "ttft" || key == "tpot" || key == "e2e";
    const std::string value = colon == std::string::npos ? "" : limit.substr(colon + 1);
    if (!known || value.empty() || value.find_first_not_of("0123456789.") != std::string::npos)
      throw InputError(fmt::format(
          "--goodput {}: expected limits in milliseconds like ttft:500 tpot:50 e2el:10000", limit));
    set_path(document, "slo." + key, scalar_node(value + " ms", "--goodput " + limit));
  }
}

}  // namespace

std::vector<VerbText> limit_texts() {
  return {{.name = "slo",
           .form = VerbText::Form::kText,
           .help = "limits of slo in one, each with its percentile: ttft:p99:500ms,tpot:p50:50ms",
           .heading = kLimitsHeading,
           .value = "LIMITS"},
          {.name = "goodput",
           .form = VerbText::Form::kWords,
           .help = "the same as vLLM writes them, in ms: ttft:500 tpot:50",
           .heading = kLimitsHeading,
           .value = "LIMITS"}};
}

void lay_limits(const GivenTexts& texts, Node& document) {
  if (const std::string slo = texts.text("slo"); !slo.empty()) set_slo(document, slo);
  set_goodput(document, texts.words("goodput"));
}

}  // namespace orrery
