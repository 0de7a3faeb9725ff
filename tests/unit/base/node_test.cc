#include "orrery/base/node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/unit/base/expect_error.h"

namespace orrery {
namespace node_test {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

Node yaml(std::string_view text) { return parse_yaml(text, "f.yaml"); }
Node json(std::string_view text) { return parse_json(text, "f.json"); }
std::string yaml_error(std::string_view text) {
  return input_error([&] { yaml(text); });
}
std::string json_error(std::string_view text) {
  return input_error([&] { json(text); });
}

std::string repeated(std::string_view text, int n) {
  std::string out;
  for (int i = 0; i < n; ++i) out += text;
  return out;
}

TEST(Node, YamlKeepsTextLineAndPath) {
  const Node n = yaml("name: h100  # a comment\nmemory:\n  size: 80 GiB\n  banks: [5, 6]\nnone:\n");
  EXPECT_THAT(n.keys(), ElementsAre("name", "memory", "none"));
  const Node& size = n.at("memory").at("size");
  EXPECT_EQ(size.text(), "80 GiB");
  EXPECT_EQ(size.where(), "f.yaml:3: memory.size");
  EXPECT_EQ(n.at("memory").items()[1].items()[1].where(), "f.yaml:4: memory.banks[1]");
  EXPECT_EQ(n.at("memory").where(), "f.yaml:2: memory");  // its key's line, not its first member's
  EXPECT_TRUE(n.at("none").is_null());
  EXPECT_EQ(n.at("none").line(), 5);
}

TEST(Node, JsonKeepsTextLineAndPath) {
  const Node n =
      json("{\n  \"heads\": 32\n,\n  \"scale\":\n   1.50,\n  \"a\": [true,\n null, \"x\"]\n}\n");
  EXPECT_EQ(n.at("heads").where(), "f.json:2: heads");  // though the lexer has read the line's end
  EXPECT_EQ(n.at("scale").text(), "1.50");
  EXPECT_EQ(n.at("scale").line(), 4);
  EXPECT_EQ(n.at("a").items()[0].line(), 6);
  EXPECT_EQ(n.at("a").items()[1].where(), "f.json:7: a[1]");
  EXPECT_TRUE(n.at("a").items()[1].is_null());
  EXPECT_TRUE(n.at("a").items()[2].quoted());
  EXPECT_EQ(json("[1\n,2\n]").items()[1].line(), 2);
}

TEST(Node, TypedReading) {
  const Node n = yaml(
      "i: 8192\nf: 8e9\nneg: -3\nhalf: 0.5\nyes: true\ntext: 80 GiB\nquoted: \"7\"\nbig: 1e300\n");
  EXPECT_EQ(n.at("i").as_int(), 8192);
  EXPECT_EQ(n.at("f").as_int(), 8'000'000'000);
  EXPECT_EQ(n.at("neg").as_int(), -3);
  EXPECT_EQ(scalar_node("8192.0", "--x").as_int(), 8192);
  EXPECT_EQ(scalar_node("9007199254740993", "--x").as_int(), 9'007'199'254'740'993);  // 2^53 + 1
  EXPECT_DOUBLE_EQ(n.at("half").as_double(), 0.5);
  EXPECT_TRUE(n.at("yes").as_bool());
  EXPECT_EQ(n.at("quoted").as_string(), "7");
  EXPECT_EQ(input_error([&] { n.at("half").as_int(); }),
            "f.yaml:4: half: expected a whole number, got '0.5'");
  EXPECT_EQ(input_error([&] { n.at("quoted").as_int(); }),
            "f.yaml:7: quoted: expected a whole number, got the text '7'");
  EXPECT_EQ(input_error([&] { n.at("text").as_double(); }),
            "f.yaml:6: text: expected a number, got '80 GiB'");
  EXPECT_EQ(input_error([&] { n.at("i").as_bool(); }),
            "f.yaml:1: i: expected true or false, got '8192'");
  EXPECT_THAT(input_error([&] { n.at("big").as_int(); }), HasSubstr("whole number"));
  EXPECT_EQ(input_error([&] { n.as_string(); }), "f.yaml:1: expected a text, got a map");
}

TEST(Node, NumbersThatAreNone) {
  for (const char* text : {"nan", "inf", ".inf", "1e999", "0x10", "1 2", "--1"}) {
    EXPECT_NE(input_error([&] { scalar_node(text, "--x").as_double(); }), "") << text;
    EXPECT_NE(input_error([&] { scalar_node(text, "--x").as_int(); }), "") << text;
  }
  EXPECT_EQ(json("[18446744073709551615]").items()[0].text(), "18446744073709551615");
  EXPECT_NE(input_error([&] { json("[18446744073709551615]").items()[0].as_int(); }), "");
  EXPECT_EQ(json("[-9223372036854775808]").items()[0].as_int(), INT64_MIN);
}

// json.dump of Python writes them so.
TEST(Node, InfinityAndNaNOfPython) {
  const Node n =
      json("{\"a\": Infinity, \"b\": [0.0, -Infinity,\nNaN], \"c\": \"NaN, \\\"Infinity\"}");
  EXPECT_EQ(n.at("a").text(), "Infinity");
  EXPECT_FALSE(n.at("a").quoted());
  EXPECT_EQ(n.at("b").items()[1].text(), "-Infinity");
  EXPECT_EQ(input_error([&] { n.at("b").items()[2].as_double(); }),
            "f.json:2: b[2]: expected a number, got 'NaN'");
  EXPECT_NE(input_error([&] { n.at("a").as_int(); }), "");
  EXPECT_EQ(n.at("c").text(), "NaN, \"Infinity");
  EXPECT_TRUE(n.at("c").quoted());
  EXPECT_THAT(json_error("{Infinity: 1}"), HasSubstr("not valid JSON near 'Infinity'"));
  for (const char* text : {"{\"a\": Infinit}", "{\"a\": +Infinity}", "{\"a\": NaN NaN}", "[nan]"})
    EXPECT_THAT(json_error(text), HasSubstr("not valid JSON")) << text;
}

TEST(Node, AbsentKeys) {
  const Node n = yaml("a: 1\nb:\n  c: 2\n");
  EXPECT_EQ(n.find("x"), nullptr);
  EXPECT_EQ(n.at("a").find("x"), nullptr);
  EXPECT_EQ(input_error([&] { n.at("b").at("d"); }), "f.yaml:2: b: 'd' is missing");
  EXPECT_EQ(input_error([&] { n.at("a").at("d"); }),
            "f.yaml:1: a: expected a map with 'd', got '1'");
}

TEST(Node, TruncatedJsonNamesTheLine) {
  EXPECT_THAT(json_error("{\n  \"hidden_size\": 4096,\n  \"num_att"),
              StartsWith("f.json:3: not valid JSON"));
  EXPECT_THAT(json_error("{\n  \"a\": [1,\n 2"), StartsWith("f.json:3: not valid JSON"));
  EXPECT_THAT(json_error(""), StartsWith("f.json:1: not valid JSON"));
  EXPECT_THAT(json_error("{} x"), StartsWith("f.json:1: not valid JSON"));
  EXPECT_THAT(json_error("{\"a\": 1e999}"), HasSubstr("not valid JSON"));
  EXPECT_THAT(json_error("\"\xff\xfe\""), HasSubstr("not valid JSON"));
}

TEST(Node, MalformedYamlNamesTheLine) {
  EXPECT_THAT(yaml_error("a: 1\nb: [1, 2\nc: 3\n"), StartsWith("f.yaml:3: not valid YAML"));
  EXPECT_THAT(yaml_error("a: 1\n b: 2\n"), StartsWith("f.yaml:2: "));
  EXPECT_THAT(yaml_error("a: *nowhere\n"), StartsWith("f.yaml:1: not valid YAML"));
  EXPECT_EQ(yaml_error("a: 1\n---\nb: 2\n"),
            "f.yaml:2: a second document begins; only one is read");
  EXPECT_EQ(yaml_error("? [1, 2]\n: 3\n"), "f.yaml:1: a key must be a plain text");
}

TEST(Node, AQuoteThatIsNeverClosedIsAnError) {
  for (const char* text : {"a: 1\nb: \"x\n", "a: 1\nb: 'x\nc: 3\n\n", "- a\n- \"x y", "\"x\n  "}) {
    EXPECT_THAT(yaml_error(text), HasSubstr("not valid YAML")) << text;
  }
  EXPECT_EQ(yaml("a: 'x'\n\n").at("a").text(), "x");
}

TEST(Node, DuplicateKeysAreErrors) {
  EXPECT_EQ(yaml_error("m:\n  a: 1\n  b: 2\n  a: 3\n"), "f.yaml:4: m.a: key given twice");
  EXPECT_EQ(json_error("{\"a\": 1,\n \"b\": 2,\n \"a\": 1}"), "f.json:3: a: key given twice");
}

TEST(Node, AMapOfManyKeysIsNoSquare) {
  std::string text = "{";
  for (int i = 0; i < 300'000; ++i) text += "\"k" + std::to_string(i) + "\":0,";
  EXPECT_EQ(json_error(text + "\n\"k7\":1}"), "f.json:2: k7: key given twice");
}

TEST(Node, NestingIsLimited) {
  EXPECT_EQ(json(repeated("[", 64) + repeated("]", 64)).items().size(), 1u);
  EXPECT_EQ(json_error(repeated("[", 65) + repeated("]", 65)),
            "f.json:1: nested deeper than 64 levels");
  EXPECT_EQ(yaml_error(repeated("[", 65) + repeated("]", 65)),
            "f.yaml:1: nested deeper than 64 levels");
  EXPECT_THAT(json_error(repeated("[", 1'000'000)), HasSubstr("nested deeper"));
  EXPECT_THAT(yaml_error(repeated("{a: ", 1000) + "1" + repeated("}", 1000)),
              HasSubstr("nested deeper"));
  EXPECT_THAT(yaml_error(repeated("- ", 100'000)), HasSubstr("nested deeper"));
}

TEST(Node, SizeIsLimited) {
  EXPECT_THAT(json_error("[" + repeated("1,", 2'100'000) + "1]"),
              HasSubstr("more than 2000000 values"));
  EXPECT_THAT(json_error(std::string((16 << 20) + 1, ' ')), HasSubstr("at most 16 MiB"));
  EXPECT_THAT(yaml_error(std::string((4 << 20) + 1, ' ')), HasSubstr("at most 4 MiB"));
}

TEST(Node, LongKeysMakeNoLongPaths) {
  const std::string key(1'000'000, 'k');
  const Node n = json("{\"" + key + "\": [1, {\"" + key + "\": 2}]}");
  EXPECT_EQ(n.keys()[0].size(), key.size());
  EXPECT_LT(n.items()[0].items()[1].items()[0].path().size(), 300u);
  std::string deep = "1";
  for (int i = 0; i < 60; ++i) deep = "{\"" + std::string(50, 'k') + "\":" + deep + "}";
  const Node d = json(deep);
  const Node* at = &d;
  while (at->is_map()) at = &at->items()[0];
  EXPECT_LT(at->path().size(), 300u);
}

TEST(Node, MessagesAreFreeOfControlCharactersAndCutUtf8) {
  EXPECT_EQ(yaml_error("\"a\\e[31m\": 1\n\"a\\e[31m\": 2\n"), "f.yaml:2: a [31m: key given twice");
  const Node n = yaml("x: " + std::string(59, 'a') + "\xC3\xA9\xC3\xA9\n");
  EXPECT_EQ(input_error([&] { n.at("x").as_int(); }),
            "f.yaml:1: x: expected a whole number, got '" + std::string(59, 'a') + "...'");
}

TEST(Node, AMessageIsOneLineOfBoundedLength) {
  const Node n = yaml("a: 1\n");
  EXPECT_EQ(input_error([&] { n.at("a").fail("got 'x\x1B[2J\ny'"); }),
            "f.yaml:1: a: got 'x [2J y'");
  EXPECT_LT(input_error([&] { n.fail(std::string(100'000, 'x')); }).size(), 2100u);
}

TEST(Node, AliasesAreCopiesWithTheirOwnPath) {
  const Node n = yaml("a: &x {s: 1, t: [2, 3]}\nb: *x\nc: &y 5\nd: *y\n");
  EXPECT_EQ(n.at("b").at("t").items()[1].text(), "3");
  EXPECT_EQ(n.at("b").at("t").items()[1].where(), "f.yaml:1: b.t[1]");
  EXPECT_EQ(n.at("d").as_int(), 5);
}

TEST(Node, AliasBombsHitTheLimits) {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string last = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + last;
    for (int k = 1; k < 10; ++k) bomb += ", " + last;
    bomb += "]\n";
  }
  EXPECT_THAT(yaml_error(bomb), HasSubstr("more than 2000000 values"));
  EXPECT_EQ(yaml_error("a: &x [1, *x]\n"), "f.yaml:1: an alias to no value before it");
  // Each anchor one level below the last: the depth counts through aliases.
  std::string tower = "a0: &a0 [x]\n";
  for (int i = 1; i < 100; ++i) {
    tower += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [*a" + std::to_string(i - 1) +
             "]\n";
  }
  EXPECT_THAT(yaml_error(tower), HasSubstr("nested deeper than 64 levels"));
}

// A short file must not become gigabytes of text either.
TEST(Node, AliasesOfLongTextsHitTheLimitOfText) {
  const std::string text(1 << 20, 'x');
  const std::string within = repeated("*a, ", 14), beyond = repeated("*a, ", 40);
  EXPECT_EQ(yaml("a: &a " + text + "\nb: [" + within + "]\n").at("b").items().size(), 14u);
  EXPECT_EQ(yaml_error("a: &a " + text + "\nb: [" + beyond + "]\n"),
            "f.yaml:1: aliases repeat more than 16 MiB of text");
  EXPECT_THAT(yaml_error("a: &a {" + text.substr(0, 1000) + ": 1}\nb: [" +
                         repeated("*a, ", 20'000) + "]\n"),
              HasSubstr("more than 16 MiB of text"));
  // Anchors inside of anchors are copies too.
  EXPECT_THAT(yaml_error(repeated("&a [", 40) + text + repeated("]", 40)),
              HasSubstr("more than 16 MiB of text"));
}

TEST(Node, TextIsUtf8) {
  for (const char* good : {"\xC2\x80", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80",
                           "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_EQ(scalar_node(good, "--x").text(), good);
  }
  // A tail alone, a cut sequence, longer than needed, a surrogate, beyond U+10FFFF, no lead byte.
  for (const char* bad :
       {"\x80", "a\xC2", "\xC2g", "\xE2\x82", "\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF",
        "\xED\xA0\x80", "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF8\x88\x80\x80\x80", "\xFF"}) {
    EXPECT_EQ(input_error([&] { scalar_node(bad, "--x"); }), "--x: text that is not UTF-8");
  }
  EXPECT_EQ(yaml_error("a: 1\nb: caf\xE9 5\n"), "f.yaml:2: text that is not UTF-8");
  EXPECT_EQ(yaml_error("a: 1\ncaf\xE9: 5\n"), "f.yaml:2: text that is not UTF-8");
}

TEST(Node, EmptyDocuments) {
  EXPECT_TRUE(yaml("").is_null());
  EXPECT_TRUE(yaml("# only a comment\n").is_null());
  EXPECT_EQ(yaml("").where(), "f.yaml:1");
  EXPECT_TRUE(json("null").is_null());
}

class NodeFile : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }
  std::filesystem::path path_ =
      std::filesystem::path(testing::TempDir()) / ("node" + std::to_string(getpid()) + ".json");
};

TEST_F(NodeFile, AHugeFileIsRefusedByItsSize) {
  std::ofstream(path_) << "{}";
  std::filesystem::resize_file(path_, 500'000'000);  // sparse: nothing is on the disk
  EXPECT_EQ(
      input_error([&] { read_document(path_); }),
      path_.string() + ": 500000000 bytes; at most 16 MiB are read (is this the right file?)");
}

TEST_F(NodeFile, ReadsByTheEnding) {
  std::ofstream(path_) << "{\"a\":\n 1}";
  EXPECT_EQ(read_document(path_).at("a").where(), path_.string() + ":1: a");
  EXPECT_EQ(read_text_file(path_), "{\"a\":\n 1}");
  EXPECT_THAT(input_error([&] { read_text_file(path_, 4); }), HasSubstr("9 bytes"));
}

TEST_F(NodeFile, WhatIsNoFile) {
  EXPECT_EQ(input_error([&] { read_document(path_); }), path_.string() + ": no such file");
  EXPECT_THAT(input_error([] { read_document("/"); }), HasSubstr("not a regular file"));
  EXPECT_THAT(input_error([] { read_document("/dev/zero"); }), HasSubstr("not a regular file"));
  EXPECT_THAT(input_error([] { read_document(std::string(10'000, 'x')); }),
              HasSubstr("no such file"));
}

TEST(SetPath, LaysValuesOverADocument) {
  Node n = yaml("engine:\n  max_num_seqs: 5\n  other: 6\nscalar: 1\n");
  set_path(n, "engine.max-num-seqs", scalar_node("8", "--max-num-seqs"));
  set_path(n, "a.b.c", scalar_node("x", "--set a.b.c"));
  set_path(n, "scalar.part", scalar_node("9", "--set"));
  EXPECT_EQ(n.at("engine").keys().size(), 2u);
  EXPECT_EQ(n.at("engine").at("max_num_seqs").as_int(), 8);
  EXPECT_EQ(n.at("engine").at("max_num_seqs").where(), "--max-num-seqs");
  EXPECT_EQ(n.at("engine").at("other").as_int(), 6);
  EXPECT_EQ(n.at("a").at("b").at("c").text(), "x");
  EXPECT_EQ(n.at("scalar").at("part").as_int(), 9);
}

TEST(SetPath, RefusesListsAndNoPaths) {
  Node n = yaml("list: [1]\n");
  const Node value = scalar_node("x", "--set");
  EXPECT_THAT(input_error([&] { set_path(n, "list.0", value); }),
              StartsWith("f.yaml:1: list: a list"));
  EXPECT_THAT(input_error([&] { set_path(n, "", value); }), StartsWith("--set: expected keys"));
  EXPECT_THAT(input_error([&] { set_path(n, "a..b", value); }), StartsWith("--set: expected keys"));
  EXPECT_THAT(input_error([&] { set_path(n, repeated("a.", 100'000) + "a", value); }),
              StartsWith("--set: expected keys"));
}

}  // namespace node_test
}  // namespace orrery
