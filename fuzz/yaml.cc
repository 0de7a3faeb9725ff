// parse_yaml on any bytes, and Fields on the document. What Fields has read is written as JSON that
// reads back.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "fuzz/refusal.h"
#include "orrery/base/fields.h"
#include "orrery/base/node.h"

namespace {

struct Sample {
  int tp = 1;
  double ratio = 0;
  std::string name;
  std::string policy = "fcfs";
  orrery::Bytes memory;
  std::optional<orrery::Dtype> dtype;
  std::vector<std::int64_t> sizes;
};

void declare(orrery::Fields& fields, Sample& s) {
  fields.add("tp", s.tp, "ranks").range(1, 1e12);
  fields.add("ratio", s.ratio, "share");
  fields.add("name", s.name, "the name");
  fields.add("policy", s.policy, "order").one_of({"fcfs", "priority"});
  fields.add("memory", s.memory, "size");
  fields.group(
      "inner",
      [&s](orrery::Fields& g) {
        g.add("dtype", s.dtype, "format");
        g.add("sizes", s.sizes, "sizes");
      },
      "a part");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  nlohmann::ordered_json written;
  orrery::read_or_refuse([&] {
    const orrery::Node document = orrery::parse_yaml(text, "fuzz.yaml");
    Sample sample;
    orrery::Fields fields;
    declare(fields, sample);
    fields.read(document);
    written = fields.json();
  });
  if (written.is_null()) return 0;
  Sample sample;
  orrery::Fields fields;
  declare(fields, sample);
  fields.read(orrery::parse_json(written.dump(), "written.json"));
  if (fields.json() != written) std::abort();
  return 0;
}
