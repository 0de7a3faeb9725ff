#include "orrery/scenario/kinds/training/training_recipe.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "orrery/base/error.h"

namespace orrery {
namespace {

constexpr const char* kFolder = "recipes";

}  // namespace

std::vector<std::string> training_recipe_ids(const Bundle& bundle) {
  std::vector<std::string> ids;
  for (const std::string& path : bundle.list(kFolder, ".yaml"))
    ids.push_back(std::filesystem::path(path).stem().string());
  return ids;
}

TrainingRecipe training_recipe(std::string_view name, const Bundle& bundle) {
  const std::vector<std::string> ids = training_recipe_ids(bundle);
  const std::string id = canonical_name(name);
  if (std::find(ids.begin(), ids.end(), id) == ids.end())
    throw InputError(
        fmt::format("no training recipe is called '{}'{}; `orrery list recipes` has "
                    "their names",
                    name, did_you_mean(name, ids)));
  const auto file = bundle.find(fmt::format("{}/{}.yaml", kFolder, id));
  const Node document = parse_yaml(file->content, file->name);
  TrainingRecipe recipe;
  recipe.id = id;
  const auto text = [&](const char* key) {
    const Node* value = document.find(key);
    if (value == nullptr) document.fail(fmt::format("a recipe needs the key '{}'", key));
    return value->as_string();
  };
  recipe.doc = text("doc"), recipe.source = text("source"), recipe.date = text("date");
  for (std::size_t i = 0; i < document.keys().size(); ++i) {
    const std::string& key = document.keys()[i];
    if (key != "doc" && key != "source" && key != "date" && key != "scenario")
      document.items()[i].fail(fmt::format("unknown key '{}'", key));
  }
  const Node* scenario = document.find("scenario");
  if (scenario == nullptr) document.fail("a recipe needs the key 'scenario'");
  recipe.scenario = *scenario;
  return recipe;
}

}  // namespace orrery
