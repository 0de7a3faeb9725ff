// The readers of model families: one function reads the configs of one family. The table in
// hf_config.cc names the function of each model_type.
#pragma once

#include "orrery/model/families/hf_fields.h"

namespace orrery {

// hf_llama.cc: one kind of layer, RMS norms, gated MLP
Architecture read_llama(const HfConfig& c);
Architecture read_mistral(const HfConfig& c);
Architecture read_internlm(const HfConfig& c);
Architecture read_decilm(const HfConfig& c);
Architecture read_phi3(const HfConfig& c);
Architecture read_glm4(const HfConfig& c);

// hf_kin.cc: other norms, biases, windows or experts than Llama
Architecture read_seed_oss(const HfConfig& c);
Architecture read_smollm3(const HfConfig& c);
Architecture read_olmo2(const HfConfig& c);
Architecture read_exaone4(const HfConfig& c);
Architecture read_arcee(const HfConfig& c);
Architecture read_ernie(const HfConfig& c);
Architecture read_hunyuan_moe(const HfConfig& c);
Architecture read_bailing_moe_v2(const HfConfig& c);
Architecture read_dots1(const HfConfig& c);
Architecture read_granite_hybrid(const HfConfig& c);

// hf_qwen.cc
Architecture read_qwen(const HfConfig& c);
Architecture read_qwen2(const HfConfig& c);
Architecture read_qwen3(const HfConfig& c);
Architecture read_qwen2_moe(const HfConfig& c);
Architecture read_qwen3_moe(const HfConfig& c);
Architecture read_qwen3_next(const HfConfig& c);

// hf_gemma.cc
Architecture read_gemma(const HfConfig& c);
Architecture read_gemma2(const HfConfig& c);
Architecture read_gemma3(const HfConfig& c);
Architecture read_gemma4(const HfConfig& c);

// hf_deepseek.cc: latent attention, compressed attention
Architecture read_deepseek_v2(const HfConfig& c);
Architecture read_deepseek_v3(const HfConfig& c);
Architecture read_deepseek_v4(const HfConfig& c);

// hf_kimi.cc: Kimi delta attention and latent attention
Architecture read_kimi_linear(const HfConfig& c);

// hf_moe.cc: mixtures of experts with softmax attention
Architecture read_mixtral(const HfConfig& c);
Architecture read_llama4(const HfConfig& c);
Architecture read_glm4_moe(const HfConfig& c);
Architecture read_gpt_oss(const HfConfig& c);

// hf_minimax.cc
Architecture read_minimax_m2(const HfConfig& c);
Architecture read_minimax_m3(const HfConfig& c);

// hf_mimo.cc: MiMo and Step
Architecture read_mimo(const HfConfig& c);
Architecture read_mimo_v2(const HfConfig& c);
Architecture read_step3(const HfConfig& c);

// hf_nemotron.cc
Architecture read_nemotron(const HfConfig& c);
Architecture read_nemotron_h(const HfConfig& c);

// hf_gpt.cc: layer norms, biases, plain MLP
Architecture read_gpt2(const HfConfig& c);
Architecture read_gptj(const HfConfig& c);
Architecture read_gpt_neox(const HfConfig& c);
Architecture read_opt(const HfConfig& c);
Architecture read_bloom(const HfConfig& c);
Architecture read_mpt(const HfConfig& c);
Architecture read_falcon(const HfConfig& c);
Architecture read_starcoder2(const HfConfig& c);
Architecture read_phi(const HfConfig& c);
Architecture read_cohere(const HfConfig& c);

// hf_encoder.cc
Architecture read_bert(const HfConfig& c);
Architecture read_t5(const HfConfig& c);
Architecture read_switch(const HfConfig& c);

// A class that no reader knows.
struct UnknownClass {
  const Node& at;       // where the config names it
  std::string name;     // "architecture 'X'"
  std::string message;  // "architecture 'X' is not supported (did you mean 'Y'?)"
};

// hf_by_fields.cc: a model of such a class. The notes of the model say what is assumed. InputError
// names the fields that are missing.
Architecture read_by_fields(const HfConfig& c, const UnknownClass& unknown);
// InputError if the text model has fields that change the work of a layer, by their names, and that
// nothing has asked for. Other fields that nothing has asked for are named in a note of the model.
// REQUIRES a config that remembers what was asked.
void refuse_unread_fields(const HfConfig& c, const UnknownClass& unknown, Architecture& model);

// hf_towers.cc: adds the towers of vision_config and audio_config. A vision tower of an unknown
// family is counted by its standard fields.
void read_towers(const HfConfig& c, Architecture& model);

}  // namespace orrery
