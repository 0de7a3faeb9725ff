#include "orrery/training/iteration/training_kernels.h"

#include <nlohmann/json.hpp>
#include <string>

#include "orrery/base/fields.h"

namespace orrery {

KernelClasses training_kernels(const Gpu& gpu, const Bundle& bundle) {
  KernelClasses classes;
  const auto file = bundle.find("training/kernels.yaml");
  if (!file) return classes;
  Fields fields;
  fields.add("products", classes.gemm, "framework whose sweep times products in 16 bits");
  fields.add("scaled_products", classes.scaled_gemm, "the same of products in fp8 and nvfp4");
  fields.add("casts", classes.casts, "the same of casts; empty: as products in 16 bits");
  fields.custom(
      "exceptions", Field::Type::kList,
      [&](const Node& list) {
        for (const Node& item : list.items()) {
          std::string id, products = classes.gemm, casts = classes.casts;
          Fields f;
          f.add("gpu", id, "id of a GPU of the catalog").required();
          f.add("products", products, "framework whose sweep times products in 16 bits");
          f.add("casts", casts, "the same of casts");
          f.read(item);
          if (id == gpu.id) classes.gemm = products, classes.casts = casts;
        }
      },
      [] { return nlohmann::ordered_json::array(); }, "GPUs with another sweep");
  fields.read(parse_yaml(file->content, file->name));
  return classes;
}

}  // namespace orrery
