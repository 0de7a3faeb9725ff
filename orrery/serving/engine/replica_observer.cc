#include "orrery/serving/engine/replica_observer.h"

#include "orrery/serving/engine/replica.h"

namespace orrery {

void ReplicaObserver::tokens_in_turn(const Replica& from, const TokensInTurn& tokens) {
  SimTime now = tokens.first, gap = tokens.gap;
  for (const Slot slot : tokens.of) {
    token(from.state().at(slot).request, now, now - gap, false);
    now += tokens.each;
    gap += tokens.growth;
  }
}

}  // namespace orrery
