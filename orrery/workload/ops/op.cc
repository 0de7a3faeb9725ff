#include "orrery/workload/ops/op.h"

#include <fmt/format.h>

namespace orrery {
namespace {

std::string_view elementwise_name(Elementwise::Kind kind) {
  switch (kind) {
    case Elementwise::Kind::kNorm:
      return "norm";
    case Elementwise::Kind::kAddNorm:
      return "add_norm";
    case Elementwise::Kind::kActivation:
      return "activation";
    case Elementwise::Kind::kAdd:
      return "add";
    case Elementwise::Kind::kRotary:
      return "rotary";
    case Elementwise::Kind::kQuantise:
      return "quantise";
    case Elementwise::Kind::kSoftmax:
      return "softmax";
    case Elementwise::Kind::kSample:
      return "sample";
    case Elementwise::Kind::kCopy:
      return "copy";
  }
  return "elementwise";
}

}  // namespace

std::string Elementwise::description() const {
  return fmt::format("{}{} [{}, {}]", elementwise_name(kind), gradient ? " gradient" : "", rows,
                     width);
}

Elementwise gradient(const Elementwise& forward) {
  Elementwise g = forward;
  g.gradient = true;
  switch (forward.kind) {
    case Elementwise::Kind::kAdd:
      g.read = g.written = Bytes(0);
      break;
    case Elementwise::Kind::kRotary:
    case Elementwise::Kind::kCopy:
      break;
    default:
      g.read = forward.read + forward.written;
      g.written = forward.read;
  }
  return g;
}

Bytes Embedding::byte_count() const {
  return 2 * real(tokens) * real(hidden) * bytes_per_element(dtype);
}
std::string Embedding::description() const {
  return fmt::format("embedding {} {} rows of {}", to_text(dtype), tokens, hidden);
}

Bytes OptimizerStep::byte_count() const { return real(parameters) * (read + written); }
std::string OptimizerStep::description() const {
  return fmt::format("optimizer step of {} parameters, {:.4g} B each", parameters,
                     (read + written).value());
}

OptimizerStep adam_step(std::int64_t parameters, Dtype weight, Dtype gradient,
                        std::optional<Dtype> master, Dtype moments) {
  const Bytes stored = bytes_per_element(weight);
  const Bytes states = 2 * bytes_per_element(moments);
  const Bytes updated = master ? bytes_per_element(*master) : stored;
  return {parameters, bytes_per_element(gradient) + updated + states,
          updated + states + (master ? stored : Bytes(0))};
}

std::string Collective::description() const {
  return fmt::format("{} of {} over {} ranks", to_text(kind), to_text(bytes), ranks);
}

std::string_view to_text(Collective::Kind kind) {
  switch (kind) {
    case Collective::Kind::kAllReduce:
      return "all_reduce";
    case Collective::Kind::kAllGather:
      return "all_gather";
    case Collective::Kind::kReduceScatter:
      return "reduce_scatter";
    case Collective::Kind::kAllToAll:
      return "all_to_all";
    case Collective::Kind::kBroadcast:
      return "broadcast";
    case Collective::Kind::kSend:
      return "send";
    case Collective::Kind::kReduce:
      return "reduce";
  }
  return "collective";
}

Flops flops(const Op& op) {
  return std::visit([](const auto& o) { return o.flop_count(); }, op);
}
Bytes bytes(const Op& op) {
  return std::visit([](const auto& o) { return o.byte_count(); }, op);
}
Dtype arithmetic(const Op& op) {
  return std::visit([](const auto& o) { return o.arithmetic(); }, op);
}
std::string_view kind_name(const Op& op) {
  return std::visit([](const auto& o) { return o.kName; }, op);
}
Family family_of(const Op& op) {
  return std::visit([](const auto& o) { return o.kFamily; }, op);
}
bool attends(const Op& op) {
  return std::visit([](const auto& o) { return requires { o.kAttends; }; }, op);
}
std::string describe(const Op& op) {
  return std::visit([](const auto& o) { return o.description(); }, op);
}

}  // namespace orrery
