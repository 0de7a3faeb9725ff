// Inputs of SCALE-Sim and hardware files of MAESTRO.
#include <gtest/gtest.h>

#include "orrery/accelerator/dataflow/directive_hardware.h"
#include "orrery/accelerator/systolic/scalesim_input.h"
#include "tests/refusal.h"

namespace orrery {
namespace fixed_input_test {

const std::string kConfig =
    "[general]\n"
    "run_name = small ; not a comment\n"
    "[architecture_presets]\n"
    "ArrayHeight: 4\n"
    "ArrayWidth: 8\n"
    "IfmapSramSzkB: 16\n"
    "FilterSramSzkB = 32\n"
    "OfmapSramSzkB: 8\n"
    "IfmapOffset: 0\n"
    "Bandwidth : 20,30\n"
    "Dataflow : is\n"
    "# a comment\n"
    "[run_presets]\n"
    "InterfaceBandwidth: USER\n";

std::string with(std::string text, const std::string& old_part, const std::string& new_part) {
  return text.replace(text.find(old_part), old_part.size(), new_part);
}

TEST(ScaleSimInput, AConfiguration) {
  const SystolicArray a = read_scalesim_config(kConfig, "a.cfg").array;
  EXPECT_EQ(a.rows, 4);
  EXPECT_EQ(a.columns, 8);
  EXPECT_EQ(a.input_words, 16 * 1024);
  EXPECT_EQ(a.filter_words, 32 * 1024);
  EXPECT_EQ(a.output_words, 8 * 1024);
  EXPECT_EQ(a.dataflow, SystolicDataflow::kInputStationary);
  EXPECT_FALSE(a.stall_free);
  EXPECT_EQ(a.write_bandwidth, 20);
  EXPECT_EQ(a.read_bandwidth, 10);
  const SystolicArray layout =
      read_scalesim_config(
          kConfig + "[layout]\nIfmapSRAMBankBandwidth: 64\nFilterSRAMBankBandwidth: 64\n", "a.cfg")
          .array;
  EXPECT_EQ(layout.read_bandwidth, 64);
  EXPECT_TRUE(read_scalesim_config(with(kConfig, "USER", "CALC"), "a.cfg").array.stall_free);
}

TEST(ScaleSimInput, BadConfigurationsNameTheLine) {
  const auto refused = [](const std::string& text) {
    return refusal_of([&] { read_scalesim_config(text, "a.cfg"); });
  };
  EXPECT_EQ(refused(with(kConfig, "ArrayWidth", "ArrayWidht")),
            "a.cfg:5: unknown key 'arraywidht' of section architecture_presets (did you mean "
            "'arraywidth'?)");
  EXPECT_EQ(refused(with(kConfig, "ArrayWidth: 8\n", "")), "a.cfg: no key arraywidth");
  EXPECT_EQ(refused(with(kConfig, ": is", ": rs")),
            "a.cfg:11: dataflow: expected os, ws or is, got 'rs'");
  EXPECT_EQ(refused(with(kConfig, "ArrayHeight: 4", "ArrayHeight: 0")),
            "a.cfg:4: arrayheight: expected a whole number from 1 to 2^31, got '0'");
  EXPECT_EQ(refused(kConfig + "[sparsity]\nSparsitySupport: true\n"),
            "a.cfg:16: sparsitysupport: sparsity is not counted");
  EXPECT_EQ(refused("[generla]\n"),
            "a.cfg:1: unknown section 'generla'; known are architecture_presets, general, layout, "
            "network_presets, run_presets, sparsity (did you mean 'general'?)");
}

TEST(ScaleSimInput, TopologiesOfConvolutionsAndProducts) {
  const std::vector<ScaleSimLayer> conv = read_scalesim_topology(
      "Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, "
      "Strides,\nC1,7,9,3,3,2,5,2,\n\nDP1,8,8,1,1,6,1,1,\r\n",
      "t.csv");
  ASSERT_EQ(conv.size(), 2u);
  EXPECT_EQ(conv[0].product.m, 3 * 4);
  EXPECT_EQ(conv[0].product.n, 5);
  EXPECT_EQ(conv[0].product.k, 3 * 3 * 2);
  EXPECT_TRUE(conv[0].windows);
  EXPECT_EQ(conv[1].product.k, 1);
  EXPECT_EQ(conv[1].times, 6);
  EXPECT_FALSE(conv[1].windows);
  const std::vector<ScaleSimLayer> products =
      read_scalesim_topology("Layer,M,N,K,\nup,128,1536,512,\nheads,64,64,32,12,\n", "t.csv");
  EXPECT_EQ(products[0].product.n, 1536);
  EXPECT_EQ(products[1].times, 12);
}

TEST(ScaleSimInput, BadTopologiesNameTheColumn) {
  const auto refused = [](const std::string& text) {
    return refusal_of([&] { read_scalesim_topology(text, "t.csv"); });
  };
  EXPECT_EQ(refused("Layer,M,N,K,\nup,128,x,512,\n"),
            "t.csv:2: n: expected a whole number from 1 to 2^31, got 'x'");
  EXPECT_EQ(refused("Layer,M,N,K,\nup,128,5\n"), "t.csv:2: the column k is missing");
  EXPECT_EQ(refused("Layer,M,N,K,\nup,1,1,1,2:4,\n"), "t.csv:2: the sparsity 2:4 is not counted");
  EXPECT_EQ(refused(""), "t.csv: no header");
  EXPECT_NE(refused("Layer,M,K,N,\nup,1,1,1\n").find("in this order"), std::string::npos);
}

TEST(DirectiveHardware, BothNamesOfAKey) {
  const DirectiveHardware h = read_directive_hardware(
      "// a machine\nnum_pes: 64\nNoC_BW: 32 // elements\nNoC_NumHops: 3\nnoc_hop_latency: 2\n"
      "l1_size_cstr: 100\n",
      "hw.m");
  EXPECT_EQ(h.machine.units, 64);
  EXPECT_EQ(h.machine.network_bandwidth, 32);
  EXPECT_EQ(h.machine.network_latency, 6);
  EXPECT_EQ(h.machine.offchip_bandwidth, DirectiveMachine().offchip_bandwidth);
  EXPECT_EQ(h.l1_words, 100);
  EXPECT_FALSE(h.l2_words);
}

TEST(DirectiveHardware, BadFilesNameTheLine) {
  const auto refused = [](const std::string& text) {
    return refusal_of([&] { read_directive_hardware(text, "hw.m"); });
  };
  EXPECT_EQ(refused("num_pes: 64\nnum_pe: 3\n"),
            "hw.m:2: unknown key 'num_pe' (did you mean 'num_pes'?)");
  EXPECT_EQ(refused("num_pes: 64\nNumPEs: 3\n"), "hw.m:2: a second value of NumPEs");
  EXPECT_EQ(refused("num_pes: -1\n"),
            "hw.m:1: num_pes: expected a whole number from 1 to 2^31, got '-1'");
  EXPECT_EQ(refused("Accelerator A {\n"), "hw.m:1: expected 'key: value', got 'Accelerator A {'");
}

}  // namespace fixed_input_test
}  // namespace orrery
