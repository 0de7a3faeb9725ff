// orrery serve: the page and the interface for programs, over HTTP.
#include <fmt/format.h>

#include <thread>

#include "apps/cli/verbs/verbs.h"
#include "apps/server/server.h"
#include "orrery/base/error.h"

namespace orrery::cli {

void add_serve(CLI::App& program, Context& context) {
  CLI::App* app = program.add_subcommand(
      "serve", "Opens a page in the browser of this machine, and an interface for programs.");
  app->footer(
      "Examples:\n"
      "  orrery serve\n"
      "  orrery serve --port 0 --max-seconds 600\n"
      "  curl http://127.0.0.1:8642/api/v1/estimate \\\n"
      "    -H 'content-type: application/json' \\\n"
      "    -d '{\"model\": \"llama-3-70b\", \"gpu\": \"h100-sxm\", \"tp\": [4, 8]}'\n\n"
      "Only programs of this machine reach it unless --host says otherwise: it has no\n"
      "accounts and no encryption. Questions may not name files.");
  struct Verb {
    server::ServeOptions options;
    std::int64_t seconds = 120, memory_gib = 6, body_kib = 1024;
  };
  auto verb = std::make_shared<Verb>();
  server::ServeOptions& o = verb->options;
  server::ServeLimits& l = o.limits;
  const std::size_t cores = std::max(1u, std::thread::hardware_concurrency());
  l.quick = std::max<std::size_t>(2, cores);
  l.parallel = std::max<std::size_t>(1, cores / 4);
  app->add_option("--port", o.port, "port to listen on; 0: a free one [8642]")
      ->check(CLI::Range(0, 65535))
      ->type_name("N");
  app->add_option("--host", o.host, "address to listen on [127.0.0.1]")->type_name("ADDRESS");
  app->add_option("--name", o.names,
                  "a host name by which clients may call this machine; localhost and addresses "
                  "need none")
      ->type_name("NAME");
  const char* group = "limits of one question";
  app->add_option("--max-body", verb->body_kib, "KiB of a question [1024]")
      ->check(CLI::Range(1, 65536))
      ->type_name("N")
      ->group(group);
  app->add_option("--max-points", l.points, "points of a sweep [2000]")
      ->check(CLI::Range(1, 100000))
      ->type_name("N")
      ->group(group);
  app->add_option("--max-requests", l.requests, "requests simulated [10000000]")
      ->check(CLI::Range(1, 1000000000))
      ->type_name("N")
      ->group(group);
  app->add_option("--max-seconds", verb->seconds, "seconds [120]")
      ->check(CLI::Range(1, 1000000))
      ->type_name("N")
      ->group(group);
  app->add_option("--max-memory", verb->memory_gib, "GiB of memory [6]")
      ->check(CLI::Range(1, 100000))
      ->type_name("N")
      ->group(group);
  const char* together = "limits of all questions";
  app->add_option("--parallel", l.parallel,
                  fmt::format("long questions that are worked on at once [{}]", l.parallel))
      ->check(CLI::Range(1, 1024))
      ->type_name("N")
      ->group(together);
  app->add_option("--waiting", l.waiting, "long questions that wait for their turn [16]")
      ->check(CLI::Range(0, 10000))
      ->type_name("N")
      ->group(together);
  app->add_option("--max-connections", l.connections, "clients at once [1024]")
      ->check(CLI::Range(1, 100000))
      ->type_name("N")
      ->group(together);
  app->callback([verb, &context] {
    server::ServeOptions options = verb->options;
    options.limits.seconds = std::chrono::seconds(verb->seconds);
    options.limits.memory = static_cast<std::size_t>(verb->memory_gib) << 30;
    options.limits.body = static_cast<std::size_t>(verb->body_kib) << 10;
    options.overlaid = !context.catalog.empty();
    server::serve(context.bundle(), options);
  });
}

}  // namespace orrery::cli
