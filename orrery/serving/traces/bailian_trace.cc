// Alibaba's Qwen-Bailian traces (github.com/alibaba-edu/qwen-bailian-usagetraces-anon).
//
//   {"chat_id", "parent_chat_id", "timestamp": s, "input_length", "output_length",
//    "hash_ids": [one for each 16 tokens]}
//
// A chat goes on under a new id with the old one as its parent. The first chat names the session.
#include <map>

#include "orrery/serving/traces/trace_format.h"

namespace orrery {
namespace {

class Bailian : public JsonTraceFormat {
 public:
  bool takes(const nlohmann::json& j) const override { return j.contains("chat_id"); }

  void add(const nlohmann::json& j, const std::string& where, TraceCollector& collector) override {
    TraceLine line;
    line.arrival = json_number(j, "timestamp");
    line.input = json_number(j, "input_length");
    line.output = json_number(j, "output_length");
    collector.trace().load.id_tokens = 16;
    line.ids = json_hash_ids(j);
    const std::string chat = j.at("chat_id").dump();
    const auto parent = j.find("parent_chat_id");
    const auto root = parent == j.end() ? roots_.end() : roots_.find(parent->dump());
    line.session = root == roots_.end() ? chat : std::string(root->second);
    roots_[chat] = line.session;
    collector.add(line, where);
  }

 private:
  std::map<std::string, std::string> roots_;  // chat -> first chat of its session
};

}  // namespace

std::unique_ptr<JsonTraceFormat> make_bailian_trace() { return std::make_unique<Bailian>(); }

}  // namespace orrery
