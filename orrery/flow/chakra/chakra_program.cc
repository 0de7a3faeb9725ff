// chakra_of: the trace of a Program.
#include <algorithm>
#include <cmath>

#include "orrery/base/index.h"
#include "orrery/flow/chakra/chakra.h"

namespace orrery {
namespace {

using Type = ChakraNode::Type;
using Comm = ChakraNode::Comm;

struct Emitter {
  ChakraTrace trace;
  int stride = 1;

  ChakraNode& append(std::string name, Type type) {
    ChakraNode n;
    n.id = trace.nodes.size();
    n.name = std::move(name);
    n.type = type;
    if (!trace.nodes.empty()) n.depends = {trace.nodes.back().id};
    trace.nodes.push_back(std::move(n));
    return trace.nodes.back();
  }

  void collective(std::string_view name, const Collective& c) {
    static constexpr std::string_view kGroups[] = {"tp", "pp", "dp", "ep", "cp", "replica", "edp"};
    if (c.ranks <= 1) return;
    if (c.kind == Collective::Kind::kSend) {
      // Relative to the rank that writes it, which is the first with a stage on either side.
      for (Type type : {Type::kSend, Type::kRecv}) {
        ChakraNode& n = append(std::string(name), type);
        n.size = c.bytes;
        n.from = type == Type::kSend ? stride : 0;
        n.to = type == Type::kSend ? 2 * stride : stride;
      }
      return;
    }
    // By Collective::Kind; sends are handled above.
    static constexpr Comm kKinds[] = {Comm::kAllReduce, Comm::kAllGather, Comm::kReduceScatter,
                                      Comm::kAllToAll,  Comm::kBroadcast, {},
                                      Comm::kReduce};
    ChakraNode& n = append(std::string(name), Type::kCollective);
    n.comm = kKinds[index(c.kind)];
    n.size = c.kind == Collective::Kind::kAllGather ? c.bytes / c.ranks : c.bytes;
    n.group = kGroups[index(c.group)];
    const bool inner = c.group == Collective::Group::kTensor;
    n.dimensions = {inner, !inner};
  }
};

}  // namespace

ChakraTrace chakra_of(const Program& program, const std::function<Seconds(const Op&)>& time,
                      int stride) {
  Emitter out;
  out.trace.version = "0.0.4";
  out.stride = stride;
  const auto emit = [&](const ProgramOp& op) {
    if (const auto* c = std::get_if<Collective>(&op.op)) return out.collective(op.name, *c);
    ChakraNode& n = out.append(std::string(op.name), Type::kComp);
    n.operations = flops(op.op).value();
    n.tensor = Bytes(std::round(bytes(op.op).value()));
    n.duration = time(op.op);
  };
  // Entries that run at least once a layer come between those of the beginning and of the end.
  const int layers = std::max(program.layers, 1);
  const auto& ops = program.ops;
  const auto repeated = [&](const ProgramOp& op) { return layers > 1 && op.count >= layers; };
  auto first = std::find_if(ops.begin(), ops.end(), repeated);
  auto last = std::find_if(ops.rbegin(), ops.rend(), repeated).base();
  if (first == ops.end()) last = first;
  const auto times = [](const ProgramOp& op) { return static_cast<int>(std::lround(op.count)); };
  for (auto it = ops.begin(); it != first; ++it) {
    for (int k = 0; k < times(*it); ++k) emit(*it);
  }
  for (int layer = 0; first != last && layer < layers; ++layer) {
    for (auto it = first; it != last; ++it) {
      const auto until = [&](int l) {
        return static_cast<std::int64_t>(std::floor(it->count * l / layers + 1e-9));
      };
      for (auto k = until(layer); k < until(layer + 1); ++k) emit(*it);
    }
  }
  for (auto it = last; it != ops.end(); ++it) {
    for (int k = 0; k < times(*it); ++k) emit(*it);
  }
  return std::move(out.trace);
}

}  // namespace orrery
