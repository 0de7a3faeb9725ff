// Does the reader read JSON piece by piece, and refuse other text with the place of the error?
#include "orrery/replay/json_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/error.h"
#include "tests/refusal.h"

namespace orrery {
namespace json_stream_test {

using testing::HasSubstr;

// Hands the text over a few bytes at a time, so that every value meets a seam.
ByteSource dribble(std::string text, std::size_t piece) {
  return [text, piece, at = std::size_t{0}](char* to, std::size_t size) mutable {
    const std::size_t count = std::min({piece, size, text.size() - at});
    text.copy(to, count, at);
    at += count;
    return count;
  };
}

// Reads one value and writes it again as JSON text.
std::string echo(JsonStream& in) {
  std::string out;
  switch (in.peek()) {
    case '{':
      out = "{";
      for (in.begin_object(); in.next_member();) {
        out += std::string(in.key()) + ":";
        out += echo(in) + ";";
      }
      return out + "}";
    case '[':
      out = "[";
      for (in.begin_list(); in.next_element();) out += echo(in) + ";";
      return out + "]";
    case '"':
      return "'" + std::string(in.string()) + "'";
    default:
      return std::string(in.number());
  }
}

std::string echo_of(const std::string& text, std::size_t piece = 1 << 20) {
  JsonStream in(dribble(text, piece), "t.json");
  std::string out = echo(in);
  in.end();
  return out;
}

std::string refusal(const std::string& text, bool skipping = false) {
  return refusal_of([&] {
    JsonStream in(memory_source(text), "t.json");
    skipping ? in.skip() : void(echo(in));
    in.end();
  });
}

TEST(JsonStream, ReadsTheSameHoweverTheTextIsCut) {
  const std::string text =
      " {\"a\": [1, -2.5e+3, 0.125], \"b\\u0041\\\"\" : \"x\\ty\\\\z\",\n\"empty\":{},\"l\":[ ]} ";
  const std::string expected = "{a:[1;-2.5e+3;0.125;];bA\":'x y\\z';empty:{};l:[];}";
  for (std::size_t piece : {1u, 2u, 3u, 7u, 1000u}) EXPECT_EQ(echo_of(text, piece), expected);
}

TEST(JsonStream, TakesWhatProfilersWrite) {
  EXPECT_EQ(echo_of("[nan, -inf, Infinity, null]"), "[;;;;]");
  EXPECT_EQ(echo_of("\"C:\\Users\\me\""), "'C:\\Users\\me'");
  EXPECT_EQ(echo_of("\"a\tb\""), "'a\tb'");
}

TEST(JsonStream, RefusesWithTheLineAndTheByte) {
  EXPECT_EQ(refusal("{\"a\": 1,\n \"b\" 2}"),
            "t.json: line 2 (byte 14): expected ':' after the name of a member, found '2'");
  EXPECT_EQ(refusal("[1 2]"),
            "t.json: line 1 (byte 3): expected ',' or ']' after an element, found '2'");
  EXPECT_EQ(refusal("[1, 2"),
            "t.json: line 1 (byte 5): the text ends early: expected ',' or ']' after an element");
  EXPECT_THAT(refusal("[\"abc"), HasSubstr("byte 5): the text ends early, inside a string"));
  EXPECT_THAT(refusal("[\"a\nb\"]"), HasSubstr("a string that is not closed on its line"));
  EXPECT_THAT(refusal("{1: 2}"), HasSubstr("expected the name of a member"));
  EXPECT_THAT(refusal("[1] x"), HasSubstr("expected the end of the text, found 'x'"));
  EXPECT_THAT(refusal("[1.]"), HasSubstr("expected a number, found '1.'"));
  EXPECT_THAT(refusal("[+1]", true), HasSubstr("expected a value, found '+'"));
  EXPECT_THAT(refusal("[trve]", true), HasSubstr("expected a value, found 'trve'"));
  EXPECT_THAT(refusal("[\"\\u00g0\"]"), HasSubstr("four hexadecimal digits"));
  EXPECT_THAT(refusal(std::string(100, '['), true), HasSubstr("nested more than 64 deep"));
  EXPECT_THAT(refusal("[\"" + std::string(3 << 20, 'a') + "\"]"),
              HasSubstr("a string of more than"));
}

}  // namespace json_stream_test
}  // namespace orrery
