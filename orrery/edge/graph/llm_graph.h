// Recognises the graph of a language model: which models of the catalog it may be.
//
// A graph is a model where it has as many parameters, within one in a thousand (tables that an
// exporter adds, such as those of rotary embeddings, and constants that it folds), and a product
// with a matrix of hidden size times vocabulary, the LM head. A tied embedding may lie in the file
// once or twice. Models of equal shape, such as Llama 3 8B and Llama 3.1 8B, are told apart by
// nothing in a graph: all of them are named.
#pragma once

#include <string>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/edge/graph/graph.h"

namespace orrery {

// The ids, sorted; empty for networks of other kinds. Models of the catalog that are no decoders,
// or whose config is incomplete, are passed over.
std::vector<std::string> language_models(const EdgeGraph& graph, const Bundle& bundle);

}  // namespace orrery
