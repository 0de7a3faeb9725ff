// The channels over which NCCL spreads a message between two GPUs of a larger group.
//
// A send runs on so many channels that the group's sends to all members would fit into 32
// (p2pnChannels): 16 of them in a group of two, 4 in a group of eight. A channel takes 64 KiB at
// least; a part of more than 16 MiB is halved by twice as many channels, up to all. NCCL 2.27
// splits messages within a node in this way (addP2pToPlan and scheduleP2pTasksToPlan in
// src/enqueue.cc of https://github.com/NVIDIA/nccl; chunks of NVLink have 512 KiB), and other
// versions are taken to do the same. The group is that of the communicator: torch.distributed
// makes one of two for a send that stands in no batch, whatever the size of the group.
//
// The rate of one channel was not measured. It carries a 16th of the measured send of a group of
// two at least, and no more than the tuner lets a channel of a tree carry on one node
// (NcclTables::tree). The geometric mean of the two is taken, and their distance is the interval.
// Parts of 64 KiB are in the start that was fitted to groups of two, where 1 MiB has 16 of them.
//
// A message that is just long enough for twice as many channels is quicker than a shorter one in
// NCCL. Here it takes as long, so that times grow with the bytes.
#pragma once

#include "orrery/base/units.h"

namespace orrery {

// Channels of a message of `bytes` in a group of `ranks` GPUs. REQUIRES ranks >= 2, bytes > 0.
int send_channels(int ranks, Bytes bytes);

struct SendTransfer {
  Seconds time;      // of the message, after its start
  double error = 0;  // relative
};
// `pair`: the time in a group of two; `most`: the limit of a channel.
SendTransfer send_transfer(int ranks, Bytes bytes, Seconds pair, BytesPerSecond most);

}  // namespace orrery
