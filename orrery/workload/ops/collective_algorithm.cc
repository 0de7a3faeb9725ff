#include "orrery/workload/ops/collective_algorithm.h"

#include <array>
#include <cctype>
#include <cstddef>

namespace orrery {
namespace {

constexpr unsigned bit(AlgorithmModel model) { return 1u << static_cast<unsigned>(model); }

struct Entry {
  std::string_view name, doc;
  unsigned models;
};

constexpr std::array<Entry, kCollectiveAlgorithms> kEntries = {{
#define CURVE(function) | bit(AlgorithmModel::kCurve)
#define TUNER(function) | bit(AlgorithmModel::kTuner)
#define FLOW(function) | bit(AlgorithmModel::kFlow)
#define ALGORITHM(value, name, models, doc) {name, doc, 0u models},
#include "orrery/base/index.h"
#include "orrery/workload/ops/collective_algorithms.def"
#undef ALGORITHM
#undef CURVE
#undef TUNER
#undef FLOW
}};

const Entry& entry_of(CollectiveAlgorithm algorithm) { return kEntries[index(algorithm)]; }

// Lower case without '-' and '_'.
std::string plain_spelling(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c != '-' && c != '_') out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return out;
}

}  // namespace

std::string_view to_text(CollectiveAlgorithm algorithm) { return entry_of(algorithm).name; }
std::string_view description(CollectiveAlgorithm algorithm) { return entry_of(algorithm).doc; }

bool has_model(CollectiveAlgorithm algorithm, AlgorithmModel model) {
  return (entry_of(algorithm).models & bit(model)) != 0;
}

const std::vector<std::string>& collective_algorithm_names(AlgorithmModel model) {
  static const auto all = [] {
    std::array<std::vector<std::string>, 3> names;
    for (std::size_t m = 0; m < names.size(); ++m) {
      for (const Entry& e : kEntries) {
        if ((e.models & bit(static_cast<AlgorithmModel>(m))) != 0) names[m].emplace_back(e.name);
      }
    }
    return names;
  }();
  return all[index(model)];
}

std::optional<CollectiveAlgorithm> parse_collective_algorithm(std::string_view text,
                                                              AlgorithmModel model) {
  const std::string wanted = plain_spelling(text);
  for (std::size_t i = 0; i < kEntries.size(); ++i) {
    const auto algorithm = static_cast<CollectiveAlgorithm>(i);
    if (has_model(algorithm, model) && plain_spelling(kEntries[i].name) == wanted) return algorithm;
  }
  return std::nullopt;
}

const std::vector<std::string>& collective_protocol_names() {
  static const std::vector<std::string> names = {"ll", "ll128", "simple"};
  return names;
}

std::string_view to_text(CollectiveProtocol protocol) {
  return collective_protocol_names()[index(protocol)];
}

std::optional<CollectiveProtocol> parse_collective_protocol(std::string_view text) {
  const auto& names = collective_protocol_names();
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (plain_spelling(names[i]) == plain_spelling(text)) return static_cast<CollectiveProtocol>(i);
  }
  return std::nullopt;
}

}  // namespace orrery
