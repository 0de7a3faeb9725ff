// Our reading and writing of Chakra's protobuf against Google's own implementation (Debian package
// python3-protobuf, chakra_protobuf.py); passed over where it is not installed.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "orrery/base/node.h"
#include "orrery/flow/chakra/chakra.h"

namespace orrery {
namespace chakra_protobuf_test {

const std::string kPython = "/usr/bin/python3";  // the one that Debian's packages are for

// Runs a command; returns its output and its exit status.
std::pair<std::string, int> run(const std::string& command) {
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return {"", -1};
  std::string text;
  std::array<char, 4096> part;
  while (const std::size_t n = fread(part.data(), 1, part.size(), pipe))
    text.append(part.data(), n);
  return {text, pclose(pipe)};
}

class ChakraProtobuf : public testing::Test {
 protected:
  void SetUp() override {
    if (run(kPython + " -c 'import google.protobuf' 2>&1").second != 0)
      GTEST_SKIP() << "no python3-protobuf";
    file_ = std::filesystem::temp_directory_path() / ("chakra" + std::to_string(getpid()) + ".et");
  }
  void TearDown() override { std::filesystem::remove(file_); }
  std::pair<std::string, int> google(const std::string& verb) const {
    const std::string script = ORRERY_SOURCE_DIR "/tests/unit/flow/chakra_protobuf.py";
    return run(kPython + " -B '" + script + "' " + verb + " '" + file_.string() + "' 2>&1");
  }
  std::filesystem::path file_;
};

TEST_F(ChakraProtobuf, GooglesTracesAreRead) {
  const auto [said, status] = google("write");
  ASSERT_EQ(status, 0) << said;
  const ChakraTrace t = parse_chakra(read_text_file(file_, 1 << 20), "google.et");
  EXPECT_EQ(t.version, "0.0.4");
  ASSERT_EQ(t.nodes.size(), 13u);
  for (std::size_t i = 0; i < 12; ++i) {
    const ChakraNode& n = t.nodes[i];
    EXPECT_EQ(n.id, 100 + i);
    EXPECT_EQ(n.type, ChakraNode::Type::kComp);
    EXPECT_EQ(n.depends.size(), i);
    EXPECT_EQ(n.operations, 70000.0 + static_cast<double>(i)) << n.name;
    EXPECT_EQ(n.on_cpu, i % 2 == 1);
    EXPECT_NEAR(n.duration.value(), (300.0 + static_cast<double>(i)) * 1e-6, 1e-15);
  }
  const ChakraNode& gather = t.nodes[12];
  EXPECT_EQ(gather.id, std::uint64_t{1} << 40);
  EXPECT_EQ(gather.comm, ChakraNode::Comm::kGather);
  EXPECT_EQ(gather.size.value(), std::ldexp(1.0, 50));
  EXPECT_EQ(gather.group, "5");
  EXPECT_EQ(gather.dimensions, (std::vector<bool>{true, false, true}));
  EXPECT_EQ(gather.depends, (std::vector<std::uint64_t>{100, 111}));
}

TEST_F(ChakraProtobuf, OursAreReadByGoogle) {
  ChakraTrace t;
  t.version = "0.0.4";
  ChakraNode compute;
  compute.id = 300;
  compute.name = "gemm";
  compute.type = ChakraNode::Type::kComp;
  compute.duration = Seconds(1e-4);
  compute.operations = 1e12;
  compute.tensor = Bytes(0.5);
  ChakraNode reduce;
  reduce.id = 1ull << 40;
  reduce.name = "all";
  reduce.type = ChakraNode::Type::kCollective;
  reduce.comm = ChakraNode::Comm::kReduceScatter;
  reduce.size = Bytes(1e9);
  reduce.depends = {300};
  reduce.group = "tp";
  reduce.dimensions = {true, false};
  ChakraNode send;
  send.id = 0;
  send.name = "p2p";
  send.type = ChakraNode::Type::kSend;
  send.from = 0, send.to = 200;
  send.tag = 4294967295;
  send.size = Bytes(3);
  send.depends = {300, 1ull << 40};
  t.nodes = {compute, reduce, send};
  std::ofstream(file_, std::ios::binary) << write_chakra(t);
  const auto [said, status] = google("read");
  EXPECT_EQ(status, 0);
  EXPECT_EQ(said,
            "version 0.0.4\n"
            "300 gemm 4 [] 100\n"
            "  is_cpu_op uint64_val 0\n"
            "  num_ops uint64_val 1000000000000\n"
            "  tensor_size double_val 0.5\n"
            "1099511627776 all 7 [300] 0\n"
            "  is_cpu_op uint64_val 0\n"
            "  comm_type uint64_val 7\n"
            "  comm_size uint64_val 1000000000\n"
            "  pg_name string_val tp\n"
            "  involved_dim bool_list [1, 0]\n"
            "0 p2p 5 [300, 1099511627776] 0\n"
            "  is_cpu_op uint64_val 0\n"
            "  comm_size uint64_val 3\n"
            "  comm_src uint64_val 0\n"
            "  comm_dst uint64_val 200\n"
            "  comm_tag uint64_val 4294967295\n");
}

}  // namespace chakra_protobuf_test
}  // namespace orrery
