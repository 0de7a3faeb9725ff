#include "orrery/scenario/kinds/service/techniques.h"

#include "orrery/base/error.h"

namespace orrery {

void declare(Fields& f, SpeculationChoice& s) {
  f.group(
      "speculation",
      [&](Fields& g) {
        constexpr const char* kMethod = "speculation.method";
        const auto drafts = [&s] { return s.on(); };
        g.add("method", s.method,
              "what proposes draft tokens: a draft model, one extra layer (eagle, mtp), extra LM "
              "heads (medusa), or look-up in the prompt (ngram)")
            .one_of({"none", "draft_model", "eagle", "mtp", "medusa", "ngram"});
        g.add("model", s.model, "the draft model: an id or a path, as for model")
            .needs("speculation.method draft_model", [&s] { return s.method == "draft_model"; });
        g.add("tokens", s.tokens,
              "draft tokens per sequence and step; of a tree of drafts its depth")
            .unit("tokens")
            .range(1, 64)
            .alias("num_speculative_tokens")
            .needs(kMethod, drafts);
        g.add("tree_tokens", s.tree_tokens,
              "number of draft tokens in a tree of drafts; 0: the drafts form a chain")
            .unit("tokens")
            .range(0, 1024)
            .needs(kMethod, drafts);
        g.add("acceptance", s.acceptance,
              "probability that a draft token is accepted if those before it were: for the first, "
              "the second, ...; the last value holds for all later ones")
            .range(0, 1)
            .needs(kMethod, drafts);
        g.add("decay", s.decay,
              "factor on the acceptance from one position to the next, after the positions that "
              "acceptance lists")
            .range(0, 1)
            .needs(kMethod, drafts);
        g.add("spread", s.spread,
              "spread between requests: each has a factor on its acceptance within 1 +- this")
            .range(0, 1)
            .needs(kMethod, drafts);
        g.add("cost", s.cost,
              "time of a pass of the drafter relative to a decode step of the target; absent: "
              "computed from the drafter's layers")
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
              "number of adapters of the service; every request uses one; 0: no adapters")
            .range(0, 1e6);
        g.add("rank", l.rank, "rank of the adapters")
            .range(1, 1024)
            .alias("max_lora_rank")
            .needs(kAdapters, adapted);
        g.add("slots", l.slots,
              "adapters that are on the GPU, and in a step, at the same time; 0: all")
            .range(0, 4096)
            .alias("max_loras")
            .needs(kAdapters, adapted);
        g.add("memory", l.memory,
              "where adapters are held: in slots of their own, or in blocks of the KV cache while "
              "they are in use (S-LoRA)")
            .one_of({"slots", "paged"})
            .needs(kAdapters, adapted);
        g.add("alpha", l.alpha,
              "popularity of the adapters: the n-th one gets requests in proportion to n^-alpha; "
              "0: all are equally popular")
            .range(0, 10)
            .needs(kAdapters, adapted);
        g.add("targets", l.targets, "projections that are adapted")
            .one_of({"all", "attention"})
            .needs(kAdapters, adapted);
      },
      "LoRA adapters");
}

void declare(Fields& f, KvChoice& k) {
  f.group(
      "kv",
      [&](Fields& g) {
        g.add("allocator", k.allocator,
              "how KV memory is allocated: in blocks when they are needed, or as one reserved "
              "extent per sequence")
            .one_of({"paged", "contiguous"});
        g.add("reserve", k.reserve,
              "contiguous: what is reserved, max_model_len tokens or the prompt and output of the "
              "request")
            .one_of({"max_model_len", "request"})
            .needs("kv.allocator contiguous", [&k] { return k.contiguous(); });
        g.add("host_memory", k.host_memory,
              "host memory of a replica for blocks that are evicted from the prefix cache on the "
              "GPU; 0 GB: none");
        g.add("disk_memory", k.disk_memory,
              "disk space of a replica for blocks that are evicted from its host memory, or from "
              "its GPUs if there is none; 0 GB: none");
        g.add("disk_bandwidth", k.disk_bandwidth,
              "bandwidth of that disk for reads and writes together; engines that share a disk "
              "share it")
            .range(1e6, 1e13)
            .needs("kv.disk_memory", [&k] { return k.disk_memory > Bytes(0); });
      },
      "KV memory");
}

void declare(Fields& f, ColocatedModelChoice& n) {
  f.group(
      "neighbour",
      [&](Fields& g) {
        constexpr const char* kModel = "neighbour.model";
        const auto shared = [&n] { return !n.model.empty(); };
        g.add("model", n.model, "the other model: an id or a path; empty: the GPUs are not shared");
        g.add("sharing", n.sharing,
              "how the two share a GPU: in turns of the whole GPU, or with kernels side by side")
            .one_of({"time_slicing", "mps"})
            .needs(kModel, shared);
        g.add("utilization", n.utilization,
              "share of the GPU memory that the engine of the other model may fill")
            .range(0.01, 1)
            .needs(kModel, shared);
        g.add("rate", n.rate, "arrivals per second of the other service")
            .range(1e-9, 1e9)
            .needs(kModel, shared);
        g.add("requests", n.requests, "requests of the other service")
            .range(1, 1e8)
            .needs(kModel, shared);
        g.add("isl", n.isl, "prompt tokens of the other service, in the forms of load.isl")
            .needs(kModel, shared);
        g.add("osl", n.osl, "output tokens of the other service, in the forms of load.isl")
            .needs(kModel, shared);
      },
      "co-located model: another service on the same GPUs");
}

Speculation SpeculationChoice::engine(std::uint64_t seed) const {
  Speculation s;
  if (!on()) return s;
  if (method == "draft_model" && model.empty() && !cost)
    throw InputError("speculation.method draft_model needs speculation.model");
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
