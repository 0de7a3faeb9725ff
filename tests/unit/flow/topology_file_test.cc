#include "orrery/flow/topology/topology_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/error.h"
#include "tests/fakes/link_sums.h"
#include "tests/refusal.h"

namespace orrery {
namespace topology_file_test {

TopologyFile read(const std::string& text) {
  return read_topology(parse_yaml(text, "t.yaml"), Catalog());
}
std::string message(const std::string& text) {
  return refusal_of([&] { read(text); });
}
std::vector<LinkId> path(const Topology& t, int from, int to) {
  std::vector<LinkId> p;
  t.route(from, to, p);
  return p;
}

TEST(TopologyFile, NodesOfTwoKinds) {
  const TopologyFile f = read(R"(
name: two kinds
nodes:
  - {type: hgx-h100, count: 2}
  - {count: 2, gpus: 4, inside: mesh, bandwidth: 300 GB/s, latency: 1 us, ports: 4,
     port_bandwidth: 25 GB/s, port_latency: 3 us}
network: {children: [2], oversubscription: [2]}
degrade: {gpu16->leaf1: 0.5}
)");
  EXPECT_EQ(f.topology.gpus(), 24);
  EXPECT_EQ(f.inner, 4);
  EXPECT_EQ(f.topology.name(), "two kinds");
  EXPECT_DOUBLE_EQ(out_bandwidth(f.topology, 16).value(), 300e9 + 12.5e9);
  // 4 nodes, 2 a leaf; the second leaf's uplink: half of 8 ports of 25 GB/s.
  const auto up = f.topology.find("leaf1->top");
  ASSERT_EQ(up.size(), 1u);
  EXPECT_DOUBLE_EQ(f.topology.links()[static_cast<std::size_t>(up[0])].bandwidth.value(), 100e9);
}

TEST(TopologyFile, DimensionsAndLinks) {
  const TopologyFile torus = read(R"(
dimensions:
  - {kind: ring, size: 4, bandwidth: 50 GB/s, latency: 1 us}
  - {kind: switch, size: 2, bandwidth: 10 GB/s}
)");
  EXPECT_EQ(torus.topology.gpus(), 8);
  EXPECT_EQ(torus.inner, 4);
  const TopologyFile y = read(R"(
gpus: 3
links:
  - {from: gpu0, to: s, bandwidth: 1 GB/s, latency: 2 us}
  - {from: gpu1, to: s, bandwidth: 2 GB/s}
  - {from: s, to: gpu2, bandwidth: 3 GB/s, both_ways: false}
)");
  EXPECT_EQ(path(y.topology, 0, 2).size(), 2u);
  EXPECT_THROW(path(y.topology, 2, 0), InputError);  // one way only
}

TEST(TopologyFile, AstraSimsNetwork) {
  const TopologyFile f = read(R"(
topology: [ FullyConnected, Switch ]
npus_count: [ 8, 4 ]
bandwidth: [ 400.0, 50.0 ]
latency: [ 936.25, 2500.0 ]
)");
  EXPECT_EQ(f.topology.gpus(), 32);
  ASSERT_EQ(f.astra_sim.size(), 2u);
  EXPECT_EQ(f.astra_sim[1].wiring, Wiring::kSwitch);
  EXPECT_DOUBLE_EQ(f.astra_sim[0].latency, 936.25);
  EXPECT_DOUBLE_EQ(out_bandwidth(f.topology, 0).value(), 7 * 400e9 + 50e9);
}

TEST(TopologyFile, WrongFilesAreRefusedWhereTheyAreWrong) {
  using testing::HasSubstr;
  EXPECT_THAT(message("a: 1"), HasSubstr("t.yaml"));
  EXPECT_THAT(message("dimension: []"), HasSubstr("dimensions"));  // the nearest key
  EXPECT_THAT(message("dimensions: [{kind: ring, size: 4, bandwidth: 0 GB/s}]"),
              HasSubstr("bandwidth"));
  EXPECT_THAT(message("dimensions: [{kind: ring, size: 4, bandwith: 1 GB/s}]"),
              HasSubstr("'bandwidth'"));
  EXPECT_THAT(message("dimensions: [{kind: ring, size: 4, bandwidth: 100}]"),
              HasSubstr("t.yaml:1"));
  EXPECT_THAT(message("nodes: [{type: hgx-h1000}]"), HasSubstr("hgx-h100"));
  EXPECT_THAT(message("nodes: [{count: 2}]"), HasSubstr("'type' or 'gpus'"));
  EXPECT_THAT(message("nodes: [{gpus: 2, count: 2, bandwidth: 1 GB/s}]"), HasSubstr("ports"));
  EXPECT_THAT(message("gpus: 2\nlinks: [{from: gpu0, to: gpu2, bandwidth: 1 GB/s}]"),
              HasSubstr("gpu2"));
  EXPECT_THAT(message("gpus: 2"), HasSubstr("links"));
  EXPECT_THAT(message("topology: [Rign]\nnpus_count: [4]\nbandwidth: [1]\nlatency: [1]"),
              HasSubstr("'Ring'"));
  EXPECT_THAT(message("topology: [Ring]\nnpus_count: [4, 4]\nbandwidth: [1]\nlatency: [1]"),
              HasSubstr("one value a dimension"));
  EXPECT_THAT(message("topology: [Ring]\nnpus_count: [4]\nbandwidth: [0]\nlatency: [1]"),
              HasSubstr("bandwidth"));
  EXPECT_THAT(message("dimensions: [{kind: ring, size: 4, bandwidth: 1 GB/s}]\ndegrade: {gpu7: 0}"),
              HasSubstr("degrade"));
}

// Found by the fuzzer: messages about a topology show its name.
TEST(TopologyFile, NamesHaveVisibleCharacters) {
  const Catalog catalog;
  const auto read = [&](const std::string& name) {
    read_topology(parse_yaml("name: \"" + name +
                                 "\"\ngpus: 2\nlinks:\n  - {from: gpu0, to: gpu1, "
                                 "bandwidth: 1 GB/s}\n",
                             "t.yaml"),
                  catalog);
  };
  EXPECT_NO_THROW(read("two"));
  EXPECT_THROW(read("t\\x7F"), InputError);
  EXPECT_THROW(read("t\\n"), InputError);
}

}  // namespace topology_file_test
}  // namespace orrery
