#include "orrery/accelerator/systolic/scalesim_input.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <optional>

#include "orrery/base/error.h"

namespace orrery {
namespace {

constexpr std::int64_t kMostScaleSim = std::int64_t{1} << 31;
constexpr std::size_t kMostScaleSimLayers = 100000;

std::string_view trim(std::string_view text) {
  const auto blank = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

// As a message may show it: printable, and not too long.
std::string shown(std::string_view text) {
  std::string out(text.substr(0, 60));
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7E) c = '?';
  }
  return out;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

[[noreturn]] void fail_at(const std::string& file, int line, const std::string& why) {
  throw InputError(fmt::format("{}:{}: {}", file, line, why));
}

std::int64_t whole(std::string_view text, const std::string& file, int line,
                   const std::string& what) {
  std::int64_t n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc() || end != text.data() + text.size() || n < 1 || n > kMostScaleSim) {
    fail_at(file, line,
            fmt::format("{}: expected a whole number from 1 to 2^31, got '{}'", what, shown(text)));
  }
  return n;
}

// Calls `use(line, number)` for every line.
template <class Use>
void for_lines(std::string_view text, const Use& use) {
  for (int line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    use(trim(text.substr(0, end)), line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

// Sections with their keys in lower case, as the tool compares them.
const std::map<std::string, std::vector<std::string>>& sections() {
  static const std::map<std::string, std::vector<std::string>> kSections = {
      {"general", {"run_name"}},
      {"architecture_presets",
       {"arrayheight", "arraywidth", "ifmapsramszkb", "filtersramszkb", "ofmapsramszkb",
        "ifmapoffset", "filteroffset", "ofmapoffset", "bandwidth", "dataflow", "memorybanks",
        "readrequestbuffer", "writerequestbuffer"}},
      {"layout",
       {"ifmapcustomlayout", "ifmapsrambankbandwidth", "ifmapsrambanknum", "ifmapsrambankport",
        "filtercustomlayout", "filtersrambankbandwidth", "filtersrambanknum",
        "filtersrambankport"}},
      {"sparsity",
       {"sparsitysupport", "sparserep", "optimizedmapping", "blocksize",
        "randomnumbergeneratorseed", "nonzeroelems"}},
      {"run_presets", {"interfacebandwidth", "useramulatortrace"}},
      {"network_presets", {"topologycsvloc"}}};
  return kSections;
}

class ConfigText {
 public:
  ConfigText(std::string_view text, const std::string& file) : file_(file) {
    for_lines(text, [&](std::string_view line, int number) { add(line, number); });
  }
  ScaleSimConfig read() const;

 private:
  struct Entry {
    std::string value;
    int line = 0;
  };
  void add(std::string_view line, int number);
  const Entry& at(const std::string& key) const {
    const auto found = entries_.find(key);
    if (found == entries_.end()) throw InputError(fmt::format("{}: no key {}", file_, key));
    return found->second;
  }
  std::int64_t number(const std::string& key) const {
    const Entry& e = at(key);
    return whole(e.value, file_, e.line, key);
  }
  void refuse_if_true(const std::string& key, const char* what) const {
    const auto found = entries_.find(key);
    if (found == entries_.end() || lower(found->second.value) != "true") return;
    fail_at(file_, found->second.line, fmt::format("{}: {} not counted", key, what));
  }
  std::int64_t read_bandwidth() const;

  const std::string& file_;
  std::string section_;
  std::map<std::string, Entry> entries_;
};

void ConfigText::add(std::string_view line, int number) {
  if (line.empty() || line.front() == '#' || line.front() == ';') return;
  if (line.front() == '[') {
    section_ = lower(
        trim(line.substr(1, line.find(']') == std::string_view::npos ? 0 : line.find(']') - 1)));
    std::vector<std::string> names;
    for (const auto& [name, keys] : sections()) names.push_back(name);
    if (sections().contains(section_)) return;
    fail_at(file_, number,
            fmt::format("unknown section '{}'; known are {}{}", shown(section_),
                        fmt::join(names, ", "), did_you_mean(shown(section_), names)));
  }
  const std::size_t mark = line.find_first_of(":=");
  if (section_.empty() || mark == std::string_view::npos) {
    fail_at(file_, number,
            fmt::format("expected [section] or 'key: value', got '{}'", shown(line)));
  }
  const std::string key = lower(trim(line.substr(0, mark)));
  const std::vector<std::string>& known = sections().at(section_);
  if (std::find(known.begin(), known.end(), key) == known.end()) {
    fail_at(file_, number,
            fmt::format("unknown key '{}' of section {}{}", shown(key), section_,
                        did_you_mean(shown(key), known)));
  }
  if (!entries_.emplace(key, Entry{std::string(trim(line.substr(mark + 1))), number}).second) {
    fail_at(file_, number, fmt::format("a second key '{}'", key));
  }
}

std::int64_t ConfigText::read_bandwidth() const {
  if (!entries_.contains("ifmapsrambankbandwidth")) return SystolicArray().read_bandwidth;
  const std::int64_t input = number("ifmapsrambankbandwidth");
  if (number("filtersrambankbandwidth") != input) {
    fail_at(file_, at("filtersrambankbandwidth").line,
            "filtersrambankbandwidth: expected the value of ifmapsrambankbandwidth");
  }
  return input;
}

ScaleSimConfig ConfigText::read() const {
  ScaleSimConfig c;
  const auto name = entries_.find("run_name");
  if (name != entries_.end()) c.run_name = shown(name->second.value);
  SystolicArray& a = c.array;
  a.rows = number("arrayheight");
  a.columns = number("arraywidth");
  a.input_words = 1024 * number("ifmapsramszkb");
  a.filter_words = 1024 * number("filtersramszkb");
  a.output_words = 1024 * number("ofmapsramszkb");
  const Entry& dataflow = at("dataflow");
  if (dataflow.value == "os") {
    a.dataflow = SystolicDataflow::kOutputStationary;
  } else if (dataflow.value == "ws") {
    a.dataflow = SystolicDataflow::kWeightStationary;
  } else if (dataflow.value == "is") {
    a.dataflow = SystolicDataflow::kInputStationary;
  } else {
    fail_at(file_, dataflow.line,
            fmt::format("dataflow: expected os, ws or is, got '{}'", shown(dataflow.value)));
  }
  const Entry& mode = at("interfacebandwidth");
  a.stall_free = mode.value == "CALC";
  if (!a.stall_free && mode.value != "USER") {
    fail_at(file_, mode.line,
            fmt::format("interfacebandwidth: expected CALC or USER, got '{}'", shown(mode.value)));
  }
  if (!a.stall_free) {
    const Entry& bandwidth = at("bandwidth");
    a.write_bandwidth = whole(trim(bandwidth.value.substr(0, bandwidth.value.find(','))), file_,
                              bandwidth.line, "bandwidth");
    a.read_bandwidth = read_bandwidth();
  }
  refuse_if_true("sparsitysupport", "sparsity is");
  refuse_if_true("ifmapcustomlayout", "layouts in banks are");
  refuse_if_true("filtercustomlayout", "layouts in banks are");
  refuse_if_true("useramulatortrace", "Ramulator's traces are");
  return c;
}

std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  while (true) {
    const std::size_t end = line.find(',');
    cells.push_back(trim(line.substr(0, end)));
    if (end == std::string_view::npos) break;
    line.remove_prefix(end + 1);
  }
  if (cells.back().empty()) cells.pop_back();
  return cells;
}

class TopologyText {
 public:
  TopologyText(std::string_view text, const std::string& file) : file_(file) {
    for_lines(text, [&](std::string_view line, int number) {
      if (line.empty()) return;
      if (header_.empty()) return read_header(line, number);
      layers_.push_back(product_ ? product(cells_of(line), number)
                                 : convolution(cells_of(line), number));
      if (layers_.size() > kMostScaleSimLayers) fail_at(file_, number, "more than 100,000 layers");
    });
    if (header_.empty()) throw InputError(fmt::format("{}: no header", file_));
  }
  std::vector<ScaleSimLayer> take() { return std::move(layers_); }

 private:
  void read_header(std::string_view line, int number);
  std::int64_t cell(const std::vector<std::string_view>& cells, std::size_t i, int line) const {
    if (i >= cells.size())
      fail_at(file_, line, fmt::format("the column {} is missing", header_[i]));
    return whole(cells[i], file_, line, header_[i]);
  }
  // Cells behind the sizes: a batch, or a sparsity that is none.
  std::int64_t rest(const std::vector<std::string_view>& cells, std::size_t from, int line) const;
  ScaleSimLayer product(const std::vector<std::string_view>& cells, int line) const;
  ScaleSimLayer convolution(const std::vector<std::string_view>& cells, int line) const;

  const std::string& file_;
  std::vector<std::string> header_;
  bool product_ = false;
  std::vector<ScaleSimLayer> layers_;
};

void TopologyText::read_header(std::string_view line, int number) {
  for (const std::string_view name : cells_of(line)) header_.push_back(lower(shown(name)));
  const auto is = [&](std::size_t i, std::string_view start) {
    return i < header_.size() && header_[i].starts_with(start);
  };
  product_ = is(1, "m") && is(2, "n") && is(3, "k");
  const bool convolution = is(1, "ifmap") && is(2, "ifmap") && is(3, "filter") && is(4, "filter") &&
                           is(5, "channel") && is(6, "num") && is(7, "stride");
  if (product_ || convolution) return;
  fail_at(file_, number,
          "expected the header 'Layer, M, N, K,' or 'Layer name, IFMAP Height, IFMAP Width, Filter "
          "Height, Filter Width, Channels, Num Filter, Strides,' in this order");
}

std::int64_t TopologyText::rest(const std::vector<std::string_view>& cells, std::size_t from,
                                int line) const {
  std::int64_t batch = 1;
  for (std::size_t i = from; i < cells.size(); ++i) {
    const bool target = i < header_.size() && header_[i] == "target";
    if (cells[i].empty() || cells[i] == "1:1" || target) continue;
    if (cells[i].find(':') != std::string_view::npos) {
      fail_at(file_, line, fmt::format("the sparsity {} is not counted", shown(cells[i])));
    }
    const std::string name = i < header_.size() ? header_[i] : std::to_string(i + 1);
    if (!product_ || batch != 1) {
      fail_at(file_, line, fmt::format("column {}: unexpected '{}'", name, shown(cells[i])));
    }
    batch = whole(cells[i], file_, line, name);
  }
  return batch;
}

ScaleSimLayer TopologyText::product(const std::vector<std::string_view>& cells, int line) const {
  ScaleSimLayer layer;
  layer.name = shown(cells[0]);
  layer.product = {cell(cells, 1, line), cell(cells, 2, line), cell(cells, 3, line)};
  layer.times = rest(cells, 4, line);
  return layer;
}

ScaleSimLayer TopologyText::convolution(const std::vector<std::string_view>& cells,
                                        int line) const {
  ScaleSimLayer layer;
  layer.name = shown(cells[0]);
  std::int64_t sizes[8] = {};
  for (std::size_t i = 1; i < 8; ++i) sizes[i] = cell(cells, i, line);
  const auto [unused, height, width, filter_height, filter_width, channels, filters, stride] =
      sizes;
  if (filter_height > height || filter_width > width) {
    fail_at(file_, line, "the filter is larger than the input");
  }
  rest(cells, 8, line);
  const bool depthwise = layer.name.find("DP") != std::string::npos;
  constexpr double kMostWork = 9e15;
  const std::int64_t rows =
      (height - filter_height) / stride + 1 + ((height - filter_height) % stride != 0 ? 1 : 0);
  const std::int64_t columns =
      (width - filter_width) / stride + 1 + ((width - filter_width) % stride != 0 ? 1 : 0);
  const double window = static_cast<double>(filter_height) * static_cast<double>(filter_width) *
                        static_cast<double>(depthwise ? 1 : channels);
  if (static_cast<double>(rows) * static_cast<double>(columns) > kMostWork || window > kMostWork) {
    fail_at(file_, line, "the layer is larger than 2^53 words");
  }
  layer.product = {rows * columns, filters, static_cast<std::int64_t>(window)};
  layer.times = depthwise ? channels : 1;
  layer.windows = filter_height > stride || filter_width > stride;
  return layer;
}

}  // namespace

ScaleSimConfig read_scalesim_config(std::string_view text, const std::string& file) {
  return ConfigText(text, file).read();
}

std::vector<ScaleSimLayer> read_scalesim_topology(std::string_view text, const std::string& file) {
  return TopologyText(text, file).take();
}

}  // namespace orrery
