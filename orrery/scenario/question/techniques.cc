#include "orrery/scenario/question/techniques.h"

#include "orrery/base/error.h"

namespace orrery {

void declare(Fields& f, SpeculationChoice& s) {
  f.group(
      "speculation",
      [&](Fields& g) {
        constexpr const char* kMethod = "speculation.method";
        const auto drafts = [&s] { return s.on(); };
        g.add("method", s.method,
              "who drafts: a draft model, one extra layer (eagle, mtp), extra LM heads (medusa), "
              "look-up in the prompt (ngram)")
            .one_of({"none", "draft_model", "eagle", "mtp", "medusa", "ngram"});
        g.add("model", s.model, "draft_model: as model")
            .needs("speculation.method draft_model", [&s] { return s.method == "draft_model"; });
        g.add("tokens", s.tokens, "drafts of a sequence and step; of a tree its depth")
            .unit("tokens")
            .range(1, 64)
            .alias("num_speculative_tokens")
            .needs(kMethod, drafts);
        g.add("tree_tokens", s.tree_tokens,
              "drafts verified in all where they form a tree; 0: a chain")
            .unit("tokens")
            .range(0, 1024)
            .needs(kMethod, drafts);
        g.add("acceptance", s.acceptance,
              "probability that a draft is accepted after those before it: of the first, second, "
              "...; later ones take the last")
            .range(0, 1)
            .needs(kMethod, drafts);
        g.add("decay", s.decay, "each position after those of acceptance takes this times as much")
            .range(0, 1)
            .needs(kMethod, drafts);
        g.add("spread", s.spread, "requests differ: a factor on acceptance within 1 +- this")
            .range(0, 1)
            .needs(kMethod, drafts);
        g.add("cost", s.cost,
              "a pass of the drafter in plain decode steps of the target; absent: from its layers")
            .range(0, 10)
            .needs(kMethod, drafts);
      },
      "speculative decoding");
}

void declare(Fields& f, LoraChoice& l) {
  f.group(
      "lora",
      [&](Fields& g) {
        constexpr const char* kAdapters = "lora.adapters";
        const auto adapted = [&l] { return l.on(); };
        g.add("adapters", l.adapters,
              "adapters of the service, one of them for each request; 0: none")
            .range(0, 1e6);
        g.add("rank", l.rank, "their rank")
            .range(1, 1024)
            .alias("max_lora_rank")
            .needs(kAdapters, adapted);
        g.add("slots", l.slots, "adapters on the GPU, and in one step; 0: all")
            .range(0, 4096)
            .alias("max_loras")
            .needs(kAdapters, adapted);
        g.add("memory", l.memory,
              "slots of their own, or blocks of the KV cache while they are in use (S-LoRA)")
            .one_of({"slots", "paged"})
            .needs(kAdapters, adapted);
        g.add("alpha", l.alpha,
              "popularity: the n-th adapter gets requests in proportion to n^-alpha; 0: all alike")
            .range(0, 10)
            .needs(kAdapters, adapted);
        g.add("targets", l.targets, "the projections that they adapt")
            .one_of({"all", "attention"})
            .needs(kAdapters, adapted);
      },
      "low-rank adapters");
}

void declare(Fields& f, KvChoice& k) {
  f.group(
      "kv",
      [&](Fields& g) {
        g.add("allocator", k.allocator,
              "blocks as they are needed, or one reserved extent a sequence")
            .one_of({"paged", "contiguous"});
        g.add("reserve", k.reserve,
              "contiguous: room for max_model_len tokens, or for the request's prompt and output")
            .one_of({"max_model_len", "request"})
            .needs("kv.allocator contiguous", [&k] { return k.contiguous(); });
        g.add("host_memory", k.host_memory,
              "of a replica's host, for blocks that the prefix cache on the GPU gives up; 0 GB: "
              "none");
        g.add(
            "disk_memory", k.disk_memory,
            "of a replica's disk, for blocks that its host memory, or without that its GPUs, give "
            "up; 0 GB: none");
        g.add("disk_bandwidth", k.disk_bandwidth,
              "of that disk, reads and writes together; engines that share one have a part each")
            .range(1e6, 1e13)
            .needs("kv.disk_memory", [&k] { return k.disk_memory > Bytes(0); });
      },
      "KV memory");
}

void declare(Fields& f, NeighbourChoice& n) {
  f.group(
      "neighbour",
      [&](Fields& g) {
        constexpr const char* kModel = "neighbour.model";
        const auto shared = [&n] { return !n.model.empty(); };
        g.add("model", n.model, "as model; empty: the GPUs are not shared");
        g.add("sharing", n.sharing, "turns of the whole GPU, or kernels side by side")
            .one_of({"time_slicing", "mps"})
            .needs(kModel, shared);
        g.add("utilization", n.utilization, "share of the GPUs' memory that its engine may fill")
            .range(0.01, 1)
            .needs(kModel, shared);
        g.add("rate", n.rate, "its arrivals a second").range(1e-9, 1e9).needs(kModel, shared);
        g.add("requests", n.requests, "its requests").range(1, 1e8).needs(kModel, shared);
        g.add("isl", n.isl, "its prompt tokens, as load.isl").needs(kModel, shared);
        g.add("osl", n.osl, "its output tokens, as load.osl").needs(kModel, shared);
      },
      "another model on the same GPUs");
}

Speculation SpeculationChoice::engine(std::uint64_t seed) const {
  Speculation s;
  if (!on()) return s;
  if (method == "draft_model" && model.empty() && !cost)
    throw InputError("speculation.method draft_model: speculation.model says which");
  if (acceptance.empty()) throw InputError("speculation.acceptance: expected a probability");
  if (tree_tokens > 0 && tree_tokens < tokens)
    throw InputError("speculation.tree_tokens: a tree has at least one token at each depth");
  s.drafts = static_cast<std::int32_t>(tokens);
  s.tree_tokens = static_cast<std::int32_t>(tree_tokens);
  s.acceptance = acceptance;
  s.decay = decay;
  s.spread = spread;
  s.seed = seed;
  return s;
}

}  // namespace orrery
