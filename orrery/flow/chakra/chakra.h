// Chakra execution traces (MLCommons; https://github.com/mlcommons/chakra): the nodes that one rank
// executes, with their dependencies.
//
// Traces are read and written as ASTRA-sim takes them: files PREFIX.RANK.et of protobuf messages,
// each after its length as a varint, first one GlobalMetadata, then Nodes
// (schema/protobuf/et_def.proto).
//
// A node keeps its id, name, type, control and data dependencies, duration_micros, and the
// attributes is_cpu_op, num_ops, tensor_size, comm_type, comm_size, comm_src, comm_dst, comm_tag,
// pg_name and involved_dim, each in any of the schema's number types. GlobalMetadata may have two
// attributes of this program, collective_library (a text) and collective_latency (seconds). Other
// fields and attributes are skipped, as protobuf does.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/units.h"
#include "orrery/workload/inference/program.h"

namespace orrery {

struct ChakraNode {
  enum class Type { kInvalid, kMetadata, kMemLoad, kMemStore, kComp, kSend, kRecv, kCollective };
  // In the order of the schema's numbers.
  enum class Comm {
    kAllReduce,
    kReduce,
    kAllGather,
    kGather,
    kScatter,
    kBroadcast,
    kAllToAll,
    kReduceScatter,
    kReduceScatterBlock,
    kBarrier
  };
  std::uint64_t id = 0;
  std::string name;
  Type type = Type::kInvalid;
  std::vector<std::uint64_t> depends;  // control and data
  Seconds duration;                    // 0: not given
  bool on_cpu = false;
  double operations = 0;  // num_ops
  Bytes tensor;           // tensor_size
  Comm comm = Comm::kAllReduce;
  Bytes size;              // comm_size: the input of one rank
  int from = -1, to = -1;  // comm_src, comm_dst
  std::uint32_t tag = 0;
  std::string group;             // pg_name
  std::vector<bool> dimensions;  // involved_dim; empty: all

  bool operator==(const ChakraNode&) const = default;
};

struct ChakraTrace {
  std::string version;
  // The library or framework whose collectives the rank called, and what the caller adds to each,
  // times the binary logarithm of its ranks. Empty and 0: the trace does not say.
  std::string library;
  Seconds collective_latency;
  std::vector<ChakraNode> nodes;  // in the file's order
};

// Parses a trace. InputError, with `name` and the byte: another file format, a message cut short, a
// node type or collective that is not in the schema, a size out of range, an id twice, a dependency
// on a node that does not exist, dependencies in a circle.
ChakraTrace parse_chakra(std::string_view bytes, const std::string& name);

// The file of a trace: parse_chakra(write_chakra(t)) has the nodes of t.
std::string write_chakra(const ChakraTrace& trace);

// Reads PREFIX.0.et, PREFIX.1.et, ... up to the first file that does not exist. InputError if there
// is none.
std::vector<ChakraTrace> read_chakra(const std::string& prefix);

// The trace of a rank's step, op after op. `time` gives the duration of an op that is no
// collective. A collective names its group "tp", "pp", "dp" or "ep" (pg_name), and involves
// dimension 0 (tp) or 1 (the others) of two dimensions, tp and the rest. A send between stages is a
// send to the rank `stride` up and a receive from the rank `stride` down.
ChakraTrace chakra_of(const Program& program, const std::function<Seconds(const Op&)>& time,
                      int stride = 1);

}  // namespace orrery
