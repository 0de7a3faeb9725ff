// The readers of model families: one function reads the configs of one family. families.def names
// the function of each class.
#pragma once

#include "orrery/model/families/hf_fields.h"

namespace orrery {

// The readers, each in a file hf_<family>.cc of its own or of its kin.
#define FAMILY(architecture, model_type, read) Architecture read(const HfConfig& c);
#include "orrery/model/families/families.def"
#undef FAMILY

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
