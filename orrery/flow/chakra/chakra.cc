#include "orrery/flow/chakra/chakra.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>

#include "orrery/base/data_folder.h"
#include "orrery/base/error.h"
#include "orrery/base/node.h"
#include "orrery/flow/chakra/wire_format.h"

namespace orrery {
namespace {

using Type = ChakraNode::Type;
using Comm = ChakraNode::Comm;

constexpr std::uintmax_t kMostBytes = std::uintmax_t{1} << 30;  // of a file
constexpr double kMostSize = 1e18;                              // bytes, operations
constexpr std::uint64_t kMostMicros = 1'000'000'000'000;        // eleven days

// An attribute: a name and a number, a text or a list of booleans.
struct Attribute {
  std::string name;
  std::optional<double> number;
  std::string text;
  std::vector<bool> booleans;
};

std::int64_t zigzag(std::uint64_t v) {
  return static_cast<std::int64_t>(v >> 1) ^ -static_cast<std::int64_t>(v & 1);
}

Attribute read_attribute(WireReader in) {
  Attribute a;
  while (in.next()) {
    switch (in.number()) {
      case 1:
        a.name = in.text();
        break;
      case 3:
        if (in.wire() != Wire::kFixed64) in.fail("a double of another wire type");
        a.number = in.fixed<double>();
        break;
      case 5:
        if (in.wire() != Wire::kFixed32) in.fail("a float of another wire type");
        a.number = in.fixed<float>();
        break;
      case 7:
      case 9:
        a.number = static_cast<double>(static_cast<std::int64_t>(in.integer()));
        break;
      case 11:
      case 13:
      case 27:
        a.number = static_cast<double>(in.integer());
        break;
      case 15:
      case 17:
        a.number = static_cast<double>(zigzag(in.integer()));
        break;
      case 19:
      case 23:
        if (in.wire() != Wire::kFixed32) in.fail("a fixed number of another wire type");
        a.number = in.number() == 19 ? static_cast<double>(in.fixed<std::uint32_t>())
                                     : static_cast<double>(in.fixed<std::int32_t>());
        break;
      case 21:
      case 25:
        if (in.wire() != Wire::kFixed64) in.fail("a fixed number of another wire type");
        a.number = in.number() == 21 ? static_cast<double>(in.fixed<std::uint64_t>())
                                     : static_cast<double>(in.fixed<std::int64_t>());
        break;
      case 28:
        for (WireReader list = in.nested(); list.next();) {
          if (list.number() != 1) {
            list.skip();
            continue;
          }
          list.integers([&](std::uint64_t v) { a.booleans.push_back(v != 0); });
        }
        break;
      case 29:
        a.text = in.text();
        break;
      default:
        in.skip();
    }
  }
  return a;
}

double number_of(const WireReader& in, const Attribute& a, double least, double most) {
  if (!a.number || !(*a.number >= least) || *a.number > most) {
    in.fail(fmt::format("attribute '{}' must be a number from {} to {}", a.name, least, most));
  }
  return *a.number;
}

// The node type of a number of the schema.
Type type_of(const WireReader& in, std::uint64_t number) {
  if (number <= 7) return static_cast<Type>(number);
  in.fail(fmt::format("unknown node type {}", number));
}

// The text without characters that a terminal cannot show, shortened.
std::string shown(std::string text) {
  if (text.size() > 200) text.resize(200);
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7F) c = '?';
  }
  return text;
}

void set_attribute(const WireReader& in, const Attribute& a, ChakraNode& n, bool& has_comm) {
  constexpr double kMostRank = 1e9;
  if (a.name == "is_cpu_op") {
    n.on_cpu = number_of(in, a, 0, 1) != 0;
  } else if (a.name == "num_ops") {
    n.operations = number_of(in, a, 0, kMostSize * 1e3);
  } else if (a.name == "tensor_size") {
    n.tensor = Bytes(number_of(in, a, 0, kMostSize));
  } else if (a.name == "comm_type") {
    n.comm = static_cast<Comm>(number_of(in, a, 0, 9));
    has_comm = true;
  } else if (a.name == "comm_size") {
    n.size = Bytes(number_of(in, a, 0, kMostSize));
  } else if (a.name == "comm_src") {
    n.from = static_cast<int>(number_of(in, a, 0, kMostRank));
  } else if (a.name == "comm_dst") {
    n.to = static_cast<int>(number_of(in, a, 0, kMostRank));
  } else if (a.name == "comm_tag") {
    n.tag = static_cast<std::uint32_t>(number_of(in, a, 0, 4294967295.0));
  } else if (a.name == "pg_name") {
    n.group = shown(a.text);
  } else if (a.name == "involved_dim") {
    n.dimensions = a.booleans;
    if (n.dimensions.size() > 64) in.fail("involved_dim has more than 64 dimensions");
  }
}

ChakraNode read_node(WireReader in) {
  ChakraNode n;
  bool has_comm = false;
  while (in.next()) {
    switch (in.number()) {
      case 1:
        n.id = in.integer();
        break;
      case 2:
        n.name = shown(in.text());
        break;
      case 3:
        n.type = type_of(in, in.integer());
        break;
      case 4:
      case 5:
        in.integers([&](std::uint64_t id) { n.depends.push_back(id); });
        break;
      case 7: {
        const std::uint64_t micros = in.integer();
        if (micros > kMostMicros) in.fail(fmt::format("a duration of {} us", micros));
        n.duration = microseconds(static_cast<double>(micros));
        break;
      }
      case 10: {
        const Attribute a = read_attribute(in.nested());
        set_attribute(in, a, n, has_comm);
        break;
      }
      default:
        in.skip();
    }
  }
  if (n.type == Type::kCollective && !has_comm) {
    in.fail(fmt::format("node {} ('{}') is a collective without comm_type", n.id, n.name));
  }
  return n;
}

// Checks that every dependency exists, and that there is no circle.
void check_order(const ChakraTrace& trace, const std::string& name) {
  std::unordered_map<std::uint64_t, std::size_t> index;
  for (std::size_t i = 0; i < trace.nodes.size(); ++i) {
    if (!index.emplace(trace.nodes[i].id, i).second) {
      throw InputError(fmt::format("{}: two nodes have the id {}", name, trace.nodes[i].id));
    }
  }
  std::vector<std::size_t> waits(trace.nodes.size(), 0), ready;
  std::vector<std::vector<std::size_t>> followers(trace.nodes.size());
  for (std::size_t i = 0; i < trace.nodes.size(); ++i) {
    for (std::uint64_t id : trace.nodes[i].depends) {
      const auto it = index.find(id);
      if (it == index.end()) {
        throw InputError(fmt::format("{}: node {} ('{}') depends on node {}, which is not there",
                                     name, trace.nodes[i].id, trace.nodes[i].name, id));
      }
      followers[it->second].push_back(i);
      ++waits[i];
    }
    if (waits[i] == 0) ready.push_back(i);
  }
  std::size_t passed = 0;
  while (!ready.empty()) {
    const std::size_t i = ready.back();
    ready.pop_back();
    ++passed;
    for (std::size_t f : followers[i]) {
      if (--waits[f] == 0) ready.push_back(f);
    }
  }
  if (passed < trace.nodes.size()) {
    throw InputError(fmt::format("{}: the dependencies of {} nodes go round in a circle", name,
                                 trace.nodes.size() - passed));
  }
}

// Attributes of a node: whole numbers as uint64_val, others as double_val.
void put(WireWriter& message, int field, std::string_view name, double value) {
  WireWriter a;
  a.text(1, name);
  if (value == std::floor(value) && value < 1.8e19) {
    a.integer(13, static_cast<std::uint64_t>(value));
  } else {
    a.number(3, value);
  }
  message.text(field, a.bytes());
}
void put(WireWriter& node, std::string_view name, double value) { put(node, 10, name, value); }

std::string write_node(const ChakraNode& n) {
  WireWriter w;
  w.integer(1, n.id);
  w.text(2, n.name);
  w.integer(3, static_cast<std::uint64_t>(n.type));
  for (std::uint64_t id : n.depends) w.integer(5, id);
  // The schema has whole microseconds; a node with a duration has at least one.
  if (n.duration > Seconds(0)) {
    const double micros = std::max(1.0, std::round(n.duration / microseconds(1)));
    w.integer(7, static_cast<std::uint64_t>(micros));
  }
  put(w, "is_cpu_op", n.on_cpu ? 1 : 0);
  if (n.operations > 0) put(w, "num_ops", n.operations);
  if (n.tensor > Bytes(0)) put(w, "tensor_size", n.tensor.value());
  if (n.type == Type::kCollective || n.comm != Comm::kAllReduce) {
    put(w, "comm_type", static_cast<double>(n.comm));
  }
  if (n.size > Bytes(0)) put(w, "comm_size", n.size.value());
  if (n.from >= 0) put(w, "comm_src", n.from);
  if (n.to >= 0) put(w, "comm_dst", n.to);
  if (n.tag > 0) put(w, "comm_tag", n.tag);
  if (!n.group.empty()) {
    WireWriter a;
    a.text(1, "pg_name");
    a.text(29, n.group);
    w.text(10, a.bytes());
  }
  if (!n.dimensions.empty()) {
    WireWriter list, a;
    for (bool b : n.dimensions) list.integer(1, b ? 1 : 0);
    a.text(1, "involved_dim");
    a.text(28, list.bytes());
    w.text(10, a.bytes());
  }
  return w.bytes();
}

}  // namespace

ChakraTrace parse_chakra(std::string_view bytes, const std::string& name) {
  WireReader in(bytes, name);
  if (in.done()) in.fail("the file is empty");
  ChakraTrace trace;
  for (WireReader metadata = in.message(); metadata.next();) {
    if (metadata.number() == 1) {
      trace.version = shown(metadata.text());
    } else if (metadata.number() == 2) {
      const Attribute a = read_attribute(metadata.nested());
      if (a.name == "collective_library") trace.library = shown(a.text);
      if (a.name == "collective_latency")
        trace.collective_latency = Seconds(number_of(metadata, a, 0, 1));
    } else {
      metadata.skip();
    }
  }
  while (!in.done()) trace.nodes.push_back(read_node(in.message()));
  check_order(trace, name);
  return trace;
}

std::string write_chakra(const ChakraTrace& trace) {
  WireWriter metadata;
  metadata.text(1, trace.version);
  if (!trace.library.empty()) {
    WireWriter a;
    a.text(1, "collective_library");
    a.text(29, trace.library);
    metadata.text(2, a.bytes());
  }
  if (trace.collective_latency > Seconds(0))
    put(metadata, 2, "collective_latency", trace.collective_latency.value());
  std::string file;
  const auto append = [&](const std::string& bytes) {
    WireWriter length;
    length.varint(bytes.size());
    file += length.bytes();
    file += bytes;
  };
  append(metadata.bytes());
  for (const ChakraNode& n : trace.nodes) append(write_node(n));
  return file;
}

std::vector<ChakraTrace> read_chakra(const std::string& prefix) {
  std::vector<ChakraTrace> traces;
  for (int rank = 0;; ++rank) {
    const std::string path = fmt::format("{}.{}.et", prefix, rank);
    require_open_files(path);
    if (!std::filesystem::exists(path)) {
      if (rank == 0) throw InputError(fmt::format("{}: no such file", path));
      return traces;
    }
    traces.push_back(parse_chakra(read_text_file(path, kMostBytes), path));
  }
}

}  // namespace orrery
