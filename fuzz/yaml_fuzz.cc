// parse_yaml on any bytes, and Fields on the document: a document, or an InputError and nothing
// else.
#include <cstddef>
#include <cstdint>

#include "orrery/base/fields.h"
#include "orrery/base/node.h"

namespace {

struct Sample {
  int tp = 1;
  double ratio = 0;
  std::string policy;
  orrery::Bytes memory;
  std::optional<orrery::Dtype> dtype;
  std::vector<std::int64_t> sizes;
};

void read(Sample& s, const orrery::Node& document) {
  orrery::Fields fields;
  fields.add("tp", s.tp, "ranks").range(1, 1e12);
  fields.add("ratio", s.ratio, "share");
  fields.add("policy", s.policy, "order").one_of({"fcfs", "priority"});
  fields.add("memory", s.memory, "size");
  fields.group(
      "inner",
      [&s](orrery::Fields& g) {
        g.add("dtype", s.dtype, "format");
        g.add("sizes", s.sizes, "sizes");
      },
      "a part");
  fields.read(document);
  // What was read is written as JSON that reads back.
  orrery::Fields again = fields;
  again.read(orrery::parse_json(fields.json().dump(), "written.json"));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  orrery::Node document;
  try {
    document = orrery::parse_yaml(text, "fuzz.yaml");
    Sample sample;
    read(sample, document);
  } catch (const orrery::InputError&) {
  }
  return 0;
}
