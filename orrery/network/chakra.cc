#include "orrery/network/chakra.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <unordered_map>

#include "orrery/base/error.h"
#include "orrery/base/node.h"

namespace orrery {
namespace {

using Type = ChakraNode::Type;
using Comm = ChakraNode::Comm;

constexpr std::uintmax_t kMostBytes = std::uintmax_t{1} << 30;  // of a file
constexpr double kMostSize = 1e18;                              // bytes, operations
constexpr std::uint64_t kMostMicros = 1'000'000'000'000;        // eleven days

// Protobuf's wire format: a field is a varint of number and wire type, then its value.
enum class Wire { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

class WireReader {
 public:
  WireReader(std::string_view bytes, const std::string& name, std::size_t offset = 0)
      : bytes_(bytes), name_(name), offset_(offset) {}

  bool done() const { return at_ == bytes_.size(); }

  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (at_ == bytes_.size()) fail("the file is cut short");
      const auto byte = static_cast<unsigned char>(bytes_[at_++]);
      value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
    fail("a number of more than ten bytes");
  }
  std::string_view bytes(std::uint64_t count) {
    if (count > bytes_.size() - at_) fail("the file is cut short");
    at_ += count;
    return bytes_.substr(at_ - count, count);
  }
  // A message inside this one.
  WireReader message() {
    const std::uint64_t size = varint();
    const std::size_t begin = offset_ + at_;
    return {bytes(size), name_, begin};
  }

  // The next field; false at the end.
  bool next() {
    if (done()) return false;
    const std::uint64_t key = varint();
    number_ = key >> 3;
    wire_ = static_cast<Wire>(key & 7);
    if (number_ == 0) fail("field number 0");
    if (wire_ != Wire::kVarint && wire_ != Wire::kFixed64 && wire_ != Wire::kBytes &&
        wire_ != Wire::kFixed32) {
      fail("an unknown wire type: this is no Chakra trace");
    }
    return true;
  }
  std::uint64_t number() const { return number_; }
  Wire wire() const { return wire_; }

  void skip() {
    switch (wire_) {
      case Wire::kVarint:
        varint();
        return;
      case Wire::kFixed64:
        bytes(8);
        return;
      case Wire::kBytes:
        bytes(varint());
        return;
      case Wire::kFixed32:
        bytes(4);
        return;
    }
  }
  std::uint64_t integer() {
    expect(Wire::kVarint);
    return varint();
  }
  std::string text() {
    expect(Wire::kBytes);
    return std::string(bytes(varint()));
  }
  WireReader nested() {
    expect(Wire::kBytes);
    return message();
  }
  template <class T>
  T fixed() {
    const std::string_view raw = bytes(sizeof(T));
    T value;
    std::memcpy(&value, raw.data(), sizeof(T));  // little-endian, as every machine of ours
    return value;
  }
  // A repeated integer: packed or one by one.
  template <class Use>
  void integers(Use use) {
    if (wire_ != Wire::kBytes) return use(integer());
    for (WireReader packed = message(); !packed.done();) use(packed.varint());
  }

  [[noreturn]] void fail(std::string_view what) const {
    throw InputError(fmt::format("{}: byte {}: {}", name_, offset_ + at_, what));
  }

 private:
  void expect(Wire wire) const {
    if (wire_ != wire) fail(fmt::format("field {} has another type than Chakra's", number_));
  }

  std::string_view bytes_;
  const std::string& name_;
  std::size_t offset_, at_ = 0;
  std::uint64_t number_ = 0;
  Wire wire_ = Wire::kVarint;
};

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

// The schema's node types and ours.
Type type_of(const WireReader& in, std::uint64_t number) {
  if (number <= 7) return static_cast<Type>(number);
  in.fail(fmt::format("unknown node type {}", number));
}

// A name that a terminal can show.
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

// Every dependency is there, and none leads back to itself.
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

class WireWriter {
 public:
  void varint(std::uint64_t v) {
    for (; v >= 0x80; v >>= 7) out_ += static_cast<char>(v | 0x80);
    out_ += static_cast<char>(v);
  }
  void integer(int field, std::uint64_t v) {
    varint(static_cast<std::uint64_t>(field) << 3), varint(v);
  }
  void text(int field, std::string_view v) {
    varint(static_cast<std::uint64_t>(field) << 3 | 2);
    varint(v.size());
    out_ += v;
  }
  void number(int field, double v) {
    varint(static_cast<std::uint64_t>(field) << 3 | 1);
    char raw[sizeof v];
    std::memcpy(raw, &v, sizeof v);
    out_.append(raw, sizeof v);
  }
  const std::string& bytes() const { return out_; }

 private:
  std::string out_;
};

// Attributes of a node: whole numbers as uint64_val, others as double_val.
void put(WireWriter& node, std::string_view name, double value) {
  WireWriter a;
  a.text(1, name);
  if (value == std::floor(value) && value < 1.8e19) {
    a.integer(13, static_cast<std::uint64_t>(value));
  } else {
    a.number(3, value);
  }
  node.text(10, a.bytes());
}

std::string write_node(const ChakraNode& n) {
  WireWriter w;
  w.integer(1, n.id);
  w.text(2, n.name);
  w.integer(3, static_cast<std::uint64_t>(n.type));
  for (std::uint64_t id : n.depends) w.integer(5, id);
  // Whole microseconds, as the schema has them; what takes time takes at least one.
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
    if (!std::filesystem::exists(path)) {
      if (rank == 0) throw InputError(fmt::format("{}: no such file", path));
      return traces;
    }
    traces.push_back(parse_chakra(read_text_file(path, kMostBytes), path));
  }
}

namespace {

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
    // By Collective::Kind; sends went above.
    static constexpr Comm kKinds[] = {Comm::kAllReduce, Comm::kAllGather, Comm::kReduceScatter,
                                      Comm::kAllToAll,  Comm::kBroadcast, {},
                                      Comm::kReduce};
    ChakraNode& n = append(std::string(name), Type::kCollective);
    n.comm = kKinds[static_cast<std::size_t>(c.kind)];
    n.size = c.kind == Collective::Kind::kAllGather ? c.bytes / c.ranks : c.bytes;
    n.group = kGroups[static_cast<std::size_t>(c.group)];
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
  // Entries that run at least once a layer stand between those of the beginning and of the end.
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
