#include "orrery/base/fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/base/expect_error.h"

namespace orrery {
namespace fields_test {

using Json = nlohmann::ordered_json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

enum class Routing { kUniform, kPowerLaw };

struct Inner {
  int depth = 3;
  bool on = false;
};

struct Sample {
  int tp = 1;
  std::int64_t tokens = 2048;
  double ratio = 0.9;
  bool graphs = true;
  std::string name = "none";
  std::string policy = "fcfs";
  Bytes memory = gibibytes(80);
  Seconds delay = microseconds(2);
  Dtype dtype = Dtype::kBf16;
  Routing routing = Routing::kUniform;
  std::vector<std::int64_t> sizes = {1, 2};
  std::vector<double> shares;
  std::vector<std::string> tags;
  std::optional<int> limit;
  std::optional<Bytes> reserve;
  std::optional<std::string> level;
  Inner inner;
};

void declare(Fields& f, Sample& s) {
  f.add("tp", s.tp, "tensor-parallel ranks").alias("tensor_parallel_size").range(1, 1024);
  f.add("tokens", s.tokens, "tokens of a step").range(1, 1e12).unit("tokens");
  f.add("ratio", s.ratio, "share of memory").range(0, 1);
  f.add("graphs", s.graphs, "CUDA graphs");
  f.add("name", s.name, "the name");
  f.add("policy", s.policy, "the order").one_of({"fcfs", "priority"});
  f.add("memory", s.memory, "memory");
  f.add("delay", s.delay, "delay");
  f.add("dtype", s.dtype, "format");
  f.add_enum("routing", s.routing, {"uniform", "power-law"}, "load of the experts");
  f.add("sizes", s.sizes, "sizes").range(1, 100);
  f.add("shares", s.shares, "shares");
  f.add("tags", s.tags, "tags").one_of({"red", "green"});
  f.add("limit", s.limit, "limit").range(1, 10);
  f.add("reserve", s.reserve, "reserve");
  f.add("level", s.level, "level").one_of({"low", "high"});
  f.group(
      "inner",
      [&s](Fields& g) {
        g.add("depth", s.inner.depth, "depth").range(0, 8);
        g.add("on", s.inner.on, "switch");
      },
      "the inner part");
}

Sample read(std::string_view text) {
  Sample s;
  Fields f;
  declare(f, s);
  f.read(parse_yaml(text, "s.yaml"));
  return s;
}

std::string error_of(std::string_view text) {
  return input_error([&] { read(text); });
}

TEST(Fields, ReadsEveryType) {
  const Sample s = read(
      "tp: 8\ntokens: 8e3\nratio: 0.5\ngraphs: off\nname: x\npolicy: Priority\nmemory: 80GB\n"
      "delay: 3 ms\ndtype: torch.float16\nrouting: power_law\nsizes: [4, 5]\nshares: [0.25, 1]\n"
      "tags: [green]\nlimit: 7\nreserve: 1 GiB\nlevel: HIGH\ninner: {depth: 5, on: true}\n");
  EXPECT_EQ(s.tp, 8);
  EXPECT_EQ(s.tokens, 8000);
  EXPECT_DOUBLE_EQ(s.ratio, 0.5);
  EXPECT_FALSE(s.graphs);
  EXPECT_EQ(s.name, "x");
  EXPECT_EQ(s.policy, "priority");  // as declared, not as typed
  EXPECT_EQ(s.memory, Bytes(80e9));
  EXPECT_DOUBLE_EQ(s.delay.value(), 0.003);
  EXPECT_EQ(s.dtype, Dtype::kFp16);
  EXPECT_EQ(s.routing, Routing::kPowerLaw);
  EXPECT_THAT(s.sizes, ElementsAre(4, 5));
  EXPECT_THAT(s.shares, ElementsAre(0.25, 1));
  EXPECT_THAT(s.tags, ElementsAre("green"));
  EXPECT_EQ(s.limit, 7);
  EXPECT_EQ(s.reserve, gibibytes(1));
  EXPECT_EQ(s.level, "high");
  EXPECT_EQ(s.inner.depth, 5);
  EXPECT_TRUE(s.inner.on);
}

TEST(Fields, WhatIsNotGivenKeepsItsDefault) {
  const Sample s = read("inner: {on: yes}\n");
  EXPECT_EQ(s.tp, 1);
  EXPECT_EQ(s.inner.depth, 3);
  EXPECT_TRUE(s.inner.on);
  EXPECT_EQ(s.limit, std::nullopt);
  EXPECT_EQ(read("").memory, gibibytes(80));
}

TEST(Fields, AliasesHyphensAndSingleValues) {
  EXPECT_EQ(read("tensor-parallel-size: 4\n").tp, 4);
  EXPECT_THAT(read("sizes: 9\n").sizes, ElementsAre(9));
  EXPECT_EQ(read("limit: ~\n").limit, std::nullopt);
  EXPECT_EQ(error_of("tp: 2\ntensor_parallel_size: 4\n"),
            "s.yaml:2: tensor_parallel_size: 'tp' was given already under another name");
}

TEST(Fields, UnknownKeysNameTheNearest) {
  EXPECT_EQ(error_of("tp: 2\nmemry: 80 GB\n"),
            "s.yaml:2: memry: unknown key (did you mean 'memory'?)");
  EXPECT_EQ(error_of("inner:\n  dept: 2\n"),
            "s.yaml:2: inner.dept: unknown key (did you mean 'depth'?)");
  EXPECT_THAT(error_of("inner:\n  zzzzzz: 2\n"), HasSubstr("unknown key (known: depth, on)"));
  EXPECT_THAT(error_of("inner.depth: 2\n"), HasSubstr("unknown key"));
}

TEST(Fields, RangesAreEnforced) {
  EXPECT_EQ(error_of("tp: 0\n"), "s.yaml:1: tp: 0 is out of range: 1 to 1024");
  EXPECT_EQ(error_of("tokens: 0\n"),
            "s.yaml:1: tokens: 0 is out of range: 1 to 1000000000000 tokens");
  EXPECT_THAT(error_of("ratio: 1.01\n"), HasSubstr("out of range"));
  EXPECT_THAT(error_of("sizes: [1, 101]\n"), StartsWith("s.yaml:1: sizes[1]: 101 is out of range"));
  EXPECT_EQ(error_of("memory: -5 GB\n"), "s.yaml:1: memory: -5 GB is too small: at least 0 B");
  EXPECT_THAT(error_of("limit: 11\n"), HasSubstr("out of range"));
  EXPECT_THAT(error_of("reserve: -1 B\n"), HasSubstr("too small"));  // an optional quantity too
}

TEST(Fields, IntegersDoNotWrapAround) {
  int n = 0;
  std::optional<int> o;
  Fields f;
  f.add("n", n, "a number").range(0, 1e12);
  f.add("o", o, "another");
  for (const char* text : {"n: 4294967297\n", "o: 4294967297\n", "n: 1e11\n"}) {
    EXPECT_THAT(input_error([&] { f.read(parse_yaml(text, "n.yaml")); }),
                HasSubstr("out of range"));
  }
  EXPECT_EQ(n, 0);
}

TEST(Fields, QuantitiesNeedTheirUnit) {
  EXPECT_EQ(error_of("memory: 80\n"),
            "s.yaml:1: memory: expected a number with its unit such as '80 GiB', got '80'");
  EXPECT_THAT(error_of("memory: 80 ms\n"), HasSubstr("got '80 ms'"));
  EXPECT_THAT(error_of("delay: 80 GB\n"), HasSubstr("such as '25 us'"));
  EXPECT_THAT(error_of("memory: [80 GB]\n"), HasSubstr("expected a text, got a list"));
}

TEST(Fields, ChoicesNameTheNearest) {
  EXPECT_EQ(error_of("policy: fcsf\n"),
            "s.yaml:1: policy: expected one of fcfs, priority, got 'fcsf' (did you mean 'fcfs'?)");
  EXPECT_THAT(error_of("routing: uniforn\n"), HasSubstr("did you mean 'uniform'"));
  EXPECT_THAT(error_of("routing: [uniform]\n"), HasSubstr("expected a text"));
  EXPECT_THAT(error_of("tags: [red, blue]\n"),
              StartsWith("s.yaml:1: tags[1]: expected one of red, green"));
  EXPECT_THAT(error_of("level: middle\n"), HasSubstr("expected one of low, high"));
  EXPECT_THAT(error_of("dtype: bf17\n"), HasSubstr("did you mean 'bf16'"));
}

TEST(Fields, WrongKinds) {
  EXPECT_THAT(error_of("tp: two\n"), HasSubstr("expected a whole number, got 'two'"));
  EXPECT_THAT(error_of("graphs: 1\n"), HasSubstr("expected true or false"));
  EXPECT_THAT(error_of("inner: 3\n"), HasSubstr("expected a map"));
  EXPECT_THAT(error_of("[1, 2]\n"), HasSubstr("expected a map"));
  EXPECT_THAT(error_of("name: {a: 1}\n"), HasSubstr("expected a text, got a map"));
}

TEST(Fields, RequiredKeys) {
  int a = 0;
  Fields f;
  f.group("part", [&](Fields& g) { g.add("a", a, "the first").required(); }, "a part").required();
  EXPECT_EQ(input_error([&] { f.read(parse_yaml("part: {}\n", "r.yaml")); }),
            "r.yaml:1: part: 'a' is missing (the first)");
  EXPECT_THAT(input_error([&] { f.read(parse_yaml("", "r.yaml")); }),
              HasSubstr("'part' is missing"));
  EXPECT_EQ(f.schema()["required"], Json({"part"}));
}

TEST(Fields, AnEmptyGroupStillNeedsItsRequiredKeys) {
  int a = 0;
  Fields f;
  f.group("part", [&](Fields& g) { g.add("a", a, "the first").required(); }, "a part");
  EXPECT_EQ(input_error([&] { f.read(parse_yaml("part:\n", "r.yaml")); }),
            "r.yaml:1: part: 'a' is missing (the first)");
  f.read(parse_yaml("", "r.yaml"));  // a group that is not named at all may be left out
}

TEST(Fields, FindsByNameAliasAndDottedPath) {
  Sample s;
  Fields f;
  declare(f, s);
  EXPECT_EQ(f.find("tensor-parallel-size")->name(), "tp");
  EXPECT_EQ(f.find("inner.depth")->doc(), "depth");
  EXPECT_EQ(f.find("inner.width"), nullptr);
  EXPECT_EQ(f.find("tp.depth"), nullptr);
  EXPECT_EQ(f.find("delay")->default_text(), "2 us");
}

TEST(Fields, JsonReadBackIsTheSame) {
  Sample s = read(
      "memory: 80.5 GB\ndelay: 3.3 us\nratio: 0.1\nlimit: 3\nreserve: 0.1 GB\nrouting: "
      "power-law\ntags: red\n");
  Fields first;
  declare(first, s);
  const Json written = first.json();
  EXPECT_TRUE(written["level"].is_null());
  EXPECT_EQ(written["inner"]["depth"], 3);
  Sample t;
  Fields second;
  declare(second, t);
  second.read(parse_json(written.dump(2), "written.json"));
  EXPECT_EQ(second.json(), written);
  EXPECT_EQ(t.memory, s.memory);
  EXPECT_EQ(t.delay, s.delay);
  EXPECT_EQ(t.routing, Routing::kPowerLaw);
}

TEST(Fields, Schema) {
  Sample s;
  Fields f;
  declare(f, s);
  const Json schema = f.schema();
  EXPECT_EQ(schema["type"], "object");
  EXPECT_EQ(schema["additionalProperties"], false);
  const Json& p = schema["properties"];
  EXPECT_EQ(p["tp"]["type"], "integer");
  EXPECT_EQ(p["tp"]["minimum"], 1);
  EXPECT_EQ(p["tp"]["maximum"], 1024);
  EXPECT_EQ(p["tp"]["default"], 1);
  EXPECT_EQ(p["tokens"]["description"], "tokens of a step [tokens]");
  EXPECT_EQ(p["policy"]["enum"], Json::array({"fcfs", "priority"}));
  EXPECT_EQ(p["routing"]["default"], "uniform");
  EXPECT_EQ(p["memory"]["type"], "string");
  EXPECT_EQ(p["memory"]["examples"], Json::array({"80 GiB"}));
  EXPECT_EQ(p["sizes"]["type"], Json::array({"array", "string", "number"}));
  EXPECT_EQ(p["limit"]["type"], Json::array({"integer", "null"}));
  EXPECT_EQ(p["limit"]["maximum"], 10);
  EXPECT_EQ(p["level"]["enum"], Json::array({"low", "high", nullptr}));
  EXPECT_FALSE(p["limit"].contains("default"));
  EXPECT_EQ(p["inner"]["type"], "object");
  EXPECT_EQ(p["inner"]["properties"]["on"]["type"], "boolean");
  EXPECT_FALSE(schema.contains("required"));
}

// rank needs tuning, which comes later in the text and in another group. Whether experts has an
// effect is decided after reading.
struct Switched {
  std::string tuning = "full";
  int rank = 16, experts = 0;
  std::optional<int> zero;
};
Fields declared(Switched& s) {
  Fields f;
  f.group(
      "job",
      [&](Fields& g) {
        g.add("rank", s.rank, "of adapters").needs("how.tuning lora", [&s] {
          return s.tuning == "lora";
        });
        g.add("experts", s.experts, "of a mixture").needs("a model with experts");
      },
      "a job");
  f.group("how", [&](Fields& g) { g.add("tuning", s.tuning, "what is trained"); }, "its kind");
  f.add("zero", s.zero, "what is sharded").range(0, 3).alias_of("1", "distributed_optimizer");
  return f;
}

// Another tool's name of a value reads as ours, is in the schema, and is not written.
TEST(Fields, OtherSpellingsOfAChoice) {
  Routing routing = Routing::kUniform;
  Fields f;
  f.add_enum("routing", routing, {"uniform", "power-law"}, "of tokens")
      .spelled("zipf", "power-law");
  f.read(parse_yaml("{routing: Zipf}", "a.yaml"));
  EXPECT_EQ(routing, Routing::kPowerLaw);
  EXPECT_EQ(f.json()["routing"], "power-law");
  EXPECT_EQ(f.schema()["properties"]["routing"]["enum"], Json({"uniform", "power-law", "zipf"}));
  EXPECT_THAT(input_error([&] { f.read(parse_yaml("{routing: zapf}", "a.yaml")); }),
              HasSubstr("expected one of uniform, power-law, got 'zapf'"));
}

TEST(Fields, AParameterWhoseSwitchIsOffIsRefused) {
  const auto read = [](const std::string& yaml) {
    Switched s;
    declared(s).read(parse_yaml(yaml, "a.yaml"));
    return s;
  };
  EXPECT_EQ(read("{job: {rank: 8}, how: {tuning: lora}}").rank, 8);
  EXPECT_EQ(input_error([&] { read("job:\n  rank: 8"); }),
            "a.yaml:2: job.rank: has no effect here: it needs how.tuning lora");
  EXPECT_EQ(read("{job: {rank: 16}}").rank, 16);  // the default, as a resolved file states it
  Switched s;
  Node flags;
  set_path(flags, "job.rank", scalar_node("16", "--rank"));  // a flag is a wish
  EXPECT_THAT(input_error([&] { declared(s).read(flags); }), HasSubstr("--rank"));
}

TEST(Fields, WhatALaterFactDecidesIsListed) {
  const auto undecided = [](const std::string& yaml) {
    Switched s;
    const Fields f = declared(s);
    const Node document = parse_yaml(yaml, "a.yaml");
    f.read(document);
    return f.undecided(document);
  };
  EXPECT_EQ(undecided("{job: {experts: 0}}").size(), 0u);
  const auto one = undecided("{job: {experts: 4}, how: {tuning: lora}}");
  ASSERT_EQ(one.size(), 1u);
  EXPECT_THAT(input_error([&] { one[0].refuse(); }),
              AllOf(HasSubstr("job.experts"), HasSubstr("a model with experts")));
}

TEST(Fields, ASwitchOfAnotherToolsIsAValue) {
  const auto zero = [](const std::string& yaml) {
    Switched s;
    declared(s).read(parse_yaml(yaml, "a.yaml"));
    return s.zero;
  };
  EXPECT_EQ(zero("{distributed_optimizer: true}"), 1);
  EXPECT_EQ(zero("{distributed-optimizer: false}"), std::nullopt);
  EXPECT_THAT(input_error([&] { zero("{zero: 3, distributed_optimizer: true}"); }),
              HasSubstr("given already"));
  EXPECT_THAT(input_error([&] { zero("{distributed_optimizer: 2}"); }), HasSubstr("true"));
}

TEST(Fields, CustomFieldsReadThemselves) {
  int sum = 0;
  Fields f;
  f.custom(
      "sum", Field::Type::kList,
      [&](const Node& n) {
        for (const Node& i : n.items()) sum += static_cast<int>(i.as_int());
      },
      [&] { return Json(sum); }, "added up");
  f.read(parse_yaml("sum: [1, 2, 3]\n", "c.yaml"));
  EXPECT_EQ(f.json(), Json({{"sum", 6}}));
}

// As flags write them.
TEST(Fields, NumbersOfAListMayBeOneText) {
  std::vector<double> shares;
  std::vector<std::int64_t> sizes;
  Fields f;
  f.add("shares", shares, "shares").range(0, 1);
  f.add("sizes", sizes, "sizes");
  f.read(parse_yaml("shares: 0.5,0.25\nsizes: 3,4,5\n", "s.yaml"));
  EXPECT_THAT(shares, ElementsAre(0.5, 0.25));
  EXPECT_THAT(sizes, ElementsAre(3, 4, 5));
  EXPECT_THROW(f.read(parse_yaml("shares: 0.5,2\n", "s.yaml")), InputError);
  EXPECT_THROW(f.read(parse_yaml("shares: 0.5,\n", "s.yaml")), InputError);
}

}  // namespace fields_test
}  // namespace orrery
