#include "orrery/model/checkpoint/name_pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/base/expect_error.h"

namespace orrery {
namespace name_pattern_test {

bool matches(const std::string& pattern, const std::string& name) {
  return NamePattern(pattern).matches(name);
}

TEST(NamePattern, NamesMatchWholeParts) {
  EXPECT_TRUE(matches("gate", "layers.3.mlp.gate"));
  EXPECT_FALSE(matches("gate", "layers.3.mlp.gate_proj"));
  EXPECT_TRUE(matches("layers.1.mlp", "layers.1.mlp.up_proj"));
  EXPECT_FALSE(matches("layers.1.mlp", "layers.11.mlp.up_proj"));
  EXPECT_TRUE(matches("layers.1.mlp", "a.layers.11.b.layers.1.mlp"));
  EXPECT_FALSE(matches("", "layers.1"));
}

TEST(NamePattern, GlobsMatchTheNameOrAModuleThatHoldsIt) {
  EXPECT_TRUE(matches("layers.*.self_attn", "layers.7.self_attn.q_proj"));
  EXPECT_FALSE(matches("layers.*.self_attn", "layers.7.self_attention.q_proj"));
  EXPECT_TRUE(matches("layers.1*", "layers.12.mlp.gate"));
  EXPECT_FALSE(matches("layers.1.*", "layers.12.mlp.gate"));
  EXPECT_TRUE(matches("*.attn.*", "layers.0.attn.wq_a"));
  EXPECT_FALSE(matches("*.attn.*", "layers.0.attention.wq_a"));
  EXPECT_TRUE(matches("layers.?.mlp*shared*", "layers.4.mlp.shared_experts.up_proj"));
  EXPECT_FALSE(matches("layers.?.mlp", "layers.44.mlp"));
  EXPECT_TRUE(matches("*", "x"));
}

TEST(NamePattern, RegularExpressionsMatchFromTheBeginning) {
  const std::string dense = R"(re:.*mlp\.(gate|up|gate_up|down)_proj.*)";
  EXPECT_TRUE(matches(dense, "layers.0.mlp.gate_up_proj"));
  EXPECT_TRUE(matches(dense, "layers.0.mlp.down_proj.weight"));
  EXPECT_FALSE(matches(dense, "layers.0.mlp.experts.0.gate_proj"));
  EXPECT_TRUE(matches("re:.*mlp.gate$", "layers.3.mlp.gate"));
  EXPECT_FALSE(matches("re:.*mlp.gate$", "layers.3.mlp.gate_proj"));
  EXPECT_FALSE(matches("re:mlp", "layers.3.mlp"));
  EXPECT_TRUE(matches("re:lay", "layers.3.mlp"));
  EXPECT_TRUE(matches(R"(re:^layers\.[0-2]\.)", "layers.2.mlp"));
  EXPECT_FALSE(matches(R"(re:^layers\.[^0-2]\.)", "layers.2.mlp"));
  EXPECT_TRUE(matches(R"(re:layers\.\d+\.mlp)", "layers.62.mlp"));
  EXPECT_FALSE(matches(R"(re:layers\.\d+\.mlp)", "layers..mlp"));
  EXPECT_TRUE(matches(R"(re:(?:a|b)*?c?$)", "abbac"));
  EXPECT_TRUE(matches(R"(re:a\w\d)", "a_7"));
  EXPECT_TRUE(matches("re:", "anything"));
  EXPECT_TRUE(matches("re:.*abcd*e", "xabce"));
  EXPECT_FALSE(matches("re:.*abcd+e", "xabce"));
  EXPECT_TRUE(matches("re:(long_text)?b", "b"));
  EXPECT_TRUE(matches("re:long_text|b", "b"));
  EXPECT_TRUE(matches("re:[long_text\\]]b", "]b"));
  EXPECT_TRUE(matches(R"(re:a\.b\d)", "a.b3"));
}

// A matcher that tries one way after another would not come back from this.
TEST(NamePattern, NoRegularExpressionTakesLong) {
  std::string pattern = "re:";
  for (int i = 0; i < 40; ++i) pattern += "(a*)*";
  EXPECT_FALSE(matches(pattern + "b", std::string(400, 'a')));
  EXPECT_TRUE(matches(pattern + "b", std::string(400, 'a') + "b"));
}

TEST(NamePattern, RefusesWhatItCannotRead) {
  for (const char* text :
       {"re:(a", "re:a)", "re:[a", "re:*a", "re:a\\", "re:(?=a)", "re:a{2}", "re:\\bword"}) {
    EXPECT_THAT(input_error([&] { NamePattern{text}; }),
                testing::StartsWith("regular expression '"))
        << text;
  }
  EXPECT_NE(input_error([] { NamePattern(std::string(501, 'a')); }), "");
  EXPECT_NE(input_error([] { NamePattern("re:" + std::string(400, '(')); }), "");
}

}  // namespace name_pattern_test
}  // namespace orrery
