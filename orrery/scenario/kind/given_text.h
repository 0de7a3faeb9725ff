// Keys that name a file and take its text as well, so that a question over the network, which may
// name no file, can give it.
#pragma once

#include <cstddef>
#include <string>

#include "orrery/base/node.h"

namespace orrery {

// Whether a value is a text and not a name: it has several lines, or is JSON.
bool is_given_text(const std::string& value);
// Whether a value is a text, or a file that is there and may be read (base/data_folder.h).
bool names_text(const std::string& value);
// The text. InputError: the file cannot be read.
std::string given_text(const std::string& value);
// Its document. `key`: the name of a given text in messages.
Node given_document(const std::string& value, const std::string& key);
// The name of the file in messages, or `key` for a given text.
std::string given_name(const std::string& value, const std::string& key);

}  // namespace orrery
