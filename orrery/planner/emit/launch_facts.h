// Facts of catalog/launch about an engine: the command that starts it, and its flags. Names of a
// plan stand in braces: {model}, {tp}, {pp}, {dp}, {ep}, {cp}, {max_model_len}, {max_num_seqs},
// {max_num_batched_tokens}, and {ranks}: tp dp. Flags of speculation also have {draft_model},
// {draft_tokens}, and {verified_tokens}: the drafts and one token.
//
// A text that begins with '-' is written into the command. Another one is YAML for the engine's
// options file, which the flag `options_file` names as {options_file}:
//
//   flags: {dp: "enable_attention_dp: true"}
//   options_file: "--extra_llm_api_options {options_file}"
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "orrery/base/bundle.h"

namespace orrery {

struct LaunchFacts {
  std::string command, image, prefill, decode;
  std::string tp, pp, dp, ep, cp, max_model_len, max_num_seqs, max_num_batched_tokens;
  std::string cp_needs;  // what the flag of cp asks for; empty: nothing
  // `prefix_caching` says what the engine does without a flag, and is read but not written.
  std::string prefix_caching, no_prefix_caching;
  std::string options_file;                    // names the options file; empty: the engine has none
  std::map<std::string, std::string> formats;  // by the format of the weights
  std::map<std::string, std::string> speculation;   // a chain of drafts, by the method
  std::vector<std::string> speculation_without_dp;  // methods without data-parallel attention
  bool checkpoint_formats = false;                  // the checkpoint alone says the format
  std::map<std::string, std::string> aliases;       // other words for words of the facts
  std::string requests_counter;  // of Prometheus: requests since the start; empty: not known
  std::vector<std::string> sources;
};

// Whether a text of the facts belongs to the options file.
inline bool is_of_options_file(const std::string& text) {
  return !text.empty() && text.front() != '-';
}

// Nothing: the catalog has no file of the engine.
std::optional<LaunchFacts> launch_facts(const Bundle& bundle, const std::string& engine);
// The engines that have a file.
std::vector<std::string> launched_engines(const Bundle& bundle);

}  // namespace orrery
