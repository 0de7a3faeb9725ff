#include "orrery/scenario/kind/given_text.h"

#include <filesystem>
#include <system_error>

#include "orrery/base/data_folder.h"

namespace orrery {

bool is_given_text(const std::string& value) {
  return value.find('\n') != std::string::npos || value.starts_with('{') || value.starts_with('[');
}

bool names_text(const std::string& value) {
  if (is_given_text(value)) return true;
  std::error_code ignored;
  return !files_are_sealed() && std::filesystem::exists(value, ignored);
}

std::string given_text(const std::string& value) {
  return is_given_text(value) ? value : read_text_file(value);
}

Node given_document(const std::string& value, const std::string& key) {
  return is_given_text(value) ? parse_yaml(value, key) : read_document(value);
}

std::string given_name(const std::string& value, const std::string& key) {
  return is_given_text(value) ? key : value;
}

}  // namespace orrery
