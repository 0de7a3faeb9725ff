#include "apps/cli/flags/examples.h"

namespace orrery::cli {

Footer footer_of(const CLI::App& app) {
  Footer out;
  bool inside = false;
  const std::string footer = app.get_footer();
  std::string_view text = footer;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line == "Examples:" || line == "Example:") {
      inside = true;
    } else if (inside && line.starts_with("    ") && !out.examples.empty()) {
      out.examples.back() += line + "\n";
    } else if (inside && line.starts_with("  ")) {
      out.examples.push_back(line + "\n");
    } else {
      inside = false;
      if (!line.empty() || !out.rest.empty()) out.rest += line + "\n";
    }
  }
  return out;
}

std::string things_to_try() {
  return "Orrery predicts latency, throughput, memory and cost of LLM inference and\n"
         "training. Five things to try:\n\n"
         "  Does a model fit?\n"
         "    orrery memory --model llama-3-70b --gpu h100-sxm --tp 2,4\n"
         "  How fast is it?\n"
         "    orrery estimate --model llama-3-70b --gpu h100-sxm --tp 8 --batch 1-64*2\n"
         "  What does a service need?\n"
         "    orrery plan --model llama-3-8b --gpu h100-sxm,l40s --rate 4 --slo tpot:40ms\n"
         "  How long does training take?\n"
         "    orrery train --model llama-3-8b --gpu h100-sxm --gpus 64 --stack fsdp\n"
         "  Which models and GPUs are known?\n"
         "    orrery list models\n\n"
         "`orrery --help` lists the verbs, `orrery VERB --help` the flags of one.\n";
}

}  // namespace orrery::cli
