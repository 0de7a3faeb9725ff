#include "orrery/replay/kineto.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <unordered_map>

#include "orrery/base/error.h"
#include "orrery/base/node_builder.h"

namespace orrery {
namespace {

using EventKind = KinetoEvent::Kind;

constexpr std::int64_t kLatest = 4'000'000'000'000'000'000;   // ns: the year 2096
constexpr std::int64_t kLongest = 30LL * 86'400'000'000'000;  // ns, of a whole trace
constexpr std::size_t kLongestName = 1000;
constexpr std::size_t kMostDims = 64, kMostInputs = 64;

// The kind of event of a category; nothing: events of the category are ignored.
std::optional<EventKind> kind_of(std::string_view category) {
  struct Known {
    std::string_view category;
    EventKind kind;
  };
  constexpr Known kKnown[] = {
      {"cpu_op", EventKind::kCpuOp},      {"Operator", EventKind::kCpuOp},
      {"kernel", EventKind::kKernel},     {"Kernel", EventKind::kKernel},
      {"cuda_runtime", EventKind::kCall}, {"Runtime", EventKind::kCall},
      {"cuda_driver", EventKind::kCall},  {"hip_runtime", EventKind::kCall},
      {"gpu_memcpy", EventKind::kMemcpy}, {"Memcpy", EventKind::kMemcpy},
      {"gpu_memset", EventKind::kMemset}, {"Memset", EventKind::kMemset},
      {"cuda_sync", EventKind::kSync},    {"user_annotation", EventKind::kAnnotation},
  };
  for (const Known& k : kKnown) {
    if (k.category == category) return k.kind;
  }
  return {};
}

// A decimal number of microseconds as nanoseconds. It is exact for at most three decimals; a double
// is not precise enough for times since 1970. Nothing if the text is no number or out of range.
std::optional<std::int64_t> nanoseconds_of(std::string_view text) {
  const bool negative = text.starts_with('-');
  std::string_view rest = negative ? text.substr(1) : text;
  std::int64_t whole = 0;
  const auto r = std::from_chars(rest.data(), rest.data() + rest.size(), whole);
  if (r.ec != std::errc() || whole > kLatest / 1000 || rest.front() == '-') return {};
  rest.remove_prefix(static_cast<std::size_t>(r.ptr - rest.data()));
  std::int64_t ns = whole * 1000;
  if (rest.starts_with('.')) {
    rest.remove_prefix(1);
    std::int64_t unit = 100;
    for (int place = 0; !rest.empty() && rest.front() >= '0' && rest.front() <= '9'; ++place) {
      const std::int64_t digit = rest.front() - '0';
      ns += place < 3 ? digit * unit : (place == 3 && digit >= 5 ? 1 : 0);
      unit /= 10;
      rest.remove_prefix(1);
    }
  }
  if (!rest.empty()) {  // the number has an exponent
    double us = 0;
    const auto d = std::from_chars(text.data(), text.data() + text.size(), us);
    if (d.ec != std::errc() || d.ptr != text.data() + text.size() ||
        !(std::abs(us) <= static_cast<double>(kLatest) / 1000)) {
      return {};
    }
    return static_cast<std::int64_t>(std::llround(us * 1000));
  }
  return negative ? -ns : ns;
}

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view t) const { return std::hash<std::string_view>{}(t); }
};
using Index = std::unordered_map<std::string, std::uint32_t, TextHash, std::equal_to<>>;

// The index of `text`. `make` is called if the text is new.
template <class Make>
std::uint32_t intern(Index& index, std::string_view text, std::size_t next, Make make) {
  if (const auto it = index.find(text); it != index.end()) return it->second;
  make();
  return index.emplace(std::string(text), static_cast<std::uint32_t>(next)).first->second;
}

// The name with printable characters only.
std::string shown(std::string_view text) {
  std::string out(text.substr(0, kLongestName));
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7F) c = '?';
  }
  return out;
}

class Reader {
 public:
  Reader(ByteSource source, const std::string& name) : in_(std::move(source), name) {}

  KinetoTrace read() {
    if (in_.peek() == '[') {
      events();
    } else if (in_.peek() == '{') {
      document();
    } else {
      in_.fail(in_.peek() == '\0' ? "the file is empty: expected a trace of torch.profiler"
                                  : "expected a trace of torch.profiler: an object or a list");
    }
    in_.end();
    std::sort(t_.events.begin(), t_.events.end(), [](const KinetoEvent& a, const KinetoEvent& b) {
      return std::tuple(a.start, -a.duration, a.lane, a.kind, a.correlation, a.name) <
             std::tuple(b.start, -b.duration, b.lane, b.kind, b.correlation, b.name);
    });
    if (!t_.events.empty() && latest_ - t_.events.front().start > Nanoseconds(kLongest)) {
      in_.fail(fmt::format("the events span {} days: expected at most 30",
                           (latest_ - t_.events.front().start).count() / 86'400'000'000'000));
    }
    return std::move(t_);
  }

 private:
  // The members of the event that is being read.
  struct Given {
    char phase = '\0';
    bool categorised = false, has_name = false;
    std::optional<EventKind> kind;
    std::optional<std::int64_t> start, duration;
    std::string process, thread;
    std::optional<std::int64_t> device, stream, source, record;
    std::int64_t correlation = -1;
    bool gpu_sync = false;
    std::string name, category;
    KinetoDetail detail;
  };

  void document() {
    bool seen = false;
    for (in_.begin_object(); in_.next_member();) {
      const std::string_view key = in_.key();
      if (key == "traceEvents") {
        if (seen) in_.fail("there are two lists traceEvents");
        seen = true;
        events();
      } else if (key == "schemaVersion") {
        t_.schema = integer_or(0);
      } else if (key == "distributedInfo" && in_.peek() == '{') {
        for (in_.begin_object(); in_.next_member();) {
          in_.key() == "world_size" ? void(t_.world_size = integer_or(0)) : in_.skip();
        }
      } else if (key == "deviceProperties" && in_.peek() == '[') {
        for (in_.begin_list(); in_.next_element();) device();
      } else {
        in_.skip();
      }
    }
    if (!seen) in_.fail("no traceEvents: not a trace of torch.profiler");
  }

  void device() {
    if (in_.peek() != '{') return in_.skip();
    for (in_.begin_object(); in_.next_member();) {
      if (in_.key() == "name" && in_.peek() == '"' && t_.gpu.empty()) {
        t_.gpu = shown(in_.string());
      } else {
        in_.skip();
      }
    }
  }

  void events() {
    if (in_.peek() != '[') in_.fail("traceEvents: expected a list");
    for (in_.begin_list(); in_.next_element();) event();
  }

  void event() {
    if (in_.peek() != '{') in_.fail("expected an event: an object");
    reset();
    for (in_.begin_object(); in_.next_member();) member();
    keep();
  }

  void reset() {
    given_.phase = '\0';
    given_.categorised = given_.has_name = given_.gpu_sync = false;
    given_.kind.reset(), given_.start.reset(), given_.duration.reset();
    given_.device.reset(), given_.stream.reset(), given_.source.reset(), given_.record.reset();
    given_.correlation = -1;
    given_.process.clear(), given_.thread.clear(), given_.name.clear();
    if (detailed_) given_.detail = {};
    detailed_ = false;
  }

  // Whether the members that are known so far mean that the event is ignored.
  bool unwanted() const {
    return (given_.phase != '\0' && given_.phase != 'X') || (given_.categorised && !given_.kind);
  }

  void member() {
    const std::string_view key = in_.key();
    if (key != "ph" && key != "cat" && unwanted()) return in_.skip();
    if (key == "ph") {
      const std::string_view text = in_.string();
      given_.phase = text.empty() ? '?' : text.front();
    } else if (key == "cat") {
      if (in_.peek() != '"') return in_.skip();
      given_.kind = kind_of(in_.string());
      given_.categorised = true;
    } else if (key == "name") {
      if (in_.peek() != '"') in_.fail("name: expected a text");
      given_.name = in_.string();
      given_.has_name = true;
    } else if (key == "ts") {
      given_.start = time("ts");
    } else if (key == "dur") {
      given_.duration = time("dur");
    } else if (key == "pid") {
      given_.process = label("pid");
    } else if (key == "tid") {
      given_.thread = label("tid");
    } else if (key == "args" && in_.peek() == '{') {
      for (in_.begin_object(); in_.next_member();) argument();
    } else {
      in_.skip();
    }
  }

  void argument() {
    const std::string_view key = in_.key();
    KinetoDetail& d = given_.detail;
    const auto text = [&](std::string& to) {
      if (in_.peek() != '"') return in_.skip();
      to = shown(in_.string());
      detailed_ = true;
    };
    const auto count = [&](std::int64_t& to) {
      to = integer_or(0);
      detailed_ = true;
    };
    if (key == "correlation") {
      given_.correlation = integer_or(-1);
    } else if (key == "stream") {
      given_.stream = integer_or(-1);
    } else if (key == "device") {
      given_.device = integer_or(0);
    } else if (key == "wait_on_stream") {
      given_.source = integer_or(-1);
    } else if (key == "wait_on_cuda_event_record_corr_id") {
      given_.record = integer_or(-1);
    } else if (key == "Input Dims" && in_.peek() == '[') {
      shapes();
    } else if (key == "Input type" && in_.peek() == '[') {
      types();
    } else if (key == "Collective name") {
      text(d.collective);
    } else if (key == "dtype") {
      text(d.dtype);
    } else if (key == "Process Group Description" ||
               (key == "Process Group Name" && d.group.empty())) {
      text(d.group);
    } else if (key == "In msg nelems") {
      count(d.in_elements);
    } else if (key == "Out msg nelems") {
      count(d.out_elements);
    } else if (key == "Group size") {
      count(d.ranks);
    } else {
      in_.skip();
    }
  }

  // Reads the sizes of tensors, such as [[4096, 1024], [], [[2, 3], [4]]]. An input that is itself
  // a list of tensors counts as a tensor without sizes.
  void shapes() {
    detailed_ = true;
    auto& shapes = given_.detail.shapes;
    for (in_.begin_list(); in_.next_element();) {
      std::vector<std::int64_t> shape;
      if (in_.peek() != '[') {
        in_.skip();
      } else {
        for (in_.begin_list(); in_.next_element();) {
          const char c = in_.peek();
          if (c == '[' || c == '{' || c == '"') {
            in_.skip();
          } else if (const std::int64_t size = integer_or(0); shape.size() < kMostDims) {
            shape.push_back(size);
          }
        }
      }
      if (shapes.size() < kMostInputs) shapes.push_back(std::move(shape));
    }
  }

  void types() {
    bool first = true;
    for (in_.begin_list(); in_.next_element(); first = false) {
      if (first && in_.peek() == '"') {
        given_.detail.type = shown(in_.string());
        detailed_ = true;
      } else {
        in_.skip();
      }
    }
  }

  // Reads a number, or a text with a number.
  std::string_view scalar() { return in_.peek() == '"' ? in_.string() : in_.number(); }

  std::int64_t time(std::string_view key) {
    const std::string_view text = scalar();
    const auto ns = nanoseconds_of(text);
    if (!ns) in_.fail(fmt::format("{}: expected microseconds, found '{}'", key, shortened(text)));
    return *ns;
  }

  // Reads a whole number, or a text with one; `otherwise` if there is none.
  std::int64_t integer_or(std::int64_t otherwise) {
    const char c = in_.peek();
    if (c == '{' || c == '[' || c == 't' || c == 'f') return in_.skip(), otherwise;
    const std::string_view text = scalar();
    double value = 0;
    const auto r = std::from_chars(text.data(), text.data() + text.size(), value);
    if (r.ec != std::errc() || r.ptr != text.data() + text.size()) return otherwise;
    constexpr double kLargest = 9e15;
    if (!(std::abs(value) <= kLargest)) return otherwise;
    return static_cast<std::int64_t>(value);
  }

  std::string label(std::string_view key) {
    const char c = in_.peek();
    if (c != '"' && c != '-' && !(c >= '0' && c <= '9'))
      in_.fail(fmt::format("{}: expected a number or a text", key));
    return shown(scalar());
  }

  void keep() {
    if (given_.phase != 'X' || !given_.kind) {
      ++t_.ignored;
      return;
    }
    const auto missing = [&](bool has, const char* key) {
      if (!has) {
        in_.fail(fmt::format(
            "an event{} that ends here has no {}",
            given_.name.empty() ? "" : fmt::format(" '{}'", shortened(shown(given_.name))), key));
      }
    };
    missing(given_.has_name, "name");
    missing(given_.start.has_value(), "ts");
    missing(given_.duration.has_value(), "dur");
    if (*given_.duration < 0 || *given_.duration > kLatest / 1000) {
      in_.fail(fmt::format("the event '{}' that ends here has a duration of {} ns",
                           shortened(shown(given_.name)), *given_.duration));
    }
    KinetoEvent e;
    e.kind = *given_.kind;
    e.start = Nanoseconds(*given_.start);
    e.duration = Nanoseconds(*given_.duration);
    e.correlation = given_.correlation;
    if (e.kind == EventKind::kSync) return keep_wait();
    if (e.on_gpu()) {
      if (given_.device) given_.process = std::to_string(*given_.device);
      if (given_.stream) given_.thread = std::to_string(*given_.stream);
    }
    missing(!given_.process.empty(), e.on_gpu() ? "device" : "pid");
    missing(!given_.thread.empty(), e.on_gpu() ? "stream" : "tid");
    e.lane = lane(e.on_gpu());
    e.name = intern(names_, given_.name, t_.names.size(),
                    [&] { t_.names.push_back(shown(given_.name)); });
    if (detailed_ && (e.kind == EventKind::kCpuOp || e.kind == EventKind::kKernel))
      e.detail = detail();
    latest_ = t_.events.empty() ? e.end() : std::max(latest_, e.end());
    t_.events.push_back(e);
  }

  void keep_wait() {
    KinetoWait w;
    w.correlation = given_.correlation;
    w.record = given_.record.value_or(-1);
    w.device = given_.device.value_or(0);
    w.stream = given_.stream.value_or(-1);
    w.source = given_.source.value_or(-1);
    t_.waits.push_back(w);
  }

  std::uint32_t lane(bool gpu) {
    lane_key_.assign(gpu ? "g" : "c").append(given_.process).append("\n").append(given_.thread);
    return intern(lanes_, lane_key_, t_.lanes.size(),
                  [&] { t_.lanes.push_back({gpu, given_.process, given_.thread}); });
  }

  std::uint32_t detail() {
    const KinetoDetail& d = given_.detail;
    detail_key_ = fmt::format("{}\n{}\n{}\n{}\n{} {} {}", d.type, d.collective, d.dtype, d.group,
                              d.in_elements, d.out_elements, d.ranks);
    for (const auto& shape : d.shapes) {
      detail_key_ += '[';
      for (std::int64_t size : shape) fmt::format_to(std::back_inserter(detail_key_), "{},", size);
    }
    return intern(details_, detail_key_, t_.details.size(), [&] { t_.details.push_back(d); });
  }

  JsonStream in_;
  KinetoTrace t_;
  Given given_;
  bool detailed_ = false;
  Nanoseconds latest_{0};  // largest end of an event
  Index names_, lanes_, details_;
  std::string lane_key_, detail_key_;
};

}  // namespace

KinetoTrace read_kineto(const std::string& path) { return Reader(file_source(path), path).read(); }

KinetoTrace parse_kineto(std::string_view text, const std::string& name) {
  return Reader(memory_source(text), name).read();
}

}  // namespace orrery
