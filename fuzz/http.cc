// Requests over the network: any bytes, cut anywhere, and the questions in their bodies.
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "apps/server/asked.h"
#include "apps/server/http_reply.h"
#include "apps/server/http_request.h"
#include "orrery/base/data_folder.h"
#include "orrery/base/error.h"

namespace {

using namespace orrery;
using namespace orrery::server;

constexpr std::size_t kBody = 1u << 16;

void answer(const HttpRequest& request) {
  Refusal store;
  if (find_refusal(request, {"name"}, store) != nullptr) return;
  const std::string_view api = "/api/v1/";
  if (!std::string_view(request.path).starts_with(api)) return;
  const std::optional<AskedView> view = view_of(std::string_view(request.path).substr(api.size()));
  if (!view) return;
  const bool yaml = request.header("content-type") == "application/yaml";
  try {
    const ScenarioSweep question =
        points_of({view->verb, yaml ? "yaml" : "json", request.body}, Bundle());
    check_size(question, {});
    is_quick(question);
  } catch (const InputError& e) {
    error_json("input", e.what());
  } catch (const Infeasible&) {
  } catch (const NoData&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  seal_files();
  if (size == 0) return 0;
  // The first byte says where the bytes are cut.
  const std::size_t step = 1 + data[0];
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  RequestReader reader(kBody);
  for (std::size_t at = 0; at < bytes.size(); at += step) {
    reader.feed(bytes.substr(at, step));
    while (auto request = reader.next()) answer(*request);
    if (reader.refusal()) break;
    if (reader.buffered() > 4 * (kBody + RequestReader::kMaxHead)) std::abort();
  }
  return 0;
}
