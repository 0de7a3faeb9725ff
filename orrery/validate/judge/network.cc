#include "orrery/validate/judge/network.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>

#include "orrery/base/csv.h"
#include "orrery/base/error.h"
#include "orrery/network/algorithms/cost.h"
#include "orrery/network/fit/measured_place.h"
#include "orrery/validate/fit/network_machines.h"
#include "orrery/validate/judge/wire_limit.h"
#include "orrery/validate/questions/node_name.h"
#include "orrery/validate/report/other_sends.h"
#include "orrery/validate/report/seen_groups.h"
#include "orrery/validate/rows/scenario_keys.h"

namespace orrery {
namespace {

using CollectiveKind = Collective::Kind;

// The predictor whose constants were fitted without the row's group.
constexpr const char* kLeftOut = "orrery left out";
// The stack of a loop of launches, and the time between two of them (make_network.h).
constexpr const char* kLoop = "pytorch-loop";
constexpr Seconds kLoopTime = microseconds(40);

std::optional<CollectiveKind> kind_of(std::string_view name) {
  if (name == "all_reduce") return CollectiveKind::kAllReduce;
  if (name == "all_gather") return CollectiveKind::kAllGather;
  if (name == "reduce_scatter") return CollectiveKind::kReduceScatter;
  if (name == "alltoall") return CollectiveKind::kAllToAll;
  if (name == "broadcast") return CollectiveKind::kBroadcast;
  if (name == "sendrecv") return CollectiveKind::kSend;
  return std::nullopt;
}

std::string size_class(Bytes bytes) {
  if (bytes < Bytes(1 << 20)) return "below 1 MiB";
  return bytes < Bytes(128 << 20) ? "1 to 128 MiB" : "128 MiB and more";
}

std::string after(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  if (at == text.npos) return "";
  const std::string_view rest = text.substr(at + key.size());
  return std::string(rest.substr(0, rest.find(';')));
}

// "ALGO=Ring;PROTO=LL128;NVLS=0"
ForcedChoice forced_by(std::string_view tuning) {
  ForcedChoice forced{parse_collective_algorithm(after(tuning, "ALGO="), AlgorithmModel::kTuner),
                      parse_collective_protocol(after(tuning, "PROTO="))};
  if (!forced.algorithm && after(tuning, "NVLS=") == "0")
    forced.algorithm = CollectiveAlgorithm::kRing;
  return forced;
}

struct Question {
  std::string row, gpu, fabric, collective, stack = "nccl", tuning, source;
  int ranks = 2, nodes = 1;
  Bytes bytes;
  double measured_us = 0;
  ForcedChoice forced;
  bool seen = true;  // the authors had rows of its group in sight
};

// ASTRA-sim's predictions for eight NPUs on a switch: collective to log(bytes of nccl-tests) to
// log(us).
class AstraSim {
 public:
  // Without the file there are no predictions.
  explicit AstraSim(const std::filesystem::path& file) {
    if (!std::filesystem::exists(file)) return;
    CsvReader csv(file);
    const int backend = csv.column("backend"), topology = csv.column("topology"),
              npus = csv.column("npus_per_dim"), algorithm = csv.column("algorithm"),
              collective = csv.column("collective"), bytes = csv.column("message_bytes"),
              ns = csv.column("predicted_ns");
    while (csv.next()) {
      constexpr std::string_view kAlgorithm = "ring";  // as the table spells it
      if (csv.text(backend) != "congestion_aware" || csv.text(topology) != "Switch" ||
          csv.text(npus) != "8" || csv.text(algorithm) != kAlgorithm)
        continue;
      // The size of its all-gather is the contribution of one rank.
      const double whole = csv.text(collective) == "all_gather" ? 8 : 1;
      curves_[std::string(csv.text(collective))][std::log(csv.number(bytes) * whole)] =
          std::log(csv.number(ns) / 1e3);
    }
  }
  std::optional<double> us(const Question& q) const {
    if (q.ranks != 8 || q.nodes != 1 || q.fabric != "NVSwitch" ||
        !(q.gpu.starts_with("H100") || q.gpu.starts_with("H200")))
      return std::nullopt;
    const auto curve = curves_.find(q.collective == "alltoall" ? "all_to_all" : q.collective);
    if (curve == curves_.end()) return std::nullopt;
    const double x = std::log(q.bytes.value());
    const auto above = curve->second.lower_bound(x);
    if (above == curve->second.end()) return std::nullopt;
    if (above->first == x) return std::exp(above->second);
    if (above == curve->second.begin()) return std::nullopt;
    const auto below = std::prev(above);
    const double part = (x - below->first) / (above->first - below->first);
    return std::exp(below->second + part * (above->second - below->second));
  }

 private:
  std::map<std::string, std::map<double, double>> curves_;
};

class Judge {
 public:
  Judge(const Bundle& bundle, ConstantsChoice constants, const std::filesystem::path& astra_sim)
      : machines_(bundle), constants_(constants), astra_sim_(astra_sim) {
    report_.area = "network";
    if (constants == ConstantsChoice::kCommitted) report_.note = kInSample;
  }

  void judge(const Question& q) {
    try {
      predict(q);
    } catch (const Infeasible& e) {
      report_.refused.push_back({q.row, e.what()});
    } catch (const NoData& e) {
      report_.refused.push_back({q.row, e.what()});
    } catch (const InputError& e) {
      report_.refused.push_back({q.row, e.what()});
    }
  }
  // A dispatch or combine; `by_bandwidth`: q.measured_us is DeepEP's bandwidth in GB/s instead.
  void judge(const Question& q, const ExpertExchange& x, bool by_bandwidth) {
    try {
      const Machine& m = machine(q, true);
      const std::string question = asked(q, x);
      const auto add = [&](const char* who, const CollectiveTime& t) {
        // The ends of an interval of a bandwidth are those of the time in the other order.
        const auto figure = [&](double p) {
          const Seconds s = t.time.quantile(p);
          return by_bandwidth ? (t.bus_bandwidth * t.time.value).value() / 1e9 / s.value()
                              : s / microseconds(1);
        };
        const auto low = [&](double p) { return figure(by_bandwidth ? 1 - p : p); };
        report_.rows.push_back({{{"table", who},
                                 {"metric", by_bandwidth ? "bandwidth" : size_class(q.bytes)},
                                 {"fabric", q.fabric},
                                 {"collective", q.collective}},
                                fmt::format("{} {} x{}", q.row, q.gpu, q.ranks),
                                q.measured_us,
                                figure(0.5),
                                low(0.25),
                                low(0.75),
                                low(0.05),
                                low(0.95),
                                t.time.origin,
                                question,
                                q.source,
                                {},
                                !question.starts_with('{') ? ""
                                : by_bandwidth             ? "busbw"
                                                           : "time"});
      };
      add("orrery", m.model->exchange(x, Collective::Group::kTensor, q.ranks));
      if (constants_ == ConstantsChoice::kCommitted) return;
      add(kLeftOut, m.left_out->exchange(x, Collective::Group::kTensor, q.ranks));
      mark_left_out(q, m);
    } catch (const InputError& e) {
      report_.refused.push_back({q.row, e.what()});
    }
  }
  void refuse(const std::string& row, const std::string& why) {
    report_.refused.push_back({row, why});
  }
  bool has(const std::filesystem::path& file) { return has_table(file, report_); }
  ValidationReport&& result() {
    wires_.mark(report_);
    if (report_.note.empty()) report_.note = sends_.text(report_);
    return std::move(report_);
  }

 private:
  using Machine = NetworkMachines::Machine;

  const Machine& machine(const Question& q, bool experts = false) {
    return machines_.of({.gpu = q.gpu,
                         .fabric = q.fabric,
                         .ranks = q.ranks,
                         .nodes = q.nodes,
                         .stack = q.stack,
                         .experts = experts});
  }

  // Writes into the last row whether a fit has seen its group, which this row leaves out, and
  // whether the authors had the group in sight.
  void mark_left_out(const Question& q, const Machine& m) {
    auto& by = report_.rows.back().by;
    // The time of the loop was read off the rows that are shorter than it.
    const bool loop = q.stack == kLoop && q.collective != "sendrecv" &&
                      report_.rows.back().predicted < kLoopTime / microseconds(1);
    by["fitted"] = loop ? "yes" : m.fitted ? "left out" : "no";
    by["seen"] = q.seen ? "yes" : "no";
  }

  // The keys of the cluster's place; nothing if it takes a node that no catalog file describes.
  std::optional<ScenarioKeys> place_keys(const Cluster& cluster) const {
    const auto node = node_name(machines_.catalog(), cluster.gpu(), cluster.node_type());
    if (!node) return std::nullopt;
    ScenarioKeys keys;
    keys.set("hardware.gpu", cluster.gpu().id);
    if (!node->empty()) keys.set("hardware.node", *node);
    return keys;
  }

  // The question as a scenario, or in words if the scenario would need a node file that the catalog
  // lacks.
  std::string asked(const Question& q) {
    std::optional<ScenarioKeys> keys = place_keys(machine(q).cluster);
    if (!keys) return what(q);
    keys->set("collective.kind", scenario_kind(q.collective));
    keys->set("collective.bytes", fmt::format("{:.0f}", q.bytes.value()));
    keys->set("collective.gpus", q.ranks);
    keys->set("collective.stack", q.stack);
    const auto force = [&](const char* key, const auto& choice) {
      if (choice) keys->set(key, std::string(to_text(*choice)));
    };
    force("collective.algorithm", q.forced.algorithm);
    force("collective.protocol", q.forced.protocol);
    return keys->yaml();
  }

  // As asked(q), of a dispatch or combine of routed experts.
  std::string asked(const Question& q, const ExpertExchange& x) {
    std::optional<ScenarioKeys> keys = place_keys(machine(q, true).cluster);
    if (!keys) return what(q);
    keys->set("collective.kind", x.combine ? "moe-combine" : "moe-dispatch");
    keys->set("collective.gpus", q.ranks);
    keys->set("collective.mode", x.low_latency ? "low-latency" : "normal");
    keys->set("collective.tokens", x.tokens);
    keys->set("collective.hidden", x.hidden);
    keys->set("collective.top_k", x.top_k);
    if (!x.low_latency) keys->set("collective.sms", x.sms);
    return keys->yaml();
  }

  // The scenario's name of a collective: "reduce-scatter" of the table's "reduce_scatter".
  static std::string scenario_kind(std::string name) {
    if (name == "alltoall") return "all-to-all";
    if (name == "sendrecv") return "send";
    std::replace(name.begin(), name.end(), '_', '-');
    return name;
  }

  static std::string what(const Question& q) {
    return fmt::format(
        "{} of {} B over {} {} on {} nodes, {}, {}, {}: no file of the catalog describes its nodes",
        q.collective, q.bytes.value(), q.ranks, q.gpu, q.nodes, q.fabric, q.stack, q.tuning);
  }

  void predict(const Question& q) {
    const Machine& m = machine(q);
    const CollectiveKind kind = *kind_of(q.collective);
    const Collective c{kind, Collective::Group::kTensor, q.ranks, q.bytes};
    const auto us = [](Seconds s) { return s / microseconds(1); };
    const std::string question = asked(q);
    const std::size_t first = report_.rows.size();
    const auto judged = [&](const char* who, const Estimate<Seconds>& t) {
      return ValidationRow{{{"table", who},
                            {"metric", size_class(q.bytes)},
                            {"fabric", q.fabric},
                            {"collective", q.collective}},
                           fmt::format("{} {} x{} {} B", q.row, q.gpu, q.ranks, q.bytes.value()),
                           q.measured_us,
                           us(t.value),
                           us(t.quantile(0.25)),
                           us(t.quantile(0.75)),
                           us(t.quantile(0.05)),
                           us(t.quantile(0.95)),
                           t.origin,
                           question,
                           q.source,
                           {},
                           question.starts_with('{') ? "time" : ""};
    };
    ValidationRow row = judged("orrery", m.model->predict(c, q.forced).time);
    report_.rows.push_back(row);
    const auto add = [&](const char* who, double predicted) {
      row.by["table"] = who;
      row.predicted = row.low50 = row.high50 = row.low90 = row.high90 = predicted;
      row.origin = Origin::kAnalytical;
      report_.rows.push_back(row);
    };
    add("alpha-beta", us(alpha_beta(m.cluster, c)));
    if (const auto theirs = astra_sim_.us(q)) add("astra-sim", *theirs);
    if (constants_ != ConstantsChoice::kCommitted) {
      report_.rows.push_back(judged(kLeftOut, m.left_out->predict(c, q.forced).time));
      mark_left_out(q, m);
      if (kind == CollectiveKind::kSend) sends_.add(q.gpu, q.bytes, report_.rows.size() - 1);
    }
    wires_.note(fmt::format("{} {} {} {} {}", q.gpu, q.ranks, q.collective, q.fabric, q.source),
                first, report_.rows.size(), q.measured_us < us(m.model->bound(c)));
  }

  static Seconds alpha_beta(const Cluster& cluster, const Collective& c) {
    const GroupLink link = cluster.link(c.ranks);
    const bool direct = c.kind == CollectiveKind::kAllToAll || c.kind == CollectiveKind::kSend;
    const auto algorithm = direct ? CollectiveAlgorithm::kDirect : CollectiveAlgorithm::kRing;
    // A ring over several nodes passes each port with every node's share.
    const BytesPerSecond bandwidth =
        link.nodes > 1 && !direct ? link.bandwidth * link.ranks_per_node : link.bandwidth;
    return collective_steps(c.kind, algorithm, c.ranks) * link.fabric->latency +
           collective_volume(c.kind, algorithm, c.ranks, c.bytes) / bandwidth;
  }

  NetworkMachines machines_;
  const ConstantsChoice constants_;
  AstraSim astra_sim_;
  ValidationReport report_;
  WireLimit wires_;
  OtherSends sends_;
};

// "tokens=4096;hidden=7168;topk=8;fp8;SMs=24" of a row of `version` "V1 low-latency".
ExpertExchange exchange_of(std::string_view collective, std::string_view version,
                           std::string_view tuning) {
  ExpertExchange x;
  const auto number = [&](std::string_view key, std::int64_t otherwise) {
    const std::string text = after(tuning, key);
    std::int64_t v = otherwise;
    std::from_chars(text.data(), text.data() + text.size(), v);
    return v;
  };
  x.combine = collective == "moe_combine";
  x.low_latency = version.find("low-latency") != std::string_view::npos;
  x.tokens = number("tokens=", x.tokens);
  x.hidden = static_cast<int>(number("hidden=", x.hidden));
  x.top_k = static_cast<int>(number("topk=", x.top_k));
  x.sms = static_cast<int>(number("SMs=", x.sms));
  return x;
}

void read_measured(const std::filesystem::path& file, Judge& judge) {
  CsvReader csv(file);
  const int collective = csv.column("collective"), gpu = csv.column("gpu"),
            ranks = csv.column("n_gpus"), nodes = csv.column("nodes"),
            fabric = csv.column("fabric"), tuning = csv.column("tuning"),
            bytes = csv.column("message_bytes"), time = csv.column("time_us"),
            in_place = csv.column("time_inplace_us"), source = csv.column("source"),
            bus = csv.column("busbw_GBps"), version = csv.column("version");
  while (csv.next()) {
    const std::string row = fmt::format("measured.csv:{}", csv.line());
    const bool exchange = csv.text(collective).starts_with("moe_");
    if (!exchange && !kind_of(csv.text(collective))) {
      judge.refuse(row, "a collective that is not modelled");
      continue;
    }
    if (!exchange && (csv.empty(bytes) || csv.empty(time))) {
      judge.refuse(row, "no size or no time");
      continue;
    }
    Question q;
    q.row = row;
    q.gpu = csv.text(gpu);
    q.fabric = fabric_spelling(csv.text(fabric), csv.text(tuning));
    q.collective = csv.text(collective);
    q.ranks = static_cast<int>(csv.integer(ranks));
    q.nodes = static_cast<int>(csv.integer(nodes));
    q.tuning = csv.text(tuning);
    if (exchange) q.tuning.append(", ").append(csv.text(version));
    q.source = csv.text(source);
    q.seen = seen_group(fmt::format("{}|{}|{}|{}", csv.text(gpu), csv.text(ranks),
                                    csv.text(collective), csv.text(fabric)));
    if (exchange) {
      const bool by_bandwidth = csv.empty(time);
      q.bytes = Bytes(csv.optional_number(bytes).value_or(0));
      q.measured_us = csv.number(by_bandwidth ? bus : time);
      judge.judge(q, exchange_of(csv.text(collective), csv.text(version), csv.text(tuning)),
                  by_bandwidth);
      continue;
    }
    q.bytes = Bytes(csv.number(bytes));
    q.measured_us = std::min(csv.number(time), csv.optional_number(in_place).value_or(1e30));
    q.forced = forced_by(csv.text(tuning));
    const std::string_view from = csv.text(source);
    const bool vidur = from.starts_with("vidur");
    // The stack was chosen by these rows (docs/network.md). The rows of A100 do not show the loop.
    const bool loop = from.starts_with("vidur:h100") || q.collective == "sendrecv";
    if (vidur || from.starts_with("stas00")) q.stack = loop ? kLoop : "pytorch";
    judge.judge(q);
  }
}

void read_kernels(const std::filesystem::path& file, Judge& judge) {
  CsvReader csv(file);
  const int system = csv.column("system"), framework = csv.column("framework"),
            op = csv.column("op"), dtype = csv.column("dtype"), gpus = csv.column("gpus"),
            elements = csv.column("elements"), latency = csv.column("latency_us");
  while (csv.next()) {
    if (csv.text(framework) != "nccl" || !kind_of(csv.text(op))) continue;
    Question q;
    q.row = fmt::format("collective_nccl:{}", csv.line());
    q.gpu = csv.text(system);
    for (char& c : q.gpu) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    q.fabric = q.gpu == "L40S" ? "PCIe" : "NVSwitch";
    q.collective = csv.text(op);
    q.ranks = static_cast<int>(csv.integer(gpus));
    const bool half = csv.text(dtype) == "half";
    q.bytes = Bytes(csv.number(elements) * (half ? 2 : 1));
    q.measured_us = csv.number(latency);
    q.tuning = csv.text(dtype);
    q.source = "collective_nccl";
    if (!half && q.collective == "all_reduce") q.forced.algorithm = CollectiveAlgorithm::kRing;
    judge.judge(q);
  }
}

}  // namespace

ValidationReport validate_network(const std::filesystem::path& dir, const std::string& table,
                                  const Bundle& bundle, ConstantsChoice constants) {
  const auto find = [&](const char* folder, const char* name) {
    const auto below = dir / folder / name;
    return std::filesystem::exists(below) ? below : dir / name;
  };
  if (!table.empty() && table != "measured" && table != "collective_nccl") {
    throw InputError(
        fmt::format("expected the table measured or collective_nccl, got '{}'", table));
  }
  Judge judge(bundle, constants, find("network", "astra_sim.csv"));
  bool any = false;
  const auto read = [&](const char* name, const std::filesystem::path& file, auto reader) {
    if ((!table.empty() && table != name) || !judge.has(file)) return;
    any = true;
    reader(file, judge);
  };
  read("measured", find("network", "measured.csv"), read_measured);
  read("collective_nccl", find("kernels", "collective_nccl.csv.gz"), read_kernels);
  if (!any) {
    throw InputError(fmt::format(
        "{}: no measured.csv and no collective_nccl.csv.gz, here or in network/ and kernels/",
        dir.string()));
  }
  return judge.result();
}

}  // namespace orrery
