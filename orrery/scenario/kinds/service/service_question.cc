#include "orrery/scenario/kinds/service/service_question.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "orrery/base/kinds.h"
#include "orrery/scenario/question/sweep.h"
#include "orrery/serving/requests/arrivals.h"
#include "orrery/serving/state/adapters.h"
#include "orrery/serving/traces/trace.h"

namespace orrery {
namespace {

// Declares a text that Lengths reads. A malformed text is refused with its place in the document.
Field& add_lengths(Fields& f, std::string name, std::string& value, std::string doc,
                   bool may_be_none = false) {
  return f.custom(
      std::move(name), Field::Type::kText,
      [&value, may_be_none](const Node& n) {
        try {
          if (!(may_be_none && n.text() == "0")) Lengths::parse(n.text());
        } catch (const InputError& e) {
          n.fail(may_be_none ? fmt::format("{}; here milliseconds, or 0", e.what()) : e.what());
        }
        value = n.text();
      },
      [&value] { return nlohmann::ordered_json(value); }, std::move(doc));
}

// Declares the number of requests, whose default depends on the source of the requests.
Field& add_requests(Fields& f, ServiceQuestion& s) {
  static constexpr std::int64_t kMost = 100'000'000;
  return f.custom(
      "requests", Field::Type::kInt,
      [&s](const Node& n) {
        const std::int64_t v = n.as_int();
        if (v < 0 || v > kMost)
          n.fail(fmt::format("{} is out of range: expected 0 to {} requests", v, kMost));
        s.requests = v;
      },
      [&s] { return nlohmann::ordered_json(s.sent()); },
      "number of requests; of a trace this many from its start; a trace is sent whole if this is "
      "not given or is 0");
}

// Reads one rate, in requests per second.
double read_rate(const Node& at, std::string_view text) {
  if (text == "inf") return std::numeric_limits<double>::infinity();
  double v = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
  if (error != std::errc() || end != text.data() + text.size() || !(v >= 1e-9 && v <= 1e9))
    at.fail(fmt::format(
        "expected requests a second from 1e-9 to 1e9, or inf (all at once), got '{}'", text));
  return v;
}

// "2", "2,4,8", "1-64*2" or a list of these.
std::vector<std::string> rate_texts(const Node& n) {
  std::vector<std::string> out;
  const auto add = [&out](const Node& at, std::string_view text) {
    double v = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
    if (end != text.data() + text.size() && text.find('-', 1) != text.npos) {
      for (const std::int64_t whole :
           read_sweep(scalar_node(std::string(text), at.where()), 1, 1'000'000'000))
        out.push_back(std::to_string(whole));
      return;
    }
    read_rate(at, text);
    out.emplace_back(text);
  };
  for (const Node& item : n.is_list() ? n.items() : std::vector<Node>{n}) {
    std::string_view rest = item.text();
    while (true) {
      const auto comma = rest.find(',');
      add(item, rest.substr(0, comma));
      if (comma == rest.npos) break;
      rest.remove_prefix(comma + 1);
    }
  }
  if (out.empty()) n.fail("expected at least one rate");
  return out;
}

Field& add_rate(Fields& f, std::string name, double& value, std::string doc) {
  return f
      .custom(
          std::move(name), Field::Type::kList,
          [&value](const Node& n) {
            const std::vector<std::string> texts = rate_texts(n);
            if (texts.size() != 1) n.fail("expected one rate");
            value = read_rate(n, texts.front());
          },
          [&value] {
            return std::isinf(value) ? nlohmann::ordered_json::array({"inf"})
                                     : nlohmann::ordered_json::array({value});
          },
          std::move(doc))
      .listed(rate_texts);
}

void declare(Fields& f, SloClass& c) {
  constexpr double kMost = 1e8;
  f.add("isl", c.isl, "longest prompt").range(0, kMost);
  f.add("osl", c.osl, "longest output").range(0, kMost);
  f.add("priority", c.priority, "priority of the requests").range(0, 1000);
  f.add("ttft", c.ttft, "limit of the time to the first token");
  f.add("tpot", c.tpot, "limit of the mean time between the later tokens");
  f.add("e2e", c.e2e, "limit of the time to the last token");
  f.add("percentile", c.percentile, "percentile of the class that must meet each limit")
      .range(0, 100);
}

void read_class(const std::string& name, const Node& node, SloClass& c) {
  c.name = name;
  Fields of;
  declare(of, c);
  of.read(node);
  if (c.ttft <= Seconds(0) && c.tpot <= Seconds(0) && c.e2e <= Seconds(0))
    node.fail("a class of requests needs a limit: ttft, tpot or e2e");
}

void declare_rate(Fields& g, ServiceQuestion& s) {
  add_requests(g, s).unit("requests").range(0, 1e8).alias("num_prompts");
  g.add("arrivals", s.arrivals, "distribution of the arrivals").one_of(names_of(arrival_kinds()));
  add_rate(g, "rate", s.rate,
           "mean arrivals per second; several values (2,4 or 1-64*2) make a sweep")
      .alias("request_rate")
      .needs(fmt::format("other load.arrivals than {}",
                         fmt::join(arrivals_that_read(&ArrivalReads::rate, false), ", ")),
             [&s] { return arrival_kind(s.arrivals).reads.rate; });
  g.add("find_max_rate", s.find_max_rate,
        "search for the highest rate at which the limits of slo are met; rate is ignored; "
        "the load is lengthened until the rate no longer depends on it; the arrivals of a "
        "trace are scaled in time");
  declare_arrivals(g, s.arrival.own, s.arrivals);
  g.add("max_concurrency", s.max_concurrency,
        "most requests that are under way at the same time (closed loop); 0: no limit")
      .range(0, 1e8);
}

void declare_prompts(Fields& g, ServiceQuestion& s) {
  const auto generated = [&s] { return s.trace.empty(); };
  constexpr const char* kGenerated = "a generated load, not load.trace";
  add_lengths(g, "isl", s.isl,
              "prompt tokens: 1024, uniform(128, 512), lognormal(1155, 1.1), zipf(a, b, s)")
      .alias("input_len")
      .needs(kGenerated, generated);
  add_lengths(g, "osl", s.osl, "output tokens, in the same forms as isl")
      .alias("output_len")
      .needs(kGenerated, generated);
  g.add("shared_prefix", s.shared_prefix,
        "tokens at the start of a prompt that all prompts of its group share")
      .unit("tokens")
      .range(0, 1 << 24)
      .needs(kGenerated, generated);
  g.add("prefix_groups", s.prefix_groups, "groups of prompts; each group shares another prefix")
      .range(1, 1e6)
      .needs("load.shared_prefix", [&s] { return s.shared_prefix > 0; });
  g.add("samples", s.samples,
        "answers sampled for each prompt (`n` of the API), sent as requests that share the "
        "prompt")
      .range(1, 1000)
      .needs(kGenerated, generated);
  g.add("beam_width", s.beam_width,
        "width of a beam search; 1: sampling, no beam search (docs/serving.md)")
      .range(1, 1000);
  add_lengths(g, "turns", s.turns,
              "turns of a conversation, in the same forms as isl; with several turns isl is "
              "the tokens that a turn adds, and rate and max_concurrency count conversations")
      .needs(kGenerated, generated);
  add_lengths(g, "tool_time", s.tool_time,
              "milliseconds between the end of a turn and the next turn (tool call, "
              "thinking): 0, or in the same forms as isl",
              true)
      .needs("load.turns", [&s] { return s.turns != "1"; });
  g.add("priorities", s.priorities,
        "shares of the requests with priority 0, 1, ...; priority 0 is served first; needs "
        "engine.overrides.scheduler.order priority")
      .range(0, 1e9);
}

// A recorded load, and the part of any load that figures are of.
void declare_run(Fields& g, ServiceQuestion& s) {
  const auto traced = [&s] { return !s.trace.empty(); };
  g.add("trace", s.trace, "file of recorded requests to send (formats: docs/serving.md)")
      .verbatim();
  g.add("time_scale", s.time_scale, "factor on the arrival times of a trace; 0.5 doubles its rate")
      .range(1e-6, 1e6)
      .needs("load.trace", traced);
  g.add("length_scale", s.length_scale, "factor on the prompt and output lengths of a trace")
      .range(1e-6, 1e6)
      .needs("load.trace", traced);
  g.add("warmup", s.margins.warmup, "number of requests at the start that the figures leave out")
      .range(0, 1e8);
  g.add("cooldown", s.margins.cooldown, "number of requests at the end that the figures leave out")
      .range(0, 1e8);
  g.add("seed", s.seed, "seed of all random numbers").range(0, 9e15);
  g.add("repeat", s.repeat,
        "number of seeds to simulate; the figures are means over the seeds, and the "
        "intervals include the 90 % confidence of the mean")
      .range(1, 10000);
}

void declare_limits(Fields& g, ServiceLevels& slo) {
  g.add("ttft", slo.ttft, "limit of the time to the first token; 0 s: none");
  g.add("tpot", slo.tpot, "limit of the mean time between the later tokens; 0 s: none");
  g.add("e2e", slo.e2e, "limit of the time to the last token; 0 s: none");
  g.add("percentile", slo.percentile, "percentile of the requests that must meet each limit")
      .range(0, 100)
      .needs("a limit in slo", [&slo] { return slo.any(); });
  constexpr const char* kOwn = "percentile for this limit; absent: slo.percentile";
  g.add("ttft_percentile", slo.ttft_percentile, kOwn).range(0, 100).needs("slo.ttft", [&slo] {
    return slo.ttft > Seconds(0);
  });
  g.add("tpot_percentile", slo.tpot_percentile, kOwn).range(0, 100).needs("slo.tpot", [&slo] {
    return slo.tpot > Seconds(0);
  });
  g.add("e2e_percentile", slo.e2e_percentile, kOwn).range(0, 100).needs("slo.e2e", [&slo] {
    return slo.e2e > Seconds(0);
  });
}

void declare_classes(Fields& g, ServiceLevels& slo) {
  g.custom(
      "classes", Field::Type::kGroup,
      [&slo](const Node& n) {
        if (!n.is_map()) n.fail("expected names of classes, each with its limits");
        slo.classes.clear();
        for (std::size_t i = 0; i < n.keys().size(); ++i)
          read_class(n.keys()[i], n.items()[i], slo.classes.emplace_back());
      },
      [&slo] {
        nlohmann::ordered_json all = nlohmann::ordered_json::object();
        for (SloClass c : slo.classes) {
          Fields of;
          declare(of, c);
          all[c.name] = of.json();
          if (!c.priority) all[c.name].erase("priority");
        }
        return all;
      },
      "requests with limits besides these, by names: each has isl, osl or priority, which "
      "say what belongs to it, and ttft, tpot, e2e and percentile; a request belongs to the "
      "first that it fits");
}

}  // namespace

void declare(Fields& f, ServiceQuestion& s, const CostChoice& cost) {
  f.group(
      "load",
      [&s](Fields& g) {
        declare_rate(g, s);
        declare_prompts(g, s);
        declare_run(g, s);
      },
      "load: the requests that are sent to the service");
  declare(f, s.cluster, cost);
  f.group(
      "slo",
      [&s](Fields& g) {
        declare_limits(g, s.slo);
        declare_classes(g, s.slo);
      },
      "SLO: limits of the latency");
  declare(f, s.speculation);
  declare(f, s.lora);
  declare(f, s.kv);
  declare(f, s.neighbour);
}

namespace {

RequestLoad requests_of(const ServiceQuestion& s, double rate, std::vector<std::string>& notes,
                        bool& rated) {
  rated = arrival_kind(s.arrivals).reads.rate;
  LoadSpec spec;
  spec.requests = s.sent();
  spec.arrivals = s.arrivals;
  spec.parameters = s.arrival;
  spec.parameters.rate = rate;
  spec.seed = static_cast<std::uint64_t>(s.seed);
  if (s.trace.empty()) {
    if (spec.requests == 0) throw InputError("load.requests: 0 requests; 0 is for traces (all)");
    spec.input = Lengths::parse(s.isl);
    spec.output = Lengths::parse(s.osl);
    spec.shared_prefix = static_cast<std::int32_t>(s.shared_prefix);
    spec.prefix_groups = s.prefix_groups;
    spec.samples = static_cast<std::int32_t>(s.samples);
    spec.turns = Lengths::parse(s.turns);
    if (s.tool_time != "0") spec.tool_time = Lengths::parse(s.tool_time);
    return make_load(spec);
  }
  TraceOptions options;
  options.time_scale = s.time_scale;
  options.length_scale = s.length_scale;
  options.requests = spec.requests;
  Trace trace = read_trace(s.trace, options);
  if (trace.has_arrivals) {
    rated = false;
    const ServiceQuestion unset;
    if (s.rate != unset.rate || s.arrivals != unset.arrivals)
      throw InputError(fmt::format(
          "load.{}: the trace {} has arrivals; load.time_scale changes their rate (0.5: twice the "
          "rate)",
          s.rate != unset.rate ? "rate" : "arrivals", s.trace));
  } else {
    set_arrivals(spec, trace.load);
    notes.push_back(
        fmt::format("{} has no arrivals: {} at {} a second", s.trace, s.arrivals, rate));
  }
  if (trace.zero_lengths > 0) {
    notes.push_back(fmt::format("{} requests of {} without prompt or output were left out",
                                trace.zero_lengths, s.trace));
  }
  return std::move(trace.load);
}

}  // namespace

RequestLoad load_of(const ServiceQuestion& s, double rate, std::vector<std::string>& notes,
                    bool* rated) {
  bool by_rate = false;
  RequestLoad load = requests_of(s, rate, notes, by_rate);
  if (rated != nullptr) *rated = by_rate;
  const auto requests = static_cast<std::int64_t>(load.requests.size());
  if (s.margins.warmup + s.margins.cooldown >= requests)
    throw InputError(fmt::format("load.warmup {} and load.cooldown {} leave none of {} requests",
                                 s.margins.warmup, s.margins.cooldown, requests));
  if (!s.priorities.empty())
    assign_priorities(load, s.priorities, static_cast<std::uint64_t>(s.seed));
  if (s.lora.on())
    assign_adapters(load, s.lora.adapters, s.lora.alpha, static_cast<std::uint64_t>(s.seed));
  return load;
}

}  // namespace orrery
