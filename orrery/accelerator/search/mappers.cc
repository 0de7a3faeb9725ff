#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <vector>

#include "orrery/accelerator/search/hill_climb_mapper.h"
#include "orrery/accelerator/search/random_mapper.h"
#include "orrery/base/error.h"

namespace orrery {
namespace {

// A new mapper is one file and one line here.
struct Entry {
  std::string_view name;
  std::unique_ptr<Mapper> (*make)();
};
constexpr std::array kMappers = {
    Entry{"hill-climb", [] { return std::unique_ptr<Mapper>(new HillClimbMapper); }},
    Entry{"random-search", [] { return std::unique_ptr<Mapper>(new RandomMapper); }},
};

}  // namespace

std::span<const std::string_view> mapper_names() {
  static constexpr auto names = [] {
    std::array<std::string_view, kMappers.size()> out;
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = kMappers[i].name;
    return out;
  }();
  return names;
}

std::unique_ptr<Mapper> make_mapper(const std::string& name) {
  std::vector<std::string> names;
  for (const Entry& e : kMappers) {
    if (e.name == name) return e.make();
    names.emplace_back(e.name);
  }
  throw InputError(fmt::format("mapper: expected {}, got '{}'{}", fmt::join(names, ", "), name,
                               did_you_mean(name, names)));
}

}  // namespace orrery
