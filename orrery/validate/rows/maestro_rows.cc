#include "orrery/validate/rows/maestro_rows.h"

#include <cctype>
#include <charconv>

#include "orrery/base/csv.h"
#include "orrery/base/error.h"
#include "orrery/base/index.h"
#include "orrery/base/node.h"

namespace orrery {
namespace {

// "vgg16_nlr/CONV1": the style is "nlr".
std::string style_of(const std::string& id) {
  const std::size_t slash = id.find('/'), begin = id.find('_');
  return begin < slash ? id.substr(begin + 1, slash - begin - 1) : "";
}

// "CONV4_3_2" is "CONV4_3_" and 2; the number is -1 where a name does not end in one.
std::pair<std::string, int> split_number(const std::string& id) {
  std::size_t digits = id.size();
  while (digits > 0 && std::isdigit(static_cast<unsigned char>(id[digits - 1])) != 0) --digits;
  int number = -1;
  std::from_chars(id.data() + digits, id.data() + id.size(), number);
  return {id.substr(0, digits), number};
}

// The list of directives of a record without any.
const Node* borrowed_dataflow(const Node& records, const std::string& id, const Node& record) {
  for (std::size_t i = 0; i < records.keys().size(); ++i) {
    const Node& other = records.items()[i];
    if (style_of(records.keys()[i]) == style_of(id) && !other.at("dataflow").items().empty() &&
        other.at("type").as_string() == record.at("type").as_string()) {
      return &other.at("dataflow");
    }
  }
  return nullptr;
}

DirectiveLayer read_layer(const Node& records, const std::string& id) {
  const Node& record = records.at(id);
  DirectiveLayer layer;
  layer.name = id;
  layer.kind = read_layer_kind(record.at("type").as_string(), id);
  DirectiveConstants constants;
  if (const Node* named = record.find("constants")) {
    for (std::size_t i = 0; i < named->keys().size(); ++i) {
      constants[named->keys()[i]] = std::stoll(named->items()[i].as_string());
    }
  }
  for (std::size_t d = 0; d < kLayerDims; ++d) layer.strides[static_cast<LayerDim>(d)] = 1;
  read_dimensions(record.at("dimensions").as_string(), constants, id, layer.sizes);
  const Node& stride = record.at("stride");
  if (!stride.is_null()) read_dimensions(stride.as_string(), constants, id, layer.strides);
  const Node* dataflow = &record.at("dataflow");
  if (dataflow->items().empty()) {
    if (const Node* borrowed = borrowed_dataflow(records, id, record)) dataflow = borrowed;
  }
  for (const Node& directive : dataflow->items()) {
    layer.dataflow.push_back(read_directive(directive.as_string(), constants, layer.sizes, id));
  }
  return layer;
}

}  // namespace

std::vector<MaestroRow> read_maestro_rows(
    const std::filesystem::path& dir,
    const std::function<void(const std::string& id, const std::string& why)>& failed) {
  const Node records = read_document(dir / "maestro_dataflows.json");
  CsvReader csv(dir / "maestro_layers.csv");
  const int id = csv.column("id"), first = csv.column("runtime_cycles");
  std::vector<MaestroRow> rows;
  while (csv.next()) {
    MaestroRow row;
    row.id = csv.text(id);
    row.units = csv.integer(csv.column("numpes"));
    for (int c = first; c < static_cast<int>(csv.header().size()); ++c) {
      row.figures[csv.header()[index(c)]] = csv.number(c);
    }
    try {
      row.layer = read_layer(records, row.id);
    } catch (const InputError& e) {
      failed(row.id, e.what());
      continue;
    }
    for (const Directive& d : row.layer.dataflow) {
      row.clustered = row.clustered || d.kind == Directive::Kind::kCluster;
    }
    const auto [words, number] = split_number(row.id);
    if (!rows.empty() && number > 0 &&
        split_number(rows.back().id) == std::pair(words, number - 1)) {
      row.before = static_cast<int>(rows.size()) - 1;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace orrery
