#include "orrery/scenario/kinds/accelerator/accelerator_question.h"

namespace orrery {
namespace {

constexpr const char* kNest = "accelerator.ask evaluate, explain or map";
constexpr const char* kSearch = "accelerator.ask map";
constexpr const char* kGiven = "accelerator.ask evaluate or explain";

void declare_nest(Fields& f, AcceleratorQuestion& q) {
  const auto nest = [&q] { return q.maps_nest(); };
  const auto op = [&q] { return q.maps_nest() && !q.model_op.model.empty(); };
  constexpr const char* kOp = "accelerator.model";
  f.add("arch", q.arch,
        "the chip: the name of a bundled one ('orrery list accelerators'), a chip's file, or a "
        "Timeloop architecture (v0.3, v0.4)")
      .needs(kNest, nest);
  f.add("workload", q.workload,
        "the operation: the name of a bundled one, a file of einsums, or a Timeloop problem")
      .needs(kNest, nest);
  f.add("model", q.model_op.model,
        "in place of workload: a model, of whose step op is an operation")
      .needs(kNest, nest);
  f.add("op", q.model_op.op, "an op of the step, such as qkv_proj or attn_prefill")
      .needs(kNest, nest);
  f.add("phase", q.model_op.phase, "of the model's step")
      .one_of({"prefill", "decode"})
      .needs(kOp, op);
  f.add("batch", q.model_op.batch, "sequences of the step").range(1, 1 << 20).needs(kOp, op);
  f.add("isl", q.model_op.isl, "tokens of a prompt; in decode before the new one")
      .range(1, 1 << 24)
      .needs(kOp, op);
  f.add("tp", q.model_op.tp, "degree of tensor parallelism of the step")
      .range(1, 1024)
      .needs(kOp, op);
  f.add("einsum", q.einsum, "the einsum of a workload that has several").needs(kNest, nest);
  f.add("energies", q.energies,
        "energy reference table of Accelergy; without it energies are estimated from published "
        "tables")
      .verbatim()
      .needs(kNest, nest);
}

void declare_mapping(Fields& f, AcceleratorQuestion& q) {
  const auto given = [&q] { return q.ask == "evaluate" || q.ask == "explain"; };
  f.add("mapping", q.mapping,
        "the mapping: Timeloop directives, or the text of AccelForge; of directives the layers and "
        "their dataflows, a mapping file of MAESTRO (.m)")
      .verbatim()
      .needs("accelerator.ask evaluate, explain or directives",
             [&q] { return q.ask != "map" && q.ask != "systolic"; });
  f.add("sparse", q.sparse, "formats, gating and skipping: a Timeloop file of sparse_optimizations")
      .verbatim()
      .needs(kGiven, given);
  f.add(
       "convention", q.convention,
       "timeloop; looptree: cascades of einsums with holders anywhere in the nest; exact: what the "
       "nest does, with filling, draining and waits")
      .one_of({"timeloop", "looptree", "exact"})
      .needs(kGiven, given);
  f.add("define", q.defines, "NAME=VALUE of a name in AccelForge's templates")
      .repeats()
      .needs(kGiven, given);
  f.add("buffers", q.buffers,
        "exact: double (a tile is filled while another is in use) or single; empty: double")
      .one_of({"", "double", "single"})
      .needs(kGiven, given);
}

void declare_search(Fields& f, AcceleratorQuestion& q) {
  const auto search = [&q] { return q.ask == "map"; };
  f.add("constraints", q.constraints, "Timeloop constraints on mappings")
      .verbatim()
      .needs(kSearch, search);
  f.add("mapper", q.mapper, "how mappings are sought")
      .one_of({"random-search", "hill-climb"})
      .needs(kSearch, search);
  f.add("objective", q.objective, "edp (energy x delay), energy or delay")
      .one_of({"edp", "energy", "delay"})
      .needs(kSearch, search);
  f.add("valid", q.valid, "valid mappings to evaluate").range(1, 1e12).needs(kSearch, search);
  f.add("seed", q.seed, "seed of the search").range(0, 9e15).needs(kSearch, search);
}

}  // namespace

void declare(Fields& f, AcceleratorQuestion& q) {
  f.add("ask", q.ask,
        "evaluate: cycles and energy of one mapping; explain: the mapping level by level; map: "
        "search for a good one; systolic: layers on a systolic array, as SCALE-Sim; directives: "
        "layers under directives, as MAESTRO")
      .one_of({"evaluate", "explain", "map", "systolic", "directives"});
  declare_nest(f, q);
  declare_mapping(f, q);
  declare_search(f, q);
  const auto systolic = [&q] { return q.ask == "systolic"; };
  f.add("config", q.config, "the array: a configuration of SCALE-Sim (.cfg)")
      .verbatim()
      .needs("accelerator.ask systolic", systolic);
  f.add("topology", q.topology,
        "the layers: a topology of SCALE-Sim (.csv), convolutions or products")
      .verbatim()
      .needs("accelerator.ask systolic", systolic);
  f.add("hardware", q.hardware,
        "the units and the network: a hardware file of MAESTRO (.m); empty: 256 units, network "
        "1000, off-chip memory 50 elements a cycle")
      .verbatim()
      .needs("accelerator.ask directives", [&q] { return q.ask == "directives"; });
}

}  // namespace orrery
