#include "orrery/training/events/pass_streams.h"

#include <algorithm>

namespace orrery {
namespace {

using TimelineKind = TimelineEvent::Kind;

// The transfers of a pass or pair that takes `scale` times its own time.
class TransferList {
 public:
  explicit TransferList(double scale) : scale_(scale) {}

  void add(TimelineKind kind, Stream stream, Seconds start, Seconds length, bool forward = true) {
    if (length > Seconds(0)) list_.push_back({kind, stream, start, start + length, forward});
  }
  double scale() const { return scale_; }
  std::vector<PassTransfer> list() { return std::move(list_); }

 private:
  double scale_;
  std::vector<PassTransfer> list_;
};

}  // namespace

std::vector<PassTransfer> transfers_during(const ScheduledChunk& t, Pass pass, Seconds start,
                                           Seconds end) {
  const bool forward = pass == Pass::kForward;
  const Seconds work = forward                        ? t.forward
                       : pass == Pass::kBackwardInput ? t.backward_input
                                                      : t.backward();
  if (pass == Pass::kBackwardWeight || work <= Seconds(0)) return {};
  TransferList transfers((end - start) / work);
  const double scale = transfers.scale();
  const auto from_start = [&](TimelineKind kind, Stream stream, Seconds length) {
    transfers.add(kind, stream, start, scale * std::min(length, work));
  };
  from_start(TimelineKind::kTensor, Stream::kTensor,
             forward ? t.forward_tensor : t.backward_tensor);
  from_start(TimelineKind::kContext, Stream::kContext,
             forward ? t.forward_context : t.backward_context);
  from_start(forward ? TimelineKind::kGather : TimelineKind::kReduce, Stream::kData,
             forward ? t.forward_sharded : t.backward_sharded);
  from_start(forward ? TimelineKind::kOffload : TimelineKind::kReload, Stream::kHost, t.offload);
  const Seconds half = (forward ? t.forward_exchange : t.backward_exchange) / 2;
  const Seconds experts = forward ? t.forward_experts : t.backward_experts;
  const Seconds rest = std::max(Seconds(0), work - 2 * half - experts);
  const Seconds first = start + scale * (forward ? rest : Seconds(0));
  const Seconds each = scale * std::min(half, work / 2);
  transfers.add(TimelineKind::kExchange, Stream::kExpert, first, each);
  transfers.add(TimelineKind::kExchange, Stream::kExpert,
                std::min(first + scale * (half + experts), end - each), each);
  return transfers.list();
}

std::vector<PassTransfer> transfers_during(const PairSlots& slots, Seconds start, Seconds end) {
  const Seconds work = slots.total();
  TransferList transfers(work > Seconds(0) ? (end - start) / work : 0);
  for (std::size_t i = 0; i < slots.length.size(); ++i) {
    // The second slot and the last one have the exchange of the forward.
    transfers.add(TimelineKind::kExchange, Stream::kExpert, start,
                  transfers.scale() * slots.exchange[i], i % 2 == 1);
    start += transfers.scale() * slots.length[i];
  }
  return transfers.list();
}

}  // namespace orrery
